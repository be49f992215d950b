package fulfillment

import (
	"context"
	"errors"
	"time"

	"stockrewards/internal/rewards"
)

const (
	// maxFlights bounds the sends that wait for their answers at once.
	maxFlights = 8
	// sendPatience bounds a send, and separately what follows from its answer.
	sendPatience = 15 * time.Second
)

// flight is a send that is under way. Only the broker's call runs beside the steps; a step
// carries out what follows from its answer.
type flight struct {
	order  rewards.Order // as sent
	first  bool          // no earlier attempt may have reached the broker
	clock  rewards.MarketClock
	lease  rewards.Lease // under which the attempt began
	answer chan answer   // buffers one
}

// answer is what the broker returned for a send.
type answer struct {
	order rewards.BrokerOrder
	err   error
}

// ready reports whether one more order may be sent now.
func (w *Worker) ready() bool { return w.broker.Ready() && len(w.flights) < maxFlights }

// dispatch sends an order. An answer within the configured patience is carried out now, a later
// one by a later step, so that a slow answer delays no other stock.
func (w *Worker) dispatch(ctx context.Context, f flight) error {
	ctx = context.WithoutCancel(ctx) // a send that began is completed, so that its outcome is known
	if w.cfg.Patience == 0 {
		w.submit(ctx, f)
		return w.answered(ctx, f, <-f.answer)
	}
	go func() {
		w.submit(ctx, f)
		w.Nudge()
	}()
	timer := time.NewTimer(w.cfg.Patience)
	defer timer.Stop()
	select {
	case a := <-f.answer:
		return w.answered(ctx, f, a)
	case <-timer.C:
		w.flights[f.order.ID] = f
		return nil
	}
}

// submit calls the broker, for a bounded time.
func (w *Worker) submit(ctx context.Context, f flight) {
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	b, err := w.broker.Submit(ctx, f.order.Request())
	f.answer <- answer{b, err}
}

// collect carries out the answers that have arrived; when wait is set it waits for all of them.
func (w *Worker) collect(ctx context.Context, wait bool) error {
	var errs []error
	for id, f := range w.flights {
		if !wait && len(f.answer) == 0 {
			continue
		}
		a := <-f.answer
		delete(w.flights, id)
		errs = append(errs, w.answered(context.WithoutCancel(ctx), f, a))
	}
	return errors.Join(errs...)
}

// answered carries out what follows from an answer. After a change of the lease's epoch another
// leader may have sent the order again: the answer is dropped and the order is looked up.
func (w *Worker) answered(ctx context.Context, f flight, a answer) error {
	if f.lease.Epoch != w.lease.Epoch {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	return w.advance(ctx, f.order, rewards.Evidence{
		Source: rewards.FromSend, Report: a.order, Err: a.err, First: f.first, Clock: f.clock,
	})
}
