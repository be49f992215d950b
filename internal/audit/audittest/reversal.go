package audittest

import (
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Back takes an award of an app back, or a part of it; 0 is all that is left. The name is its
// idempotency key.
func (w *World) Back(name, app, award string, amount money.USD) rewards.Reversal {
	w.tb.Helper()
	w.Now = w.Now.Add(time.Second)
	outcomes, err := w.ReverseRewards(w.tb.Context(), []rewards.NewReversal{{
		AppID: w.IDs[app], RewardID: w.IDs[award], IdempotencyKey: name, Amount: amount, Reason: "returned",
	}})
	w.Check(err)
	w.Check(outcomes[0].Refused)
	w.IDs[name] = outcomes[0].Reversal.ID
	return outcomes[0].Reversal
}

// order takes an executed award back as an operator does. Nobody takes the shares yet.
func (w *World) order(name, award string, amount money.USD) {
	w.Now = w.Now.Add(time.Second)
	v, _, err := w.ReverseReward(w.tb.Context(), w.IDs[award], amount, "a mistake")
	w.Check(err)
	w.IDs[name] = v.ID
}
