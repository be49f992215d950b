package fulfillment

import (
	"context"
	"errors"
	"slices"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// ending is an order whose end is known and must be booked. Until then the store has the order as it
// was, so that the next poll finds the end again.
type ending struct {
	before rewards.Order // as stored
	after  rewards.Order // as reported last
	decide rewards.Booker
	epoch  int64               // of the lease under which the end was reported
	booked *rewards.Settlement // valid when the order was booked
}

// settle notes that an order ended with a fill.
func (w *Worker) settle(before, after rewards.Order) {
	w.end(before, after, func(claims []rewards.Claim, house money.Shares) (rewards.Settlement, error) {
		return rewards.Settle(after, claims, house, w.now())
	})
}

// refuse notes that an order ended without a fill.
func (w *Worker) refuse(o rewards.Order, reason string) {
	w.end(o, o, func(claims []rewards.Claim, _ money.Shares) (rewards.Settlement, error) {
		return rewards.Refuse(claims, reason)
	})
}

func (w *Worker) end(before, after rewards.Order, decide rewards.Booker) {
	w.ends = append(w.ends, ending{before, after, decide, w.lease.Epoch, new(rewards.Settlement)})
}

// request is the request to book the end.
func (e ending) request() rewards.OrderEnd {
	return rewards.OrderEnd{
		From: e.before.State, Order: e.after,
		Book: func(claims []rewards.Claim, house money.Shares) (_ rewards.Settlement, err error) {
			*e.booked, err = e.decide(claims, house)
			return *e.booked, err
		},
	}
}

// bookEnds books the ends that were noted, many in one transaction. When one of them cannot be booked,
// it books each alone. After a change of the lease's epoch another leader may have booked them: they
// are dropped, and the next poll reads the orders that are still open.
func (w *Worker) bookEnds(ctx context.Context) error {
	ends := slices.DeleteFunc(w.ends, func(e ending) bool { return e.epoch != w.lease.Epoch })
	w.ends = nil
	requests := make([]rewards.OrderEnd, len(ends))
	for i, e := range ends {
		requests[i] = e.request()
	}
	for len(ends) > 0 {
		w.heartbeat()
		n, err := w.store.SettleOrders(ctx, w.lease, requests...)
		if err != nil && fails(err) {
			return err
		}
		if err != nil {
			break
		}
		for _, e := range ends[:n] {
			w.booked(ctx, e)
		}
		ends, requests = ends[n:], requests[n:]
	}
	var errs []error
	for _, e := range ends {
		w.heartbeat()
		errs = append(errs, w.bookAlone(ctx, e))
	}
	return errors.Join(errs...)
}

// bookAlone books the end of an order, or quarantines the order.
func (w *Worker) bookAlone(ctx context.Context, e ending) error {
	if e.before.State != e.after.State {
		if err := w.save(ctx, e.before, e.after); err != nil {
			return err
		}
		e.before = e.after
	}
	_, err := w.store.SettleOrders(ctx, w.lease, e.request())
	switch {
	case err == nil:
		w.booked(ctx, e)
		return nil
	case fails(err), errors.Is(err, rewards.ErrStale):
		return err
	default:
		return w.advance(ctx, e.after, rewards.Evidence{Source: rewards.FromBooking, Err: err})
	}
}

// booked reports an order that was booked.
func (w *Worker) booked(ctx context.Context, e ending) {
	if e.before.State != e.after.State {
		w.saved(ctx, e.before, e.after)
	}
	w.ended(*e.booked)
	o := e.after
	o.State, o.Reason, o.HouseShares = e.booked.State, e.booked.Reason, e.booked.HouseShares
	w.logOrder(ctx, "order booked", o)
	w.Nudge() // what was not bought waits for the next order
}
