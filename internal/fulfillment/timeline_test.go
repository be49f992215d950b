package fulfillment_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// timeline reads what happened to a reward.
func (w *world) timeline(r rewards.Reward) []rewards.TimelineEntry {
	w.t.Helper()
	h, err := w.store.History(w.t.Context(), r.AppID, r.ID)
	w.check(err)
	return h.Timeline()
}

// wantWaiting checks what a reward waits for.
func (w *world) wantWaiting(r rewards.Reward, want string) {
	w.t.Helper()
	list := w.timeline(r)
	last := list[len(list)-1]
	if diff := cmp.Diff(want, last.Message); diff != "" || last.Type != rewards.TimelineWaiting {
		w.t.Errorf("the reward waits (-want +got):\n%s\n%+v", diff, list)
	}
}

// wantTimeline checks the types of a reward's timeline, and that time does not run back.
func (w *world) wantTimeline(r rewards.Reward, want ...string) {
	w.t.Helper()
	list := w.timeline(r)
	got := make([]string, len(list))
	for i, e := range list {
		if got[i] = e.Type; i > 0 && e.At.Before(list[i-1].At) {
			w.t.Errorf("%s is earlier than %s", e.Type, list[i-1].Type)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("(-want +got):\n%s\n%+v", diff, list)
	}
}

// Standstills are stored once for each cause, also by the next leader, and end when it is over.
func TestStandstills(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.run(2 * time.Second)
		w.pause("lunch")
		r := w.give("AAPL", 5*usd)
		w.run(10 * time.Second)
		began := w.timeline(r)
		w.restart()
		w.run(10 * time.Second)
		if diff := cmp.Diff(began, w.timeline(r)); diff != "" {
			t.Errorf("another leader changes the standstill (-before +after):\n%s", diff)
		}
		w.pause("")
		w.wantAfter(5*time.Second, r, rewards.Executed)
		w.wantTimeline(r, "recorded", "waited", "ordered", "sent", "answered", "filled", "executed")
		open, err := w.store.Standstills(w.t.Context())
		w.check(err)
		if len(open) > 0 {
			t.Errorf("%+v", open)
		}
	})
}
