package test

import (
	"strings"
	"testing"
	"time"
)

// timeline reads the types and the last message of an award's timeline.
func (s *service) timeline(id string) (types []string, last string) {
	s.t.Helper()
	var got struct {
		Timeline []struct {
			At            time.Time
			Type, Message string
		}
	}
	s.must(200, "GET", "/v1/rewards/"+id+"/timeline", "").decode(s.t, &got)
	for _, e := range got.Timeline {
		types, last = append(types, e.Type), e.Message
	}
	return types, last
}

// Additions, section 6: an award says what it waits for, and then what happened to it. `reward show`
// prints the same, found by id or by idempotency key.
func TestAnAwardExplainsItself(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	s.start()
	user := s.newUser("explained")
	s.command("fulfillment", "pause", "--reason", "secret of the operator")
	given := s.give(user, "explained-award", "5", "AAPL")
	s.eventually("standstill", 20*time.Second, func() bool { return strings.Contains(s.command("fulfillment", "status"), "ordering_paused") })
	types, last := s.timeline(given.ID)
	if strings.Join(types, " ") != "recorded waiting" || last != "the operator has paused ordering" {
		t.Errorf("%v: %s", types, last)
	}
	s.wantOutput("the operator has paused ordering", "reward", "show", given.ID)
	s.command("fulfillment", "resume", "--reason", "go on")
	s.await(given.ID, "executed", 20*time.Second)
	types, last = s.timeline(given.ID)
	if got := strings.Join(types, " "); got != "recorded waited ordered sent answered filled executed" {
		t.Errorf("%s: %s", got, last)
	}
	s.wantOutput(last, "reward", "show", "explained-award")
	s.wantOutput("explained-award", "reward", "list", "tester", "--status", "executed", "--key", "explained-award", "--user", user,
		"--after", "2000-01-01T00:00:00Z", "--before", "2100-01-01T00:00:00Z")
	s.wantError("no reward has that id or idempotency key", "reward", "show", "unknown-key")
	s.wantError("must be recorded, executing, executed or failed", "reward", "list", "tester", "--status", "bought")
	s.wantError("must be a moment", "reward", "list", "tester", "--after", "yesterday")
	s.wantError("must be a UUID", "reward", "list", "tester", "--user", "7")
}
