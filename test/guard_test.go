package test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/test/world"
)

// asked is the status of a request with a Host and a header; "" omits them.
func asked(t *testing.T, method, url, host, header, value string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("outage for=4h"))
	noError(t, err)
	if r.Host = host; header != "" {
		r.Header.Set(header, value)
	}
	a, err := client.Do(r)
	noError(t, err)
	_ = a.Body.Close() // only the status matters
	return a.StatusCode
}

// A web page cannot control its visitor's paper brokerage, and the operator is warned if
// other machines can.
func TestBrowsersDoNotReachThePaperBrokerage(t *testing.T) {
	t.Parallel()
	url := startPaper(t).URL
	host := strings.TrimPrefix(url, "http://")
	faults := url + "/control/faults"
	for name, status := range map[string]int{
		"another site": asked(t, "POST", faults, host, "Sec-Fetch-Site", "cross-site"),
		"an old one":   asked(t, "POST", faults, host, "Origin", "https://evil.example"),
		"an order":     asked(t, "POST", url+"/v2/orders", host, "Origin", "https://evil.example"),
		"rebinding":    asked(t, "POST", faults, "evil.example", "Origin", "http://evil.example"),
	} {
		if status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
	if status := asked(t, "POST", faults, host, "", ""); status >= 300 {
		t.Errorf("a program: %d", status)
	}
	const warning = "everyone who reaches this address"
	if strings.Contains(world.ReadLog(t, "paper"), warning) {
		t.Error("a brokerage for this machine only is warned of")
	}
	launch(t, "open", nil, "paper", "--listen", "0.0.0.0:0", "--database", "sqlite:"+t.TempDir()+"/paper.db")
	if !strings.Contains(world.ReadLog(t, "open"), warning) {
		t.Errorf("no warning:\n%s", world.ReadLog(t, "open"))
	}
}

// The admin listener accepts addresses and configured names as Host, but no other name (DNS
// rebinding).
func TestAdminListenerChecksTheHost(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	admin := s.startWatched("--admin-host", "metrics.internal")
	for host, want := range map[string]int{"": 200, "localhost": 200, "metrics.internal:9090": 200, "evil.example": 403} {
		if got := asked(t, "GET", admin+"/metrics", host, "", ""); got != want {
			t.Errorf("as %q: %d, want %d", host, got, want)
		}
	}
}

// Connections beyond the limit are closed and logged; the others are served.
func TestMaxConnections(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start("--max-connections", "5")
	address := strings.TrimPrefix(s.url, "http://")
	var open []net.Conn
	refused := 0
	for range 8 {
		c, err := net.Dial("tcp", address)
		noError(t, err)
		t.Cleanup(func() { _ = c.Close() }) // nothing was sent
		open = append(open, c)
	}
	for _, c := range open { // faster than the server's read timeout
		_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, io.EOF) || strings.Contains(err.Error(), "reset") {
			refused++
		}
	}
	if refused != 3 || !strings.Contains(s.logs(), "too many connections; one was refused") {
		t.Errorf("%d of 8 connections were refused:\n%s", refused, s.logs())
	}
	for _, c := range open {
		_ = c.Close()
	}
	s.within(30*time.Second, 200, "GET", "/v1/assets", "")
	s.wantError("must not be negative", "serve", "--max-connections=-1")
}
