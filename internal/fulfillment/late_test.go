package fulfillment_test

import (
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// spinOff is announced for the day before the split of these tests.
const spinOff = `{"type":"spin_off","source_symbol":"AAPL","source_rate":4,"new_symbol":"SPUN","new_rate":1,"ex_date":"2000-01-05"}`

// lateSpinOff has a split applied, and then a spin-off announced whose ex-date is earlier.
func (w *world) lateSpinOff() (split, spun string) {
	w.t.Helper()
	split = w.announce("1", "3", "2000-01-06")
	w.afflict("late-announcement symbol=AAPL by=135h")
	spun = w.post(spinOff)
	w.until("2000-01-06 02:31:00")
	w.serve(30 * time.Second)
	w.wantAction(split, rewards.ActionSwept)
	w.until("2000-01-06 19:00:00")
	w.serve(2 * time.Minute)
	return split, spun
}

// A spin-off is announced after a later split was applied: what it gives is counted in the shares before the split. An
// operator undoes the split, and applies both in their order.
func TestALateSpinOffIsAppliedBeforeTheSplit(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		before := w.holdings("AAPL")
		split, spun := w.lateSpinOff()
		w.wantHeld(spun, "the action "+split+" was applied already")
		_, err := w.operator("action apply").ApproveAction(w.t.Context(), spun, false)
		if rewards.CodeOf(err) != rewards.CodeConflict {
			w.t.Errorf("applying it now: %v, want a conflict", err)
		}
		w.undo(split)
		w.serve(20 * time.Second)
		for _, id := range []string{spun, split} {
			w.approve(id)
			w.serve(20 * time.Second)
			w.wantAction(id, rewards.ActionSwept)
		}
		for i, u := range w.users {
			source, given := w.holding(u, "AAPL").Quantity, w.holding(u, "SPUN").Quantity
			if source != 3*before[i].Quantity || given != before[i].Quantity/4 {
				w.t.Errorf("%s shares became %s, and gave %s of the new stock", before[i].Quantity, source, given)
			}
		}
		w.until("2000-01-07 10:00:00")
		w.serve(time.Minute)
		w.buy()
		w.wantValued("AAPL", true)
		w.wantBalance()
		w.wantAlarm("", false)
	})
}
