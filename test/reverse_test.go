package test

import (
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
	succeeds(t, "AAPL of tester: 2 since ", "next orders")(s.try("fulfillment", "status"))
	s.wantOutput("reversed: 5 of AAPL", "reward", "reverse", mistaken.ID, "--reason", "given twice")
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
		s.wantError("in no order", "reward", "reverse", id, "--reason", "x")
	}
	s.command("audit")
}
