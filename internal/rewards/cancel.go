package rewards

import (
	"fmt"
	"strings"
)

// Object returns the reward's name in the operator log.
func (r Reward) Object() string { return "reward " + r.ID.String() }

// State returns the reward for the operator log.
func (r Reward) State() State {
	return State{
		{"app", r.AppID.String()},
		{"amount", r.Amount.String()},
		{"symbol", r.Symbol},
		{"status", r.Status.String()},
		{"failure", r.FailureReason},
	}
}

// Canceled reports whether the reward failed because it was taken back whole.
func (r Reward) Canceled() bool {
	return r.Status == Failed && strings.HasPrefix(r.FailureReason, string(FailureCanceled)+":")
}

// Cancel returns the reward as failed, so that nothing is bought for it. It fails with
// CodeConflict unless the reward is recorded, which means that it is in no order.
func (r Reward) Cancel(reason string) (Reward, error) {
	if r.Status != Recorded {
		return r, &Error{Code: CodeConflict, Message: fmt.Sprintf(
			"cannot reverse the reward: it is %s; only a recorded reward, which is in no order, can be reversed",
			r.Status)}
	}
	r.Status, r.FailureReason = Failed, FailureReason(FailureCanceled, reason)
	return r, nil
}
