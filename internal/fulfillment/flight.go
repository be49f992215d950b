package fulfillment

import (
	"context"
	"errors"
	"time"

	"stockrewards/internal/rewards"
)

// maxFlights bounds the sends whose answers are waited for at once.
const maxFlights = 8

// flight is a send that is under way. Only the call of the broker runs beside the steps:
// what follows from its answer is done by a step.
type flight struct {
	order  rewards.Order // as it was sent
	sure   bool          // every attempt before was refused, or never left
	clock  rewards.MarketClock
	lease  rewards.Lease // that the attempt was begun under
	answer chan answer   // takes one
}

// answer is what the broker made of a send.
type answer struct {
	order rewards.BrokerOrder
	err   error
}

// ready reports whether one more order may be sent now.
func (w *Worker) ready() bool { return w.broker.Ready() && len(w.flights) < maxFlights }

// flying reports whether the answer to a send of the order is not there yet.
func (w *Worker) flying(o rewards.Order) bool {
	_, found := w.flights[o.ID]
	return found
}

// fly sends an order and takes its answer when that comes within the patience of a step.
// Otherwise a later step takes it, so that a slow answer holds up no other stock.
func (w *Worker) fly(ctx context.Context, f flight) error {
	// What has begun is carried through, so that its outcome is known.
	ctx = context.WithoutCancel(ctx)
	if w.cfg.Patience == 0 {
		w.submit(ctx, f)
		return w.landed(ctx, f, <-f.answer)
	}
	go func() {
		w.submit(ctx, f)
		w.Nudge()
	}()
	timer := time.NewTimer(w.cfg.Patience)
	defer timer.Stop()
	select {
	case a := <-f.answer:
		return w.landed(ctx, f, a)
	case <-timer.C:
		w.flights[f.order.ID] = f
		return nil
	}
}

// submit asks the broker, for a bounded time.
func (w *Worker) submit(ctx context.Context, f flight) {
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	b, err := w.broker.Submit(ctx, f.order.Request())
	f.answer <- answer{b, err}
}

// land takes the answers that have come; all of them, however long they take, when wait is set.
func (w *Worker) land(ctx context.Context, wait bool) error {
	var errs []error
	for id, f := range w.flights {
		var a answer
		if wait {
			a = <-f.answer
		} else {
			select {
			case a = <-f.answer:
			default:
				continue
			}
		}
		delete(w.flights, id)
		errs = append(errs, w.landed(context.WithoutCancel(ctx), f, a))
	}
	return errors.Join(errs...)
}

// landed does what follows from an answer. When this process has not led all the time
// since the send, another one may have sent the order again: then it is looked for.
func (w *Worker) landed(ctx context.Context, f flight, a answer) error {
	if f.lease.Epoch != w.lease.Epoch {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sendPatience)
	defer cancel()
	if a.err == nil {
		return w.merge(ctx, f.order, a.order)
	}
	return w.unanswered(ctx, f, a.err)
}
