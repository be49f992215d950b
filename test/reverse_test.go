package test

import (
	"encoding/json"
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
	succeeds(t, "AAPL of tester: 2 since ", "next orders")(s.try("fulfillment", "status"))
	s.wantOutput("5 of 5 of AAPL is taken back\nthe reward is failed", "reward", "reverse", mistaken.ID, "--reason", "given twice")
	var got struct {
		Reward struct{ Status, FailureReason string }
	}
	s.must(200, "GET", "/v1/rewards/"+mistaken.ID, "").decode(t, &got)
	if got.Reward.Status != "failed" || got.Reward.FailureReason != "canceled: given twice" {
		t.Errorf("the reward is %+v", got.Reward)
	}
	s.command("fulfillment", "resume")
	s.await(other.ID, "executed", 20*time.Second)
	s.wantError("the reward has failed", "reward", "reverse", mistaken.ID, "--reason", "x")
	s.wantOutput("2.5 of 6 of AAPL is taken back\nthe reward is executed", "reward", "reverse", other.ID,
		"--amount", "2.5", "--reason", "too much")
	var back struct {
		Reversals []struct {
			Status    string
			AmountUsd json.Number
		}
	}
	s.wantError("for the same reason", "reward", "reverse", other.ID, "--amount", "2.5", "--reason", "too much")
	eventually(t, "the shares are taken", 10*time.Second, func() bool {
		s.must(200, "GET", "/v1/reversals?rewardId="+other.ID, "").decode(t, &back)
		return len(back.Reversals) == 1 && back.Reversals[0].Status == "completed"
	})
	var left struct{ CostBasis json.Number }
	s.must(200, "GET", "/v1/users/"+user+"/portfolio", "").decode(t, &left)
	if left.CostBasis != "3.5" {
		t.Errorf("the cost basis is %s", left.CostBasis)
	}
	s.wantError("less than amountUsd is left", "reward", "reverse", other.ID, "--amount", "3.51", "--reason", "x")
	s.wantOutput("3.5 of 6 of AAPL is taken back", "reward", "reverse", other.ID, "--reason", "all of it")
	eventually(t, "an empty holding is not shown", 10*time.Second, func() bool {
		return !strings.Contains(s.command("user", "show", user), "AAPL")
	})
	s.command("audit")
}
