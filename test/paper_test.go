package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stockrewards/test/world"
)

// control calls a control endpoint of a paper brokerage.
func (p *process) control(t *testing.T, method, path, body string, into any) {
	t.Helper()
	world.Ask(t, http.StatusOK, "", method, p.URL+"/control/"+path, body, into)
}

// buyAt are serve's flags to use the paper brokerage as its broker.
func (p *process) buyAt() []string {
	return []string{
		"--broker", "alpaca", "--alpaca-url", p.URL, "--alpaca-data-url", p.URL, "--alpaca-requests-per-minute", "60000",
		"--small-pool-wait", "0s", "--pooling-window", "50ms",
	}
}

// Two services with separate databases buy at one paper brokerage. Each sees its own orders,
// and their holdings add up to the account's positions.
func TestOnePaperBrokerageServesSeveral(t *testing.T) {
	t.Parallel()
	p := startPaper(t, "--requests-per-minute", "0")
	held := ""
	for i := range 2 {
		s := newCustomer(t)
		s.start(p.buyAt()...)
		user := s.newUser("one")
		s.await(s.give(user, "first-key", "12.5", "AAPL").ID, "executed", 20*time.Second)
		var portfolio struct {
			Holdings []struct{ Quantity json.Number }
		}
		s.must(200, "GET", "/v1/users/"+user+"/portfolio", "").decode(t, &portfolio)
		held += portfolio.Holdings[0].Quantity.String() + " "
		if out := s.command("fulfillment", "status"); strings.Contains(out, "broker_conflict") {
			t.Errorf("service %d sees another one's orders:\n%s", i, out)
		}
		noError(t, s.stop())
	}
	var positions []struct{ Qty string }
	world.Ask(t, 200, "", "GET", p.URL+"/v2/positions", "", &positions)
	var sum, one, two float64
	if _, err := fmt.Sscan(held, &one, &two); err != nil || len(positions) != 1 {
		t.Fatalf("held %q, positions %+v", held, positions)
	}
	if _, err := fmt.Sscan(positions[0].Qty, &sum); err != nil || sum-one-two > 1e-6 || one+two-sum > 1e-6 {
		t.Errorf("the account has %s, the users %s", positions[0].Qty, held)
	}
}

// awaitReadings waits until services read the market's hours a few times more.
func (p *process) awaitReadings(t *testing.T, times int) {
	t.Helper()
	var faults []struct{ Hits int }
	p.control(t, "POST", "faults", fmt.Sprintf("late-answer on=clock by=0s times=%d", times), &faults)
	eventually(t, "reading of the clock", 30*time.Second, func() bool {
		p.control(t, "GET", "faults", "", &faults)
		return faults[0].Hits == times
	})
}

// A weekend and a half day pass in seconds: a reward of Saturday is bought on Monday, one
// after the early close on the next trading day.
func TestAWeekPassesInSeconds(t *testing.T) {
	t.Parallel()
	p := startPaper(t, "--hours", "us", "--clock", "2026-11-21T12:00:00-05:00", "--requests-per-minute", "0")
	s := newCustomer(t)
	s.start(p.buyAt()...)
	user := s.newUser("one")
	saturday := s.give(user, "saturday", "5.25", "AAPL")
	if got := s.await(saturday.ID, "recorded", time.Second); got.Status != "recorded" {
		t.Errorf("bought on a Saturday: %+v", got)
	}
	var clock struct {
		Now    time.Time
		IsOpen bool
	}
	p.control(t, "POST", "clock/advance", `{"to":"open"}`, &clock)
	if clock.Now.Format(time.RFC3339) != "2026-11-23T14:30:00Z" || !clock.IsOpen {
		t.Errorf("the next open: %+v", clock)
	}
	s.await(saturday.ID, "executed", 20*time.Second)
	p.control(t, "PUT", "clock", `{"now":"2026-11-27T13:00:00-05:00"}`, &clock) // the early close
	if clock.IsOpen {
		t.Error("open after the early close")
	}
	p.awaitReadings(t, 3) // two of its loops may read them at once, but the third reading follows an answer
	late := s.give(user, "after-the-close", "7", "AAPL")
	p.control(t, "POST", "clock/advance", `{"by":"24h"}`, &clock)
	if got := s.await(late.ID, "recorded", time.Second); got.Status != "recorded" {
		t.Errorf("bought on a weekend: %+v", got)
	}
	p.control(t, "POST", "clock/advance", `{"to":"open"}`, &clock)
	s.await(late.ID, "executed", 20*time.Second)
	s.command("audit")
}

// After kill -9 the paper brokerage has its books, its clock and its orders' outcomes, and
// the service continues.
func TestThePaperBrokerageIsKilled(t *testing.T) {
	t.Parallel()
	books := "sqlite:" + filepath.Join(t.TempDir(), "paper.db")
	args := []string{"paper", "--database", books, "--requests-per-minute", "0", "--listen"}
	p := launch(t, "paper", nil, append(args, "127.0.0.1:0")...)
	s := newCustomer(t)
	s.start(p.buyAt()...)
	user := s.newUser("one")
	var faults []struct{ Fault string }
	p.control(t, "POST", "faults", "partial-then-filled by=3s times=1\nlost-answer on=submit times=1", &faults)
	if len(faults) != 2 {
		t.Errorf("faults: %+v", faults)
	}
	first := s.give(user, "first-key", "5", "AAPL")
	s.await(first.ID, "executing", 20*time.Second)
	p.Kill()
	second := s.give(user, "second-key", "6", "KO")
	again := launch(t, "paper", nil, append(args, strings.TrimPrefix(p.URL, "http://"))...)
	t.Cleanup(again.Kill)
	for _, given := range []award{first, second} {
		s.await(given.ID, "executed", 40*time.Second)
	}
	var orders []struct {
		Symbol, Status string
	}
	world.Ask(t, 200, "", "GET", again.URL+"/v2/orders?status=all", "", &orders)
	if len(orders) != 2 {
		t.Errorf("orders: %+v", orders)
	}
	s.command("audit")
}

func TestThePaperCommandRefuses(t *testing.T) {
	t.Parallel()
	good := "--database=sqlite:" + filepath.Join(t.TempDir(), "paper.db")
	for _, c := range []struct {
		args, env []string
		want      string
	}{
		{args: []string{}, want: "--database"},
		{args: []string{"--database=paper.db"}, want: "must be sqlite:PATH"},
		{args: []string{good, "--fault=lost"}, want: `--fault: fault "lost": must be one of absurd-price`},
		{args: []string{good, "--clock=tomorrow"}, want: `--clock "tomorrow": must be a time`},
		{args: []string{good, "--pace=-1"}, want: "pace -1: must be from 0 to 1000000"},
		{args: []string{good, "--cash=-5"}, want: `--cash "-5": must be an amount`},
		{args: []string{good, "--requests-per-minute=-1"}, want: "must not be negative"},
		{args: []string{good, "--hours=uk"}, want: "--hours"},
		{args: []string{good, "--listen=nowhere"}, want: "nowhere"},
		{args: []string{good}, env: []string{"STOCKREWARDS_PAPER_KEY_ID=key"}, want: "belong together"},
	} {
		cmd := exec.CommandContext(t.Context(), binary, append([]string{"paper"}, c.args...)...)
		cmd.Env = append(cmd.Environ(), c.env...)
		out, err := cmd.CombinedOutput()
		fails(t, c.want)(string(out), err)
	}
}

func TestThePaperBrokerageAsksForCredentials(t *testing.T) {
	t.Parallel()
	books := "sqlite:" + filepath.Join(t.TempDir(), "paper.db")
	env := []string{"STOCKREWARDS_PAPER_KEY_ID=key", "STOCKREWARDS_PAPER_SECRET_KEY=canary-secret-of-the-broker"}
	p := launch(t, "paper", env, "paper", "--listen", "127.0.0.1:0", "--database", books)
	t.Cleanup(p.Kill)
	for _, path := range []string{"/v2/account", "/control/faults"} {
		response, err := client.Get(p.URL + path)
		noError(t, err)
		response.Body.Close()
		if response.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without credentials: %d", path, response.StatusCode)
		}
	}
	s := newCustomer(t) // with the same credentials
	s.start(p.buyAt()...)
	s.await(s.give(s.newUser("one"), "first-key", "5", "AAPL").ID, "executed", 20*time.Second)
	if strings.Contains(world.ReadLog(t, "paper"), "canary-secret") {
		t.Error("the log has the secret")
	}
}
