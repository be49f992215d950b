package test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A split is shown within 30 seconds. From 20:00 New York of the session before its ex-date,
// the stock is neither ordered nor valued, by any process and after a restart, until an
// operator resumes it.
func TestASplitIsSeenAndHeld(t *testing.T) {
	t.Parallel()
	p := startPaper(t, "--hours", "us", "--clock", "2026-11-27T10:00:00-05:00", "--requests-per-minute", "0")
	s := newCustomer(t)
	s.start(p.buyAt()...)
	user := s.newUser("one")
	s.await(s.give(user, "before-the-split", "12.5", "AAPL").ID, "executed", 20*time.Second)
	s.await(s.give(user, "another-stock", "12.5", "KO").ID, "executed", 20*time.Second)
	portfolio := "/v1/users/" + user + "/portfolio"
	s.must(200, "GET", portfolio, "")
	id := announce(t, p.url, `{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":4,"ex_date":"2026-11-30"}`)
	s.eventually("the announcement", 30*time.Second, func() bool {
		return strings.Contains(s.command("action", "list"), id)
	})
	out := s.command("action", "show", id)
	for _, want := range []string{"forward_split 1:4 of AAPL, ex-date 2026-11-30", "state: announced", "2026-11-28T01:00:00Z", `"new_rate":4`} {
		if !strings.Contains(out, want) {
			t.Errorf("action show does not say %q:\n%s", want, out)
		}
	}
	if out := s.command("fulfillment", "status"); !strings.Contains(out, "corporate_action:"+id) {
		t.Errorf("no alarm:\n%s", out)
	}
	s.must(200, "GET", portfolio, "") // it is Friday, 10:00
	var clock struct{ Now time.Time }
	p.control(t, "PUT", "clock", `{"now":"2026-11-27T20:00:00-05:00"}`, &clock)
	s.eventually("502", 15*time.Second, func() bool {
		a, err := s.request(t.Context(), "GET", portfolio, "")
		return err == nil && a.status == http.StatusBadGateway
	})
	p.control(t, "PUT", "clock", `{"now":"2026-11-30T09:45:00-05:00"}`, &clock)
	held, other := s.give(user, "while-it-is-held", "12.5", "AAPL"), s.give(user, "after-the-night", "12.5", "KO")
	s.await(other.ID, "executed", 30*time.Second)
	s.kill()
	s.start(p.buyAt()...)
	time.Sleep(5 * time.Second)
	if got := s.await(held.ID, "recorded", time.Second); got.Status != "recorded" {
		t.Errorf("bought while held: %+v", got)
	}
	if a := s.must(502, "GET", portfolio, ""); !strings.Contains(string(a.body), "AAPL") {
		t.Errorf("the portfolio: %s", a.body)
	}
	if out, err := s.try("action", "resume", id); err == nil {
		t.Errorf("resumed without a reason: %s", out)
	}
	out = s.command("action", "resume", id, "--reason", "the holdings were checked")
	if !strings.Contains(out, "is resumed") || !strings.Contains(out, "is accepted") {
		t.Errorf("action resume says\n%s", out)
	}
	s.await(held.ID, "executed", 30*time.Second)
	s.eventually("200", 15*time.Second, func() bool {
		a, err := s.request(t.Context(), "GET", portfolio, "")
		return err == nil && a.status == http.StatusOK
	})
	if out := s.command("log", "list"); !strings.Contains(out, "action resume") {
		t.Errorf("the operator log does not have it:\n%s", out)
	}
}
