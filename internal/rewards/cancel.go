package rewards

import "fmt"

// Object is the reward as the operator log names it.
func (r Reward) Object() string { return "reward " + r.ID.String() }

// State is what an operator decides about a reward.
func (r Reward) State() State {
	return State{
		{"app", r.AppID.String()},
		{"amount", r.Amount.String()},
		{"symbol", r.Symbol},
		{"status", r.Status.String()},
		{"failure", r.FailureReason},
	}
}

// Cancel takes a reward back that is in no order: it fails, and nothing is bought for it.
// It fails with CodeConflict for any other reward.
func (r Reward) Cancel(reason string) (Reward, error) {
	if r.Status != Recorded {
		return r, &Error{Code: CodeConflict, Message: fmt.Sprintf(
			"cannot reverse the reward: it is %s; "+
				"only a reward that is recorded, and so in no order, can be reversed",
			r.Status)}
	}
	r.Status, r.FailureReason = Failed, FailureReason(FailureCanceled, reason)
	return r, nil
}
