package test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
)

// A split is shown within 30 seconds. From 20:00 New York of the session before its ex-date the stock
// is valued but not ordered. When the broker has changed the position, the split is applied once,
// also over a kill, and what waited is ordered.
func TestASplitIsApplied(t *testing.T) {
	t.Parallel()
	p := startPaper(t, "--hours", "us", "--clock", "2026-11-27T10:00:00-05:00", "--requests-per-minute", "0")
	s := newCustomer(t)
	s.start(p.buyAt()...)
	user := s.newUser("one")
	s.await(s.give(user, "before-the-split", "12.5", "AAPL").ID, "executed", 20*time.Second)
	portfolio := "/v1/users/" + user + "/portfolio"
	before := quantityOf(t, s.must(200, "GET", portfolio, "").body)
	id := announce(t, p.URL, `{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":4,"ex_date":"2026-11-30"}`)
	s.eventually("the announcement", 30*time.Second, func() bool {
		return strings.Contains(s.command("action", "list"), id)
	})
	succeeds(t, "forward_split 1:4 of AAPL, ex-date 2026-11-30", "state: announced", "2026-11-28T01:00:00Z", `"new_rate":4`)(
		s.try("action", "show", id))
	s.wantOutput("corporate_action:"+id, "fulfillment", "status")
	var clock struct{ Now time.Time }
	p.control(t, "PUT", "clock", `{"now":"2026-11-27T20:00:01-05:00"}`, &clock)
	s.kill() // a process may believe an earlier reading of the clock for seconds, and order
	s.start(p.buyAt()...)
	waits := s.give(user, "while-it-waits", "12.5", "AAPL")
	if got := quantityOf(t, s.must(200, "GET", portfolio, "").body); got != before {
		t.Errorf("in the evening the user has %s shares, want %s", got, before)
	}
	s.await(waits.ID, "recorded", time.Second)
	p.control(t, "PUT", "clock", `{"now":"2026-11-30T02:30:01-05:00"}`, &clock)
	s.kill()
	s.start(p.buyAt()...)
	s.eventually("the split", 30*time.Second, func() bool {
		return strings.Contains(s.command("action", "show", id), "state: swept")
	})
	var shown struct {
		State    string
		Switches []struct{ UsersBefore, UsersAfter string }
	}
	noError(t, json.Unmarshal([]byte(s.command("action", "show", id, "--json")), &shown))
	after, err := money.ParseShares(before)
	if err != nil {
		t.Fatal(err)
	}
	if got := quantityOf(t, s.must(200, "GET", portfolio, "").body); got != (4 * after).String() {
		t.Errorf("after the split the user has %s shares, had %s", got, before)
	}
	if w := shown.Switches; shown.State != "swept" || len(w) != 1 || w[0].UsersBefore != before || w[0].UsersAfter != (4*after).String() {
		t.Errorf("action show --json: %+v", shown)
	}
	s.wantError("cannot ignore the action", "action", "ignore", id, "--reason", "too late")
	p.control(t, "PUT", "clock", `{"now":"2026-11-30T09:45:00-05:00"}`, &clock)
	s.await(waits.ID, "executed", 30*time.Second)
	s.within(15*time.Second, 200, "GET", portfolio, "")
	s.wantOutput("checks hold", "audit")
}

// quantityOf is the quantity of the first holding of a portfolio.
func quantityOf(t *testing.T, body []byte) string {
	t.Helper()
	var p struct {
		Holdings []struct {
			Quantity json.Number `json:"quantity"`
		} `json:"holdings"`
	}
	if err := json.Unmarshal(body, &p); err != nil || len(p.Holdings) == 0 {
		t.Fatalf("no holdings: %s", body)
	}
	return p.Holdings[0].Quantity.String()
}
