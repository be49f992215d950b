package fulfillment

import (
	"context"
	"errors"
	"time"

	"stockrewards/internal/rewards"
)

const (
	// closedPoll is the shortest pause between polls while the market is closed or the broker
	// does not report its hours.
	closedPoll = 5 * time.Second
	// pollSlack is subtracted from the time of the oldest send when the broker's orders are
	// listed: the broker's clock and its queue may differ.
	pollSlack = time.Minute
)

// polling is what the leader knows of its polls of open orders.
type polling struct {
	next   time.Time // ours, of the next one
	failed string    // why the last one failed; "" when it succeeded
	alone  int       // turn of the orders that are looked up one by one
}

// poll books the orders that an operator resolved and, when it is due, reads the sent ones at
// the broker. It returns the time until the next poll.
func (w *Worker) poll(ctx context.Context, live []rewards.Order) (time.Duration, error) {
	var errs []error
	sent := make([]rewards.Order, 0, len(live))
	for _, o := range live {
		w.heartbeat()
		w.alarms.raiseOrder(o, w.now())
		if _, waits := w.flights[o.ID]; waits {
			continue // for the broker's answer
		}
		if w.isEnding(o) {
			continue // it is being booked
		}
		switch step := o.Next(rewards.Evidence{}); step.Kind {
		case rewards.StepSettle:
			w.settle(o, step.Order)
		case rewards.StepPoll:
			sent = append(sent, o)
		default:
		}
	}
	errs = append(errs, w.bookEnds(ctx))
	if len(sent) == 0 {
		return idleWait, errors.Join(errs...)
	}
	if wait := w.polls.next.Sub(w.now()); wait > 0 && wait <= closedPoll {
		if w.polls.failed != "" {
			w.alarms.raise(rewards.AlarmOrdersUnknown, w.polls.failed)
		}
		return wait, errors.Join(errs...)
	}
	pause := w.cfg.PollEvery
	clock, err := w.clock(ctx)
	if err == nil {
		err = w.pollSent(ctx, sent, clock)
		errs = append(errs, w.bookEnds(ctx))
	}
	if w.polls.failed = ""; err != nil && !errors.Is(err, rewards.ErrLostLease) {
		w.polls.failed = "cannot read the open orders: " + err.Error()
		w.alarms.raise(rewards.AlarmOrdersUnknown, w.polls.failed)
	}
	if !clock.Open {
		pause = max(pause, closedPoll)
	}
	w.polls.next = w.now().Add(pause)
	return pause, errors.Join(append(errs, err)...)
}

// listedOrders is how many of our newest orders a poll lists at most.
const listedOrders = 2000

// pollSent reads the sent orders from one list of the broker's, and looks up those that it does not show. Where a few
// orders have stayed open for long, such as those of a halted stock, the list since then would be too long: one of
// them is looked up in each poll.
func (w *Worker) pollSent(ctx context.Context, sent []rewards.Order, clock rewards.MarketClock) error {
	listed, alone := w.divide(sent)
	var errs []error
	if len(listed) > 0 {
		errs = append(errs, w.pollListed(ctx, listed, clock))
	}
	if n := len(alone); n > 0 && !errors.Is(errors.Join(errs...), rewards.ErrLostLease) {
		w.polls.alone = (w.polls.alone + 1) % n
		e := rewards.Evidence{Source: rewards.NotInList, Clock: clock}
		errs = append(errs, w.advance(ctx, alone[w.polls.alone], e))
	}
	return errors.Join(errs...)
}

// divide divides orders into those to list and those to look up one by one, as far as a look-up is due. When a list of
// all takes fewer requests than the look-ups, all are listed.
func (w *Worker) divide(sent []rewards.Order) (listed, alone []rewards.Order) {
	const perRequest = 500 // orders of a list
	e := rewards.Evidence{Source: rewards.NotInList, Now: w.now()}
	older, oldest := 0, w.newest
	for _, o := range sent {
		switch {
		case w.newest-o.Number < listedOrders:
			listed = append(listed, o)
			continue
		case o.Next(e).Kind == rewards.StepLookUp:
			alone = append(alone, o)
		}
		older, oldest = older+1, min(oldest, o.Number)
	}
	if perRequest*int64(older) >= w.newest-oldest {
		return sent, nil
	}
	return listed, alone
}

func (w *Worker) pollListed(ctx context.Context, sent []rewards.Order, clock rewards.MarketClock) error {
	oldest := w.now()
	for _, o := range sent {
		refused := o.State == rewards.OrderSubmitted && !o.Ambiguous() // the list cannot have it
		if o.FirstAttemptAt.Before(oldest) && !refused {
			oldest = o.FirstAttemptAt
		}
	}
	ahead := clock.Now.Sub(w.now())
	listed, err := w.orders(ctx, oldest.Add(ahead-pollSlack))
	if err != nil {
		return err
	}
	reports := make(map[string]rewards.BrokerOrder, len(listed))
	for _, b := range listed {
		reports[b.ClientOrderID] = b
	}
	errs := []error{w.compareListed(ctx, listed, sent, clock)}
	for _, o := range sent {
		w.heartbeat()
		e := rewards.Evidence{Source: rewards.NotInList, Clock: clock}
		if b, found := reports[o.ClientOrderID]; found {
			e.Source, e.Report = rewards.FromList, b
		}
		err := w.advance(ctx, o, e)
		errs = append(errs, err)
		if errors.Is(err, rewards.ErrLostLease) {
			break
		}
	}
	return errors.Join(errs...)
}
