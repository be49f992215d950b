package fulfillment_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// slow delays the answer to the first send.
func (w *world) slow(delay time.Duration) {
	var sent atomic.Bool
	w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
		if isSubmit(r) && sent.CompareAndSwap(false, true) {
			time.Sleep(delay)
		}
		return carry()
	}
}

// A broker that takes seconds to answer one send delays no other stock, and its answer is used.
func TestASlowAnswerHoldsUpNoOtherStock(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.slow(9 * time.Second)
		first, second := w.give("AAPL", 5*usd), w.give("KO", 5*usd)
		w.wantAfter(3500*time.Millisecond, first, rewards.Executing)
		w.want(second, rewards.Executed)
		w.wantAlarm("", false)
		w.wantAfter(9*time.Second, first, rewards.Executed)
		w.wantBalanced(2)
	}, patient)
}

// The same holds for the answer to a look-up: here of an order whose send was cut.
func TestASlowLookUpHoldsUpNoOtherStock(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		var cut atomic.Bool
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			switch {
			case isSubmit(r) && cut.CompareAndSwap(false, true):
				return nil, io.ErrUnexpectedEOF
			case isLookUp(r):
				time.Sleep(9 * time.Second)
			}
			return carry()
		}
		first := w.give("AAPL", 5*usd)
		w.run(4 * time.Second) // it is being looked up
		second := w.give("KO", 5*usd)
		w.wantAfter(3500*time.Millisecond, first, rewards.Executing)
		w.want(second, rewards.Executed)
		w.wantAfter(12*time.Second, first, rewards.Executed)
		w.wantBalanced(2)
	}, patient)
}

// The end of a process waits for the answers to its sends.
func TestAStopWaitsForAnswers(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.slow(5 * time.Second)
		r := w.give("AAPL", 5*usd)
		stop, done := w.start()
		time.Sleep(2 * time.Second)
		stop()
		<-done
		if o := w.live()[0]; o.State != rewards.OrderOpen || o.Attempts != 1 {
			w.t.Errorf("the order is %s after %d attempts", o.State, o.Attempts)
		}
		w.restart()
		w.wantAfter(5*time.Second, r, rewards.Executed)
		w.wantBalance()
	}, patient)
}

// An answer that arrives after another process has led proves nothing: that process may have sent
// the order too. Here it is a refusal, and the order is looked up.
func TestAnAnswerUnderALostLeaseIsDropped(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wire.fault = sends(func(r *http.Request, carry carrier) (*http.Response, error) {
			response, err := carry()
			time.Sleep(5 * time.Second)
			if err != nil {
				return response, err
			}
			return says(422, `{"code":42210000,"message":"asset \"AAPL\" is not tradable"}`)(r, nil)
		})
		r := w.give("AAPL", 5*usd)
		w.run(2 * time.Second)
		w.otherLeads()
		w.wantAfter(8*time.Second, r, rewards.Executed)
		w.wantBalanced(1)
	}, patient, func(w *world) { w.cfg.LeaseTTL = 4 * time.Second }) // renewed before the answer arrives
}

// A step that is frozen while another process leads sends nothing by what it read before, although it leads again:
// that process may have bought. Here the broker would refuse the order, and the award would fail.
func TestAFrozenStepSendsNothingLater(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		submit := sends(insufficient, loseAnswer, says(422, `{"code":42210000,"message":"asset \"AAPL\" is not tradable"}`))
		frozen := false
		w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
			if !isLookUp(r) || frozen {
				return submit(r, carry)
			}
			frozen = true
			found, err := carry() // nothing
			this := w.worker
			time.Sleep(w.cfg.LeaseTTL + time.Second)
			w.restart()
			w.worker.Step(w.t.Context()) // sends it, and ends
			w.worker = this
			time.Sleep(w.cfg.LeaseTTL + time.Second)
			return found, err
		}
		r := w.give("AAPL", 5*usd)
		w.wantAfter(30*time.Second, r, rewards.Executed)
		w.wantBalanced(1)
	}, func(w *world) { w.cfg.Exclusive, w.cfg.LeaseTTL = false, 2*time.Second })
}
