package fulfillment

import (
	"context"
	"errors"
	"time"

	"stockrewards/internal/rewards"
)

const (
	// maxFlights bounds the calls that wait for their answers at once.
	maxFlights = 8
	// callPatience bounds a call.
	callPatience = 15 * time.Second
)

// flight is a call about an order that is under way: a send or a look-up. Only the call runs
// beside the steps; a step carries out what follows from its answer.
type flight struct {
	order    rewards.Order    // as sent, or as looked up
	evidence rewards.Evidence // without the answer
	lease    rewards.Lease    // under which the call began
	answer   chan answer      // buffers one
}

// call asks the broker about an order. ok false: it was interrupted, which says nothing.
type call func(ctx context.Context) (b rewards.BrokerOrder, ok bool, err error)

// answer is what the broker returned for a call.
type answer struct {
	order rewards.BrokerOrder
	ok    bool
	err   error
}

// ready reports whether one more order may be sent now.
func (w *Worker) ready() bool { return w.broker.Ready() && len(w.flights) < maxFlights }

// dispatch makes a call about an order. An answer within the configured patience is carried out
// now, a later one by a later step, so that a slow answer delays no other stock.
func (w *Worker) dispatch(ctx context.Context, o rewards.Order, e rewards.Evidence, ask call) error {
	f := flight{order: o, evidence: e, lease: w.lease, answer: make(chan answer, 1)}
	if w.cfg.Patience == 0 {
		f.run(ctx, ask)
		return w.answered(ctx, f, <-f.answer)
	}
	go func() {
		f.run(ctx, ask)
		w.Nudge()
	}()
	timer := time.NewTimer(w.cfg.Patience)
	defer timer.Stop()
	select {
	case a := <-f.answer:
		return w.answered(ctx, f, a)
	case <-timer.C:
		w.flights[o.ID] = f
		return nil
	}
}

// run makes the call, for a bounded time.
func (f flight) run(ctx context.Context, ask call) {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	b, ok, err := ask(ctx)
	f.answer <- answer{b, ok, err}
}

// collect carries out a booking that is complete and the answers that have arrived; when wait is set it waits for all
// of them.
func (w *Worker) collect(ctx context.Context, wait bool) error {
	errs := []error{w.collectBooking(context.WithoutCancel(ctx), wait)}
	for id, f := range w.flights {
		if !wait && len(f.answer) == 0 {
			continue
		}
		a := <-f.answer
		delete(w.flights, id)
		errs = append(errs, w.answered(ctx, f, a))
	}
	return errors.Join(append(errs, w.bookEnds(context.WithoutCancel(ctx)))...)
}

// answered carries out what follows from an answer. After a change of the lease's epoch another
// leader may have sent the order again: the answer is dropped and the order is looked up.
func (w *Worker) answered(ctx context.Context, f flight, a answer) error {
	if !a.ok || f.lease.Epoch != w.lease.Epoch {
		return nil
	}
	e := f.evidence
	e.Report, e.Err = a.order, a.err
	return w.advance(context.WithoutCancel(ctx), f.order, e)
}
