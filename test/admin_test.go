package test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

var adminListening = regexp.MustCompile(`"msg":"admin listening","address":"([^"]+)"`)

// startWatched starts serve with an admin listener and returns the listener's address.
func (s *service) startWatched(args ...string) (admin string) {
	s.t.Helper()
	s.start(append(args, "--admin-listen", "127.0.0.1:0")...)
	s.eventually("an admin listener", 20*time.Second, func() bool {
		found := adminListening.FindAllStringSubmatch(s.logs(), -1)
		if found != nil {
			admin = "http://" + found[len(found)-1][1]
		}
		return found != nil
	})
	return admin
}

// eventually waits until a condition holds.
func (s *service) eventually(what string, most time.Duration, holds func() bool) {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Log(s.logs())
		}
	}()
	eventually(s.t, what, most, holds)
}

// look sends a request to the admin listener.
func look(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := client.Get(url)
	noError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	noError(t, err)
	return response.StatusCode, string(body)
}

// metric is the value of a series, named as in /metrics.
func metric(t *testing.T, admin, series string) float64 {
	t.Helper()
	_, text := look(t, admin+"/metrics")
	for line := range strings.SplitSeq(text, "\n") {
		if value, found := strings.CutPrefix(line, "stockrewards_"+series+" "); found {
			number, err := strconv.ParseFloat(value, 64)
			noError(t, err)
			return number
		}
	}
	t.Fatalf("no %s in\n%s", series, text)
	return 0
}

// measures checks the value of a series. It waits for the value, because gauges may be a second old.
func (s *service) measures(admin, series string, want float64) {
	s.t.Helper()
	got := metric(s.t, admin, series)
	for deadline := time.Now().Add(20 * time.Second); got != want && time.Now().Before(deadline); got = metric(s.t, admin, series) {
		time.Sleep(20 * time.Millisecond)
	}
	if got != want {
		s.t.Errorf("%s is %v, want %v", series, got, want)
	}
}

// Metrics count exactly what was done.
func TestMetricsCountTraffic(t *testing.T) {
	t.Parallel()
	sameDay() // for notional_today_dollars
	s := newService(t, t.TempDir())
	admin := s.startWatched()
	if status, body := look(t, admin+"/livez"); status != 200 || body != "ok\n" {
		t.Errorf("/livez: %d %s", status, body)
	}
	user := s.newUser("anna")
	const n = 5
	for i := range n {
		r := s.give(user, fmt.Sprint("traffic-", i), "5.25", "AAPL")
		s.must(200, "POST", "/v1/rewards", giving(user, fmt.Sprint("traffic-", i), "5.25", "AAPL"))
		s.await(r.ID, "executed", 10*time.Second)
	}
	s.must(404, "GET", "/nowhere/"+user, "")
	wants := map[string]float64{
		`http_requests_total{method="POST",route="/v1/rewards",status="201"}`:    n,
		`http_requests_total{method="POST",route="/v1/rewards",status="200"}`:    n,
		`http_requests_total{method="POST",route="/v1/users",status="201"}`:      1,
		`http_requests_total{method="other",route="other",status="404"}`:         1,
		`http_request_duration_seconds_count{method="POST",route="/v1/rewards"}`: 2 * n,
		`rewards_total{status="recorded"}`:                                       n,
		`rewards_total{status="executed"}`:                                       n,
		`rewards_total{status="failed"}`:                                         0,
		`intake_batch_size_sum`:                                                  2*n + 1, // and the user
		`broker_calls_total{operation="submit",outcome="ok"}`:                    n,
		`order_changes_total{state="settled"}`:                                   n,
		`order_changes_total{state="planned"}`:                                   n,
		`notional_today_dollars`:                                                 5.25 * n,
		`rewards_waiting`:                                                        0,
		`rewards_ordered`:                                                        0,
		`fulfillment_leads`:                                                      1,
		`ready`:                                                                  1,
		`intake_commit_errors_total`:                                             0,
		`prices_unusable`:                                                        0,
	}
	for series, want := range wants {
		s.measures(admin, series, want)
	}
	for series, want := range wants { // again, now that all gauges are newer than the traffic
		if got := metric(t, admin, series); got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	_, text := look(t, admin+"/metrics")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	if _, err := parser.TextToMetricFamilies(strings.NewReader(text)); err != nil {
		t.Error(err)
	}
	s.command("fulfillment", "pause", "--reason", "drill")
	began := time.Now().Truncate(time.Millisecond) // an award's time is in milliseconds
	s.give(user, "while-paused", "5", "KO")
	s.measures(admin, "rewards_waiting", 1)
	s.measures(admin, "ordering_paused", 1)
	const age = "reward_oldest_waiting_age_seconds"
	s.eventually("age of half a second", 20*time.Second, func() bool { return metric(t, admin, age) >= 0.5 })
	if got := metric(t, admin, age); got > time.Since(began).Seconds() {
		t.Errorf("the oldest has waited %v s, it came %s ago", got, time.Since(began))
	}
	s.eventually("paused readiness", 20*time.Second, func() bool {
		status, body := look(t, admin+"/readyz")
		return status == 200 && strings.Contains(body, `{"code":"ordering_paused","message":"drill"}`)
	})
}

// After SIGTERM the process is not ready, while it answers the last request.
func TestNotReadyWhileDraining(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	admin := s.startWatched()
	body := giving(s.newUser("anna"), "last-request", "5", "AAPL")
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	noError(t, err)
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/rewards HTTP/1.1\r\nHost: x\r\nX-Api-Key: %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		s.key, len(body))
	begun := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n")) // the service sends it when it reads the body
	if _, err := io.ReadFull(conn, begun); err != nil || !strings.HasPrefix(string(begun), "HTTP/1.1 100 ") {
		t.Fatalf("%q, %v", begun, err)
	}
	fmt.Fprint(conn, body[:10])
	noError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.eventually("draining", 20*time.Second, func() bool {
		status, text := look(t, admin+"/readyz")
		return status == 503 && strings.Contains(text, `"draining"`)
	})
	fmt.Fprint(conn, body[10:])
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 201 ") {
		t.Errorf("%v: %s", err, answer)
	}
	if err := <-s.exited; err != nil {
		t.Error(err)
	}
	s.cmd = nil
	if strings.Contains(s.logs(), "admin listener has failed") {
		t.Error(s.logs())
	}
}

// dev has an admin listener too, at another port if its own is in use.
func TestDevPrintsItsAdminAddress(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	defer taken.Close()
	cmd := exec.CommandContext(t.Context(), binary, "dev", "--listen", "127.0.0.1:0", "--admin-listen", taken.Addr().String())
	cmd.Dir = t.TempDir()
	out := filepath.Join(cmd.Dir, "out")
	file, err := os.Create(out)
	noError(t, err)
	defer file.Close()
	cmd.Stdout, cmd.SysProcAttr = file, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	noError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var where []string
	eventually(t, "address", 20*time.Second, func() bool {
		text, err := os.ReadFile(out)
		noError(t, err)
		where = regexp.MustCompile(`Health and metrics: (http://\S+) [^\n]*\n +Another program uses ` + taken.Addr().String()).FindStringSubmatch(string(text))
		return where != nil
	})
	if status, body := look(t, where[1]+"/readyz"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
}
