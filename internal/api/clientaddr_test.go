package api_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/admission"
	"stockrewards/internal/api"
)

// logged returns a handler behind a proxy, with its log.
func logged(w *world, p api.Proxy) (http.Handler, *lines) {
	log := &lines{}
	return api.NewServer(api.Options{
		Service: w.service, CursorKey: w.cursorKey, Log: slog.New(slog.DiscardHandler), RequestLog: log, Proxy: p,
		KeyThrottle: &admission.KeyThrottle{},
	}).Handler, log
}

func newRequest(t *testing.T, key string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/assets", http.NoBody)
	if key != "" {
		r.Header.Set("X-Api-Key", key)
	}
	return r
}

func serveOnce(handler http.Handler, r *http.Request) int {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer.Code
}

// The log has the client's address: the connection's or, behind a proxy, the rightmost one
// in the header that is not a trusted proxy's. Entries that the client wrote are ignored.
func TestTheLogHasTheClientsAddress(t *testing.T) {
	t.Parallel()
	w, err := shared()
	check(t, err)
	header := api.Proxy{Header: "X-Forwarded-For"}
	chain := api.Proxy{Header: "X-Forwarded-For", Trusted: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32"),
	}}
	for name, test := range map[string]struct {
		proxy  api.Proxy
		remote string
		header []string
		want   string
	}{
		"no proxy":             {api.Proxy{}, "198.51.100.7:4711", []string{"203.0.113.9"}, "198.51.100.7"},
		"no proxy, IPv6":       {api.Proxy{}, "[2001:db8::7]:4711", nil, "2001:db8::7"},
		"a proxy":              {header, "10.0.0.1:4711", []string{"203.0.113.9"}, "203.0.113.9"},
		"what the client sent": {header, "10.0.0.1:4711", []string{"192.0.2.1, 192.0.2.2, 203.0.113.9"}, "203.0.113.9"},
		"in several lines":     {header, "10.0.0.1:4711", []string{"192.0.2.1", "203.0.113.9"}, "203.0.113.9"},
		"no header":            {header, "10.0.0.1:4711", nil, "10.0.0.1"},
		"no address":           {header, "10.0.0.1:4711", []string{"203.0.113.9, who\"?"}, "10.0.0.1"},
		"empty":                {header, "10.0.0.1:4711", []string{""}, "10.0.0.1"},
		"with a port":          {header, "10.0.0.1:4711", []string{"203.0.113.9:80"}, "203.0.113.9"},
		"IPv6":                 {header, "10.0.0.1:4711", []string{"[2001:DB8:1::9]:80"}, "2001:db8:1::9"},
		"in brackets":          {header, "10.0.0.1:4711", []string{"[2001:db8:1::9]"}, "2001:db8:1::9"},
		"IPv4 in IPv6":         {header, "10.0.0.1:4711", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		"a zone":               {header, "10.0.0.1:4711", []string{"fe80::1%\"}"}, "fe80::1"},
		"two proxies":          {chain, "10.0.0.1:4711", []string{"192.0.2.1, 203.0.113.9, 10.1.1.1"}, "203.0.113.9"},
		"three, two lines":     {chain, "10.0.0.1:4711", []string{"203.0.113.9", "2001:db8::1, 10.1.1.1"}, "203.0.113.9"},
		"proxies only":         {chain, "10.0.0.1:4711", []string{"10.9.9.9, 10.1.1.1"}, "10.9.9.9"},
		"an invalid entry":     {chain, "10.0.0.1:4711", []string{"x, 10.1.1.1"}, "10.1.1.1"},
	} {
		handler, log := logged(w, test.proxy)
		r := newRequest(t, "")
		r.RemoteAddr, r.Header["X-Forwarded-For"] = test.remote, test.header
		serveOnce(handler, r)
		if want := `"address":"` + test.want + `"`; !strings.Contains(log.String(), want) {
			t.Errorf("%s: the log lacks %s: %s", name, want, log)
		}
	}
}

// A line has the form of log/slog's JSON handler, so that one reader parses the whole log.
func TestTheLineOfARequest(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	handler, log := logged(w, api.Proxy{})
	r := newRequest(t, c.key)
	r.Header.Set("X-Request-Id", "id-1")
	r.RemoteAddr = "198.51.100.7:4711"
	serveOnce(handler, r)
	var line struct {
		Time time.Time
		Took time.Duration
		Key  string
	}
	check(t, json.Unmarshal([]byte(log.String()), &line))
	var want strings.Builder
	slog.New(slog.NewJSONHandler(&want, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			a.Value = slog.TimeValue(line.Time)
		}
		return a
	}})).Info("request", slog.String("request_id", "id-1"), slog.String("method", http.MethodGet),
		slog.String("route", "/v1/assets"), slog.Int("status", http.StatusOK), slog.Duration("took", line.Took),
		slog.String("app", c.app.ID.String()), slog.String("key", line.Key), slog.String("address", "198.51.100.7"))
	if diff := cmp.Diff(want.String(), log.String()); diff != "" || line.Key == "" || time.Since(line.Time) > time.Minute {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Responses to wrong keys are delayed once an address has sent many. Those to a valid or a
// missing key, and those to other addresses, are not.
func TestWrongKeysAreAnsweredLate(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	handler, _ := logged(w, api.Proxy{})
	synctest.Test(t, func(t *testing.T) {
		ask := func(key, address string, want int) time.Duration {
			t.Helper()
			r := newRequest(t, key)
			r.RemoteAddr = address + ":4711"
			began := time.Now()
			if got := serveOnce(handler, r); got != want {
				t.Errorf("status %d, want %d", got, want)
			}
			return time.Since(began)
		}
		slow := time.Duration(0)
		for range 30 {
			slow = ask("sr_test_wrong", "198.51.100.7", http.StatusUnauthorized)
		}
		if slow != time.Second {
			t.Errorf("the 30th response to a wrong key takes %s", slow)
		}
		for name, took := range map[string]time.Duration{
			"a valid key":     ask(c.key, "198.51.100.7", http.StatusOK),
			"no key":          ask("", "198.51.100.7", http.StatusUnauthorized),
			"another address": ask("sr_test_wrong", "198.51.100.8", http.StatusUnauthorized),
		} {
			if took != 0 {
				t.Errorf("%s: the response takes %s", name, took)
			}
		}
	})
}
