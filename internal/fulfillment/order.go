package fulfillment

import (
	"context"
	"errors"
	"log/slog"

	"stockrewards/internal/rewards"
)

// advance carries out the steps of an order that follow from evidence about it. rewards.Order.Next
// decides them. An end is only noted: bookEnds books it.
func (w *Worker) advance(ctx context.Context, o rewards.Order, e rewards.Evidence) error {
	e.Now = w.now()
	e.Priced.Since, e.Priced.Waited = w.farSince(o, e.Now)
	e.Priced.At = w.market.PricedAt(o.AssetID)
	e.Levels = w.market.Levels(o.AssetID)
	for {
		switch step := o.Next(e); step.Kind {
		case rewards.StepLookUp:
			return w.lookUp(ctx, o, e)
		case rewards.StepReadPrice:
			w.readPrices(ctx, "the price of "+o.Symbol)
			e.Priced.At, e.Priced.Asked = w.market.PricedAt(o.AssetID), true
			e.Levels = append(e.Levels, w.market.Levels(o.AssetID)...)
		case rewards.StepSend:
			return w.send(ctx, o)
		case rewards.StepSave:
			return w.save(ctx, o, step.Order)
		case rewards.StepSettle:
			w.settle(o, step.Order)
			return nil
		case rewards.StepRefuse:
			w.refuse(o, step.Reason)
			return nil
		default:
			return nil
		}
	}
}

// lookUp reads an order at the broker. What it finds is evidence in its turn. Without room in the rate limit the next
// poll looks it up: an order that is not found must be sent again, which takes a request too.
func (w *Worker) lookUp(ctx context.Context, o rewards.Order, e rewards.Evidence) error {
	if !w.ready() {
		return nil
	}
	e.Source = e.Source.LookUp()
	return w.dispatch(ctx, o, e, func(within context.Context) (rewards.BrokerOrder, bool, error) {
		b, err := w.broker.OrderByClientID(within, o.ClientOrderID)
		return b, err == nil || ctx.Err() == nil, err // the end of this process says nothing about the order
	})
}

// save stores an order.
func (w *Worker) save(ctx context.Context, before, after rewards.Order) error {
	if err := w.store.SaveOrder(ctx, w.lease, before.State, after); err != nil {
		return err
	}
	w.saved(ctx, before, after)
	return nil
}

// saved reports an order that was stored. A change of the next attempt's time alone is not logged.
func (w *Worker) saved(ctx context.Context, before, after rewards.Order) {
	w.entered(before.State, after.State)
	w.noteBrake(after)
	w.alarms.raiseOrder(after, w.now())
	if before.NextAttemptAt = after.NextAttemptAt; before != after {
		w.logOrder(ctx, "order", after)
	}
}

// fails reports whether a write failed for every order, not because of one.
func fails(err error) bool {
	return errors.Is(err, rewards.ErrLostLease) || errors.Is(err, context.Canceled) ||
		rewards.CodeOf(err) == rewards.CodeUnavailable
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
