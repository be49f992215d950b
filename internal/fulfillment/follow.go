package fulfillment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stockrewards/internal/rewards"
)

// follow takes the orders that were sent forward: asks the broker how they stand,
// books those that ended, looks for those whose fate is unknown.
func (w *Worker) follow(ctx context.Context, live []rewards.Order) (time.Duration, error) {
	w.alarms.orderAlarms(live)
	var errs []error
	sent := make([]rewards.Order, 0, len(live))
	for _, o := range live {
		w.move()
		if w.flying(o) {
			continue // its answer comes first
		}
		switch o.State {
		case rewards.OrderResolved:
			errs = append(errs, w.settle(ctx, rewards.OrderResolved, o))
		case rewards.OrderSubmitted, rewards.OrderOpen:
			sent = append(sent, o)
		case rewards.OrderPlanned, rewards.OrderQuarantined, rewards.OrderSettled, rewards.OrderRefused:
		}
	}
	if len(sent) == 0 {
		return idleWait, errors.Join(errs...)
	}
	if wait := w.nextPoll.Sub(w.now()); wait > 0 && wait <= closedPoll {
		if w.unwatched != "" {
			w.alarms.raise(rewards.AlarmOrdersUnknown, w.unwatched)
		}
		return wait, errors.Join(errs...)
	}
	pause := w.cfg.PollEvery
	clock, err := w.market.Clock(ctx)
	if err == nil {
		err = w.poll(ctx, sent, clock)
	}
	if w.unwatched = ""; err != nil {
		w.unwatched = "open orders could not be looked at: " + err.Error()
		w.alarms.raise(rewards.AlarmOrdersUnknown, w.unwatched)
	}
	if !clock.Open {
		pause = max(pause, closedPoll) // little happens
	}
	w.nextPoll = w.now().Add(pause)
	return pause, errors.Join(append(errs, err)...)
}

// closedPoll is how often orders are looked at while the market is closed, or when
// the broker does not tell.
const closedPoll = 5 * time.Second

// pollSlack is taken off the moment of the oldest send when the broker's orders
// are listed: its clock and its queue may differ.
const pollSlack = time.Minute

// poll asks the broker by one list how all sent orders stand.
func (w *Worker) poll(ctx context.Context, sent []rewards.Order, clock rewards.MarketClock) error {
	oldest := w.now()
	for _, o := range sent {
		refused := o.State == rewards.OrderSubmitted && !o.Ambiguous() // it is not there: its look-up will do
		if o.FirstAttemptAt.Before(oldest) && !refused {
			oldest = o.FirstAttemptAt
		}
	}
	ahead := clock.Now.Sub(w.now())
	listed, err := w.broker.Orders(ctx, oldest.Add(ahead-pollSlack))
	if err != nil {
		return err
	}
	known := make(map[string]rewards.BrokerOrder, len(listed))
	for _, b := range listed {
		known[b.ClientOrderID] = b
	}
	errs := []error{w.compareListed(ctx, listed, sent, clock)}
	for _, o := range sent {
		w.move()
		b, found := known[o.ClientOrderID]
		switch {
		case found:
			err = w.merge(ctx, o, b)
		case w.due(o):
			err = w.search(ctx, o, clock)
		default:
			err = nil
		}
		if errors.Is(err, rewards.ErrLostLease) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// due tells whether the time to look for an order has come; a moment further ahead than any
// pause was stored while the clock was ahead.
func (w *Worker) due(o rewards.Order) bool {
	wait := o.NextAttemptAt.Sub(w.now())
	return wait <= 0 || wait > rewards.MaxBackoff
}

// merge takes the broker's word on an order, and books it when its end is proven.
func (w *Worker) merge(ctx context.Context, o rewards.Order, b rewards.BrokerOrder) error {
	now := w.now()
	levels := w.market.Levels(o.AssetID)
	merged, err := o.Merge(b, now, levels...)
	if errors.Is(err, rewards.ErrFarPrice) { // the stored price may be old: look once more
		w.report(ctx, "the price of "+o.Symbol, w.market.Refresh(ctx))
		merged, err = o.Merge(b, now, append(levels, w.market.Levels(o.AssetID)...)...)
	}
	if err != nil {
		return w.quarantine(ctx, o, err.Error())
	}
	merged = merged.Unambiguous() // known and found
	merged.Reason = ""
	if merged.Proven(now) {
		if o.State == rewards.OrderSubmitted {
			if err := w.save(ctx, o, merged); err != nil {
				return err
			}
		}
		return w.settle(ctx, rewards.OrderOpen, merged)
	}
	if merged == o {
		return nil
	}
	return w.save(ctx, o, merged)
}

func (w *Worker) save(ctx context.Context, before, after rewards.Order) error {
	if err := w.store.SaveOrder(ctx, w.lease, before.State, after); err != nil {
		return err
	}
	w.entered(before.State, after.State)
	w.logOrder(ctx, "order", after)
	return nil
}

// search looks for an order that the list did not show: it may never have arrived,
// or it may appear later.
func (w *Worker) search(ctx context.Context, o rewards.Order, clock rewards.MarketClock) error {
	b, err := w.broker.OrderByClientID(ctx, o.ClientOrderID)
	switch {
	case err == nil:
		return w.merge(ctx, o, b)
	case ctx.Err() != nil:
		return ctx.Err() // this process ends: that says nothing about the broker
	case o.Lost(clock.Now):
		return w.quarantine(ctx, o, "not found at the broker after the close of the session; it may have been bought")
	case rewards.BrokerKindOf(err) != rewards.BrokerNotFound:
		return w.postpone(ctx, o, "the broker could not be asked about it: "+err.Error())
	case o.State == rewards.OrderOpen:
		return w.postpone(ctx, o.AmbiguousUntil(clock.NextClose), "the broker had the order and does not find it now")
	case o.RefusedTooOften(clock.Now):
		return w.quarantine(ctx, o, fmt.Sprintf("the broker refused it in %d sessions, and nothing was bought: %s",
			o.RefusedSessions, o.Reason))
	}
	return w.resend(ctx, o, clock)
}

// postpone looks again after a pause.
func (w *Worker) postpone(ctx context.Context, o rewards.Order, reason string) error {
	before := o
	o.NextAttemptAt = w.now().Add(rewards.Backoff(o.Attempts))
	if reason != "" {
		o.Reason = reason
	}
	return w.store.SaveOrder(ctx, w.lease, before.State, o)
}

// settle books the end of an order. What cannot be booked is quarantined.
func (w *Worker) settle(ctx context.Context, from rewards.OrderState, o rewards.Order) error {
	return w.book(ctx, from, o, func(claims []rewards.Claim) (rewards.Settlement, error) {
		return rewards.Settle(o, claims, w.now())
	})
}

// refuse fails the rewards of an order that was refused for good.
func (w *Worker) refuse(ctx context.Context, o rewards.Order, reason string) error {
	return w.book(ctx, o.State, o, func(claims []rewards.Claim) (rewards.Settlement, error) {
		return rewards.Refuse(claims, reason)
	})
}

// book stores the end of an order as decide says.
func (w *Worker) book(
	ctx context.Context, from rewards.OrderState, o rewards.Order,
	decide func([]rewards.Claim) (rewards.Settlement, error),
) error {
	var booked rewards.Settlement
	err := w.store.SettleOrder(ctx, w.lease, from, o, func(claims []rewards.Claim) (s rewards.Settlement, err error) {
		booked, err = decide(claims)
		return booked, err
	})
	switch {
	case err == nil:
		w.ended(booked)
		o.State, o.Reason, o.HouseShares = booked.State, booked.Reason, booked.HouseShares
		w.logOrder(ctx, "order booked", o)
		w.Nudge() // what was not bought waits for the next order
		return nil
	case passes(err):
		return err
	default:
		o.State = from
		return w.quarantine(ctx, o, "it cannot be booked: "+err.Error())
	}
}

// passes tells whether an error says nothing about the order: it is tried again.
func passes(err error) bool {
	return errors.Is(err, rewards.ErrLostLease) || errors.Is(err, rewards.ErrStale) ||
		errors.Is(err, context.Canceled) || rewards.CodeOf(err) == rewards.CodeUnavailable
}

// quarantine stops an order, and the planning of its asset, for an operator.
func (w *Worker) quarantine(ctx context.Context, o rewards.Order, reason string) error {
	from := o.State
	o.State, o.Reason = rewards.OrderQuarantined, reason
	if err := w.store.SaveOrder(ctx, w.lease, from, o); err != nil {
		return err
	}
	w.entered(from, o.State)
	w.alarms.raise(rewards.AlarmOrderQuarantined+o.ID.String(), o.Symbol+": "+reason)
	w.logOrder(ctx, "order quarantined", o)
	return nil
}

func (w *Worker) logOrder(ctx context.Context, what string, o rewards.Order) {
	w.log.InfoContext(ctx, "order event", slog.String("event", what),
		slog.String("order", o.ID.String()), slog.String("client_order_id", o.ClientOrderID),
		slog.String("symbol", o.Symbol), slog.String("notional", o.Notional.String()),
		slog.String("state", o.State.String()), slog.String("broker_status", o.BrokerStatus),
		slog.String("filled_qty", o.FilledQty.String()), slog.Int("attempts", o.Attempts),
		slog.String("reason", o.Reason))
}
