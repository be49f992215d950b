package fulfillment

import (
	"context"
	"errors"
	"slices"
	"time"

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
	failed int                 // attempts to book it alone that failed
	next   time.Time           // of the next attempt, when one has failed
	why    string              // the last one failed
}

// due reports whether it is time to book the end. A clock that was set back delays nothing.
func (e ending) due(now time.Time) bool {
	pause := e.next.Sub(now)
	return pause <= 0 || pause > rewards.Backoff(e.failed)
}

// settle notes that an order ended with a fill.
func (w *Worker) settle(before, after rewards.Order) {
	w.end(before, after, func(claims []rewards.Claim, house money.Shares) (rewards.Settlement, error) {
		return rewards.Settle(after, claims, house, w.now())
	})
}

// refuse notes that an order ended without a fill.
func (w *Worker) refuse(o rewards.Order, reason string) {
	w.end(o, o.Unambiguous(), func(claims []rewards.Claim, _ money.Shares) (rewards.Settlement, error) {
		return rewards.Refuse(claims, reason)
	})
}

func (w *Worker) end(before, after rewards.Order, decide rewards.Booker) {
	w.ends = append(w.ends, ending{
		before: before, after: after, decide: decide, epoch: w.lease.Epoch, booked: new(rewards.Settlement),
	})
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

// booking books ends, beside the steps if Config.BookBeside says so.
type booking struct {
	ends  []ending
	lease rewards.Lease
	n     int   // how many of them are booked, the first ones
	err   error // why the others are not
	done  chan struct{}
}

// run books the ends, many in one transaction.
func (b *booking) run(ctx context.Context, s Store, alive func()) {
	defer close(b.done)
	requests := make([]rewards.OrderEnd, len(b.ends))
	for i, e := range b.ends {
		requests[i] = e.request()
	}
	for b.n < len(requests) && b.err == nil {
		alive()
		var n int
		n, b.err = s.SettleOrders(ctx, b.lease, requests[b.n:]...)
		b.n += n
	}
}

// bookEnds books the ends that are due, or begins to. While a booking is under way they wait. After a change of the
// lease's epoch another leader may have booked them: they are dropped, and the next poll reads the orders that are
// still open.
func (w *Worker) bookEnds(ctx context.Context) error {
	w.ends = slices.DeleteFunc(w.ends, func(e ending) bool { return e.epoch != w.lease.Epoch })
	if w.booking != nil {
		return nil
	}
	var due, later []ending
	for _, e := range w.ends {
		if e.due(w.now()) {
			due = append(due, e)
		} else {
			later = append(later, e)
		}
	}
	if len(due) == 0 {
		return nil
	}
	b := &booking{ends: due, lease: w.lease, done: make(chan struct{})}
	w.ends = later
	if !w.cfg.BookBeside {
		b.run(ctx, w.store, w.heartbeat)
		return w.carryOut(ctx, b)
	}
	w.booking = b
	go func() {
		b.run(context.WithoutCancel(ctx), w.store, func() {})
		w.Nudge()
	}()
	return nil
}

// collectBooking carries out the booking beside the steps when it is complete; when wait is set it waits for it. A read
// of the live orders follows: until then the worker takes the booked ones for live.
func (w *Worker) collectBooking(ctx context.Context, wait bool) error {
	b := w.booking
	if b == nil {
		return nil
	}
	if !wait {
		select {
		case <-b.done:
		default:
			return nil
		}
	}
	<-b.done
	w.booking = nil
	return w.carryOut(ctx, b)
}

// bookOn carries out the booking beside the steps if it is complete, and begins the next one. The live orders must be
// read again before the next poll.
func (w *Worker) bookOn(ctx context.Context) error {
	if !w.cfg.BookBeside {
		return nil
	}
	return errors.Join(w.collectBooking(context.WithoutCancel(ctx), false), w.bookEnds(ctx))
}

// carryOut reports the orders that were booked. When one of the others cannot be booked, it books each alone.
func (w *Worker) carryOut(ctx context.Context, b *booking) error {
	for _, e := range b.ends[:b.n] {
		w.booked(ctx, e)
	}
	if b.err != nil && fails(b.err) || b.lease.Epoch != w.lease.Epoch {
		return b.err
	}
	var errs []error
	for _, e := range b.ends[b.n:] {
		w.heartbeat()
		errs = append(errs, w.bookAlone(ctx, e))
	}
	return errors.Join(errs...)
}

// isEnding reports whether the end of an order is noted, but not carried out yet.
func (w *Worker) isEnding(o rewards.Order) bool {
	is := func(e ending) bool { return e.before.ID == o.ID }
	return slices.ContainsFunc(w.ends, is) || w.booking != nil && slices.ContainsFunc(w.booking.ends, is)
}

// bookAlone books the end of an order, or quarantines the order. After an error that may be this order's alone but
// says nothing about it, the end waits. It keeps its evidence: a refusal could not be proven again.
func (w *Worker) bookAlone(ctx context.Context, e ending) error {
	_, err := w.store.SettleOrders(ctx, w.lease, e.request())
	switch {
	case err == nil:
		w.booked(ctx, e)
		return nil
	case fails(err), errors.Is(err, rewards.ErrStale):
		return err
	}
	step := e.after.Next(rewards.Evidence{Source: rewards.FromBooking, Err: err})
	if step.Kind == rewards.StepSave {
		return w.save(ctx, e.before, step.Order)
	}
	e.failed++
	e.next, e.why = w.now().Add(rewards.Backoff(e.failed)), err.Error()
	w.ends = append(w.ends, e)
	return err
}

// raiseUnbooked raises the alarms of the orders whose ends wait because their booking failed.
func (w *Worker) raiseUnbooked() {
	ends := w.ends
	if w.booking != nil {
		ends = slices.Concat(ends, w.booking.ends)
	}
	for _, e := range ends {
		if e.failed > 0 {
			o := e.after
			w.alarms.raise(rewards.AlarmOrderWaits+o.ID.String(), o.Symbol+": it cannot be booked yet: "+e.why)
		}
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
