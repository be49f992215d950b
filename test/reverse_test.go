package test

import (
	"strings"
	"testing"
	"time"
)

// An operator reverses a reward that is in no order; afterwards the command refuses.
func TestARewardIsReversed(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	s.start()
	s.command("fulfillment", "pause")
	user := s.newUser("anna")
	mistaken, other := s.give(user, "mistaken-1", "5", "AAPL"), s.give(user, "another-1", "6", "AAPL")
	if out := s.command("fulfillment", "status"); !strings.Contains(out, "AAPL of tester: 2 since ") || !strings.Contains(out, "next orders") {
		t.Errorf("status: %s", out)
	}
	out := s.command("reward", "reverse", mistaken.ID, "--reason", "given twice")
	if !strings.Contains(out, "reversed: 5 of AAPL") {
		t.Errorf("the command prints %q", out)
	}
	var got struct {
		Reward struct{ Status, FailureReason string }
	}
	s.must(200, "GET", "/v1/rewards/"+mistaken.ID, "").decode(t, &got)
	if got.Reward.Status != "failed" || got.Reward.FailureReason != "canceled: given twice" {
		t.Errorf("the reward is %+v", got.Reward)
	}
	s.command("fulfillment", "resume")
	s.await(other.ID, "executed", 20*time.Second)
	for _, id := range []string{mistaken.ID, other.ID} {
		if out, err := s.try("reward", "reverse", id, "--reason", "x"); err == nil || !strings.Contains(err.Error(), "in no order") {
			t.Errorf("%s %v", out, err)
		}
	}
	s.command("audit")
}
