package fulfillment

import (
	"time"

	"stockrewards/internal/rewards"
)

// Observer counts what the worker did, after it is stored. Its methods must not block.
type Observer interface {
	// OrderEntered reports an order that came into a state.
	OrderEntered(state rewards.OrderState)
	// RewardsEnded reports how many rewards came into a final status.
	RewardsEnded(status rewards.Status, n int)
}

// Observe sets the observer. Call it before Run.
func (w *Worker) Observe(o Observer) { w.observer = o }

type silent struct{}

func (silent) OrderEntered(rewards.OrderState)  {}
func (silent) RewardsEnded(rewards.Status, int) {}

// heartbeat notes that the step under way makes progress. Between two heartbeats lie only a few
// calls of the broker and of the store, each with its own timeout.
func (w *Worker) heartbeat() {
	now := time.Now()
	w.beat.Store(&now)
}

// Busy is the time since the last heartbeat of the step under way; zero between steps. It is
// safe for concurrent use.
func (w *Worker) Busy() time.Duration {
	beat := w.beat.Load()
	if beat == nil {
		return 0
	}
	return time.Since(*beat)
}

// Leads reports whether this process leads fulfillment, as of the last step. It is safe for
// concurrent use.
func (w *Worker) Leads() bool { return w.leads.Load() }

// entered reports an order whose state changed.
func (w *Worker) entered(from, to rewards.OrderState) {
	if from != to {
		w.observer.OrderEntered(to)
	}
}

// ended reports an order that was booked and the rewards that it completed.
func (w *Worker) ended(s rewards.Settlement) {
	w.observer.OrderEntered(s.State)
	counts := make(map[rewards.Status]int)
	for _, r := range s.Results {
		counts[r.Status]++
	}
	for _, status := range []rewards.Status{rewards.Executed, rewards.Failed} {
		if n := counts[status]; n > 0 {
			w.observer.RewardsEnded(status, n)
		}
	}
}
