package fulfillment

import (
	"context"
	"errors"

	"stockrewards/internal/rewards"
)

// send sends an order unless a brake forbids it. The brakes and the market's hours are read right before the send. Only
// a new order waits until there is room in the rate limit. The others have just been looked up: they queue, or look-ups
// would take all the room.
func (w *Worker) send(ctx context.Context, o rewards.Order) error {
	braked := len(w.flights) >= maxFlights || o.State == rewards.OrderPlanned && !w.broker.Ready() || w.stops(o)
	clock, err := w.clock(ctx)
	if err == nil && !braked && clock.CanJump && w.actions.announced(o.AssetID) { // maybe over the date of the action
		clock, err = ask(ctx, w, w.market.ClockNow) // the order waits for its turn after this call
	}
	if err == nil && !braked {
		braked, err = w.braked(ctx, o.AssetID, clock)
	}
	if err != nil {
		return err
	}
	if braked {
		return w.advance(ctx, o, rewards.Evidence{Source: rewards.FromBrakes})
	}
	return w.attempt(ctx, o, clock)
}

// braked reports whether no order for the asset may be sent now.
func (w *Worker) braked(ctx context.Context, id rewards.AssetID, clock rewards.MarketClock) (bool, error) {
	if !clock.Open {
		return true, nil
	}
	control, err := w.store.Control(ctx)
	if err != nil || control.Stopped() {
		return true, err
	}
	return w.holds(ctx, id, clock)
}

// attempt sends an order. The attempt is durable before the first byte leaves, in a transaction
// that proves the lease: a process that has lost the lease sends nothing.
func (w *Worker) attempt(ctx context.Context, o rewards.Order, clock rewards.MarketClock) error {
	first := !o.Ambiguous() // every earlier attempt was refused, or never left
	if err := errors.Join(w.stillLeads(ctx), ctx.Err()); err != nil {
		return err
	}
	next := w.now().Add(rewards.Backoff(o.Attempts + 1))
	from := o.State
	o, err := w.store.BeginAttempt(ctx, w.lease, o, next, clock.NextClose)
	if err != nil {
		return err
	}
	w.entered(from, o.State)
	if !w.lease.Held(w.now()) {
		return nil // the order is looked up before it is sent again
	}
	ctx = context.WithoutCancel(ctx) // a send that began is completed, so that its outcome is known
	e := rewards.Evidence{Source: rewards.FromSend, First: first, Clock: clock}
	return w.dispatch(ctx, o, e, func(ctx context.Context) (rewards.BrokerOrder, bool, error) {
		b, err := w.broker.Submit(ctx, o.Request())
		return b, true, err
	})
}
