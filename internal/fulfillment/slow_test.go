package fulfillment_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// slow delays the answers to the first sends.
func (w *world) slow(first int32, delay time.Duration) {
	var sent atomic.Int32
	w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
		if isSubmit(r) && sent.Add(1) <= first {
			time.Sleep(delay)
		}
		return carry()
	}
}

// patient lets steps go on without the answers to sends.
func patient(w *world) {
	w.afterOpen = append(w.afterOpen, func() {
		w.cfg.Patience = 200 * time.Millisecond
		w.restart(nil, nil)
	})
}

// A broker that takes seconds to answer one send holds up no other stock, and its answer
// is not lost.
func TestASlowAnswerHoldsUpNoOtherStock(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.slow(1, 9*time.Second)
		first, second := w.give("AAPL", 5_000_000), w.give("KO", 5_000_000)
		w.run(3 * time.Second)
		w.want(first, rewards.Executing)
		w.want(second, rewards.Executed)
		if w.alarmed("order_waits:") {
			t.Error("an answer that is awaited is an alarm")
		}
		w.run(15 * time.Second)
		w.want(first, rewards.Executed)
		if n := len(w.orders()); n != 2 {
			t.Errorf("%d orders, want two", n)
		}
		w.witness()
	}, patient)
}

// The end of a process waits for the answers to what it sent.
func TestAStopWaitsForAnswers(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.slow(1, 5*time.Second)
		r := w.give("AAPL", 5_000_000)
		stop, done := w.start()
		time.Sleep(2 * time.Second)
		stop()
		<-done
		if o := w.live()[0]; o.State != rewards.OrderOpen || o.Attempts != 1 {
			t.Errorf("the order is %s after %d attempts", o.State, o.Attempts)
		}
		w.restart(nil, nil)
		w.run(5 * time.Second)
		w.want(r, rewards.Executed)
		w.witness()
	}, patient)
}
