package fulfillment

import (
	"time"

	"stockrewards/internal/rewards"
)

// Observer is told of what the worker did, after it is stored. It must not block.
type Observer interface {
	// OrderEntered is told of every order that came into a state.
	OrderEntered(state rewards.OrderState)
	// RewardsEnded is told how many rewards came into a status that is final.
	RewardsEnded(status rewards.Status, n int)
}

// Observe has o told of what the worker does. Call it before Run.
func (w *Worker) Observe(o Observer) { w.observer = o }

type silent struct{}

func (silent) OrderEntered(rewards.OrderState)  {}
func (silent) RewardsEnded(rewards.Status, int) {}

// move notes that the step under way goes on: between any two of these moments lie
// only a few calls of the broker and of the store, each of which ends by itself.
func (w *Worker) move() {
	now := time.Now()
	w.moved.Store(&now)
}

// Busy is how long the step under way has not moved; zero between steps. It is safe
// for concurrent use.
func (w *Worker) Busy() time.Duration {
	moved := w.moved.Load()
	if moved == nil {
		return 0
	}
	return time.Since(*moved)
}

// Leads tells whether this process leads fulfilment, as of the last step. It is
// safe for concurrent use.
func (w *Worker) Leads() bool { return w.leads.Load() }

// entered tells the observer of an order that was stored in another state.
func (w *Worker) entered(from, to rewards.OrderState) {
	if from != to {
		w.observer.OrderEntered(to)
	}
}

// ended tells the observer of the rewards that a booking completed.
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
