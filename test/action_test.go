package test

import (
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
	id := announce(t, p.URL, `{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":4,"ex_date":"2026-11-30"}`)
	s.eventually("the announcement", 30*time.Second, func() bool {
		return strings.Contains(s.command("action", "list"), id)
	})
	succeeds(t, "forward_split 1:4 of AAPL, ex-date 2026-11-30", "state: announced", "2026-11-28T01:00:00Z", `"new_rate":4`)(
		s.try("action", "show", id))
	s.wantOutput("corporate_action:"+id, "fulfillment", "status")
	s.must(200, "GET", portfolio, "") // it is Friday, 10:00
	var clock struct{ Now time.Time }
	p.control(t, "PUT", "clock", `{"now":"2026-11-27T20:00:00-05:00"}`, &clock)
	s.within(15*time.Second, 502, "GET", portfolio, "")
	p.control(t, "PUT", "clock", `{"now":"2026-11-30T09:45:00-05:00"}`, &clock)
	held, other := s.give(user, "while-it-is-held", "12.5", "AAPL"), s.give(user, "after-the-night", "12.5", "KO")
	s.await(other.ID, "executed", 30*time.Second)
	s.kill()
	s.start(p.buyAt()...)
	time.Sleep(5 * time.Second)
	s.await(held.ID, "recorded", time.Second)
	wantText(t, string(s.must(502, "GET", portfolio, "").body), "AAPL")
	s.wantError("--reason", "action", "resume", id)
	succeeds(t, "is resumed", "is accepted")(s.try("action", "resume", id, "--reason", "the holdings were checked"))
	s.await(held.ID, "executed", 30*time.Second)
	s.within(15*time.Second, 200, "GET", portfolio, "")
	s.wantOutput("action resume", "log", "list")
}
