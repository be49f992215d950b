package test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The main flow: give a reward, wait, see the shares.
func TestServeGivesStock(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	began := time.Now()
	s.start()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("serve was ready after %s", took)
	}
	user := s.newUser("anna")
	r := s.give(user, "first-gift", "5.25", "aapl")
	if r.Status != "recorded" || r.AssetSymbol != "AAPL" {
		t.Errorf("recorded %+v", r)
	}
	s.await(r.ID, "executed", 10*time.Second)
	var p struct {
		Value, CostBasis float64
		Holdings         []struct {
			Asset    string
			Quantity float64
		}
	}
	s.must(200, "GET", "/v1/users/"+user+"/portfolio", "").decode(t, &p)
	if p.CostBasis != 5.25 || p.Value < 5 || p.Value > 5.5 || len(p.Holdings) != 1 || p.Holdings[0].Asset != "AAPL" {
		t.Errorf("portfolio %+v", p)
	}
	if rss := memory(t, s.cmd.Process.Pid); rss > 80<<20 {
		t.Errorf("serve takes %d MiB", rss>>20)
	}
	if err := s.stop(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	s.command("audit")
	for _, secret := range []string{s.key, "first-gift"} {
		if strings.Contains(s.logs(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// memory is the resident memory of a process, in bytes.
func memory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	noError(t, err)
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status)
	kb, err := strconv.Atoi(string(m[1]))
	noError(t, err)
	return kb << 10
}

// Operators' commands work beside serve, with stable output for scripts.
func TestOperatorsCommandsWhileServing(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	if !regexp.MustCompile(`^sr_test_[0-9A-Za-z]{49}$`).MatchString(s.key) {
		t.Errorf("app create printed %q", s.key)
	}
	s.start()
	first := s.key
	second := strings.TrimSpace(s.command("key", "create", "tester", "--label", "second"))
	id := regexp.MustCompile(`(?m)^(\S+) .*second$`).FindStringSubmatch(s.command("key", "list", "tester"))
	s.key = second
	s.must(200, "GET", "/v1/users", "")
	s.command("key", "revoke", id[1])
	s.within(time.Second, 401, "GET", "/v1/users", "")
	s.key = first
	s.command("app", "suspend", "tester")
	s.within(time.Second, 403, "GET", "/v1/users", "")
	s.command("app", "resume", "tester")
	s.within(time.Second, 200, "GET", "/v1/users", "")
	user := s.newUser("anna")
	s.command("asset", "disable", "KO")
	s.within(time.Second, 422, "POST", "/v1/rewards", giving(user, "disabled-1", "5", "KO"))
	s.command("asset", "enable", "ko")
	s.within(time.Second, 201, "POST", "/v1/rewards", giving(user, "disabled-1", "5", "KO"))
	s.command("fulfillment", "pause", "--reason", "drill")
	r := s.give(user, "while-paused", "5", "AAPL")
	s.wantOutput("paused: drill", "fulfillment", "status")
	s.command("fulfillment", "resume")
	s.await(r.ID, "executed", 10*time.Second)
	order := s.firstID("order", "list", "--state", "settled")
	s.wantOutput("settled", "order", "show", order)
	s.wantError("not quarantined", "order", "resolve", order, "--not-bought", "--reason", "x")
	s.command("audit")
}

// within repeats a request until it gets the status. In the body, # becomes a unique string.
func (s *service) within(most time.Duration, status int, method, path, body string) answer {
	s.t.Helper()
	for deadline := time.Now().Add(most); ; time.Sleep(20 * time.Millisecond) {
		late := time.Now().After(deadline)
		a, err := s.request(s.t.Context(), method, path, strings.ReplaceAll(body, "#", rand.Text()))
		if err == nil && a.status == status {
			return a
		}
		if late {
			s.t.Fatalf("%s %s: %d %s, %v after %s, want %d\n%s", method, path, a.status, a.body, err, most, status, s.logs())
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	missing, empty := "sqlite:"+filepath.Join(t.TempDir(), "none.db"), filepath.Join(t.TempDir(), "empty.db")
	noError(t, os.WriteFile(empty, nil, 0o600))
	for want, args := range map[string][]string{
		"another process serves":  {"serve", "--listen", "127.0.0.1:0", "--database", s.database()},
		"TLS":                     {"serve", "--listen", "0.0.0.0:0", "--database", missing},
		"--admin-public":          {"serve", "--listen", "127.0.0.1:0", "--database", missing, "--admin-listen", ":8081"},
		"--admin-listen \"8081\"": {"serve", "--listen", "127.0.0.1:0", "--database", missing, "--admin-listen", "8081"},
		"belong together":         {"serve", "--listen", "127.0.0.1:0", "--database", missing, "--tls-cert", "x.pem"},
		"no such file or":         {"serve", "--listen", "127.0.0.1:0", "--database", missing, "--tls-cert", "x.pem", "--tls-key", "x.key"},
		"APCA_API_KEY_ID":         {"serve", "--listen", "127.0.0.1:0", "--database", missing, "--broker", "alpaca"},
		"must be sqlite:PATH":     {"serve", "--listen", "127.0.0.1:0", "--database", "mysql:x"},
		"no such file":            {"app", "list", "--database", missing},
		"the file is empty":       {"app", "list", "--database", "sqlite:" + empty},
		"at least 1000000":        {"serve", "--database", missing, "--max-order-notional", "5"},
		"exists":                  {"app", "create", "tester", "--database", s.database()},
	} {
		fails(t, want)(runProgram(t, args...))
	}
	if _, err := os.Stat(strings.TrimPrefix(missing, "sqlite:")); err == nil {
		t.Error("a refused command created a file")
	}
	succeeds(t, "stockrewards ")(runProgram(t, "version"))
}

// After SIGTERM under load, everything acknowledged exists and the exit status is 0.
func TestSIGTERMUnderLoadLosesNothing(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	load := startLoad(s, 8)
	time.Sleep(700 * time.Millisecond)
	if err := s.stop(); err != nil {
		t.Errorf("exit: %v", err)
	}
	load.pause()
	s.start()
	load.verify()
}

// fillDisk fills the service's disk with a file until a reward is refused.
func (s *service) fillDisk(user string) (ballast string) {
	s.t.Helper()
	ballast = filepath.Join(s.folder, "ballast")
	fill(s.t, ballast)
	for i := range 5000 { // SQLite may have spare room in its files
		a, err := s.request(s.t.Context(), "POST", "/v1/rewards", giving(user, fmt.Sprint("when-full-", i), "1", "KO"))
		noError(s.t, err)
		if a.status == http.StatusServiceUnavailable {
			if a.header.Get("Retry-After") == "" {
				s.t.Error("no Retry-After")
			}
			return ballast
		}
		if a.status != 201 {
			s.t.Fatalf("answered %d %s", a.status, a.body)
		}
	}
	s.t.Fatal("nothing was refused on a full disk")
	return ""
}

// On a full disk, writes are refused, reads work and the process is not ready. It recovers
// without a request that writes.
func TestFullDiskRefusesWritesAndServesReads(t *testing.T) {
	t.Parallel()
	folder := smallDisk(t, "12m")
	s := newService(t, folder)
	admin := s.startWatched()
	user := s.newUser("anna")
	kept := s.give(user, "before-full", "5", "AAPL")
	s.await(kept.ID, "executed", 10*time.Second)
	ballast := s.fillDisk(user)
	ready := func(want int, message string) func() bool {
		return func() bool {
			status, body := look(t, admin+"/readyz")
			return status == want && strings.Contains(body, message)
		}
	}
	s.eventually("503", 25*time.Second, ready(503, `"code":"books_not_writable","message":"the disk is full"`))
	if status, _ := look(t, admin+"/livez"); status != 200 {
		t.Errorf("/livez: %d", status)
	}
	s.must(200, "GET", "/v1/rewards/"+kept.ID, "")
	s.must(200, "GET", "/v1/users/"+user+"/portfolio", "")
	noError(t, os.Remove(ballast))
	s.eventually("200", 5*time.Second, ready(200, ""))
	s.within(10*time.Second, 201, "POST", "/v1/rewards", giving(user, "after-full", "5", "AAPL"))
	var list struct{ Rewards []award }
	s.must(200, "GET", "/v1/rewards?limit=1", "").decode(t, &list)
	s.await(list.Rewards[0].ID, "executed", 20*time.Second)
	noError(t, s.stop())
	s.command("audit")
}
