package fulfillment

import (
	"context"
	"errors"
	"log/slog"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// advance carries out the steps of an order that follow from evidence about it.
// rewards.Order.Next decides them.
func (w *Worker) advance(ctx context.Context, o rewards.Order, e rewards.Evidence) error {
	e.Now, e.Levels = w.now(), w.market.Levels(o.AssetID)
	for {
		switch step := o.Next(e); step.Kind {
		case rewards.StepLookUp:
			return w.lookUp(ctx, o, e)
		case rewards.StepReadPrice:
			w.report(ctx, "the price of "+o.Symbol, w.market.Refresh(ctx))
			e.Levels, e.Fresh = append(e.Levels, w.market.Levels(o.AssetID)...), true
		case rewards.StepSend:
			return w.send(ctx, o, e.Clock)
		case rewards.StepSave:
			return w.save(ctx, o, step.Order)
		case rewards.StepSettle:
			return w.settle(ctx, o, step.Order)
		case rewards.StepRefuse:
			return w.book(ctx, o, func(claims []rewards.Claim, _ money.Shares) (rewards.Settlement, error) {
				return rewards.Refuse(claims, step.Reason)
			})
		default:
			return nil
		}
	}
}

// lookUp reads an order at the broker. What it finds is evidence in its turn.
func (w *Worker) lookUp(ctx context.Context, o rewards.Order, e rewards.Evidence) error {
	if len(w.flights) >= maxFlights {
		return nil // the next poll looks it up
	}
	e.Source = e.Source.LookUp()
	return w.dispatch(ctx, o, e, func(within context.Context) (rewards.BrokerOrder, bool, error) {
		b, err := w.broker.OrderByClientID(within, o.ClientOrderID)
		return b, err == nil || ctx.Err() == nil, err // the end of this process says nothing about the order
	})
}

// save stores an order. A change of the next attempt's time alone is not logged.
func (w *Worker) save(ctx context.Context, before, after rewards.Order) error {
	if err := w.store.SaveOrder(ctx, w.lease, before.State, after); err != nil {
		return err
	}
	w.entered(before.State, after.State)
	w.alarms.raiseOrder(after)
	if before.NextAttemptAt = after.NextAttemptAt; before != after {
		w.logOrder(ctx, "order", after)
	}
	return nil
}

// settle books the fill of an order.
func (w *Worker) settle(ctx context.Context, before, after rewards.Order) error {
	if before.State == rewards.OrderSubmitted { // it is open first
		if err := w.save(ctx, before, after); err != nil {
			return err
		}
	}
	return w.book(ctx, after, func(claims []rewards.Claim, house money.Shares) (rewards.Settlement, error) {
		return rewards.Settle(after, claims, house, w.now())
	})
}

// book stores the end of an order as decide says.
func (w *Worker) book(
	ctx context.Context, o rewards.Order, decide rewards.Booker,
) error {
	var booked rewards.Settlement
	record := func(claims []rewards.Claim, house money.Shares) (_ rewards.Settlement, err error) {
		booked, err = decide(claims, house)
		return booked, err
	}
	err := w.store.SettleOrder(ctx, w.lease, o.State, o, record)
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
		return w.advance(ctx, o, rewards.Evidence{Source: rewards.FromBooking, Err: err})
	}
}

// passes reports whether a failed write says nothing about the order; it will be retried.
func passes(err error) bool {
	return errors.Is(err, rewards.ErrLostLease) || errors.Is(err, rewards.ErrStale) ||
		errors.Is(err, context.Canceled) || rewards.CodeOf(err) == rewards.CodeUnavailable
}

func (w *Worker) logOrder(ctx context.Context, event string, o rewards.Order) {
	if o.State == rewards.OrderQuarantined {
		event = "order quarantined"
	}
	w.log.InfoContext(ctx, "order event", slog.String("event", event),
		slog.String("order", o.ID.String()), slog.String("client_order_id", o.ClientOrderID),
		slog.String("symbol", o.Symbol), slog.String("notional", o.Notional.String()),
		slog.String("state", o.State.String()), slog.String("broker_status", o.BrokerStatus),
		slog.String("filled_qty", o.FilledQty.String()), slog.Int("attempts", o.Attempts),
		slog.String("reason", o.Reason))
}
