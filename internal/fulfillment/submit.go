package fulfillment

import (
	"context"
	"errors"
	"time"

	"stockrewards/internal/rewards"
)

// resend sends an order whose fate is unknown once more, with the same id, when
// the brakes allow it.
func (w *Worker) resend(ctx context.Context, o rewards.Order, clock rewards.MarketClock) error {
	control, err := w.store.Control(ctx)
	if err != nil {
		return err
	}
	if control.Stopped() || !clock.Open || !w.ready() {
		return w.postpone(ctx, o, "")
	}
	if held, err := w.holds(ctx, o.AssetID, clock); err != nil || held {
		return errors.Join(err, w.postpone(ctx, o, ""))
	}
	return w.send(ctx, o, clock)
}

// send sends an order. The attempt is durable before the first byte goes out, in a
// transaction that proves the lease, so that another process which leads by then
// has voided it.
func (w *Worker) send(ctx context.Context, o rewards.Order, clock rewards.MarketClock) error {
	sure := !o.Ambiguous() // every earlier attempt was refused, or never left
	if leads, err := w.lead(ctx); !leads || ctx.Err() != nil {
		return errors.Join(err, ctx.Err()) // a long wait before this, or the end of the process
	}
	next := w.now().Add(rewards.Backoff(o.Attempts + 1))
	from := o.State
	o, err := w.store.BeginAttempt(ctx, w.lease, o, next, clock.NextClose)
	if err != nil {
		return err
	}
	w.entered(from, o.State)
	if !w.lease.Held(w.now()) {
		return nil // the next step leads again or not; the order is looked for first
	}
	return w.fly(ctx, flight{order: o, sure: sure, clock: clock, lease: w.lease, answer: make(chan answer, 1)})
}

// unanswered does what follows when the broker did not answer a send with the order.
func (w *Worker) unanswered(ctx context.Context, f flight, err error) error {
	o, sure := f.order, f.sure
	switch rewards.BrokerKindOf(err) {
	case rewards.BrokerDuplicate:
		return w.adopt(ctx, o)
	case rewards.BrokerRefused:
		if sure {
			return w.refuse(ctx, o, refusal(err))
		}
		return w.note(ctx, o, refusal(err))
	case rewards.BrokerWait:
		if sure {
			o = o.Unambiguous() // it is certain that nothing was bought so far
			if lasting(err) {
				o = o.RefusedFor(f.clock.NextClose)
			}
		}
		return w.note(ctx, o, refusal(err))
	case rewards.BrokerUnknown, rewards.BrokerNotFound:
	}
	return w.note(ctx, o, "the outcome of the last attempt is unknown: "+err.Error())
}

// lasting reports whether a refusal that can pass is one that nothing but a change at the
// broker ends.
func lasting(err error) bool {
	e, ok := errors.AsType[*rewards.BrokerError](err)
	return ok && e.Lasting
}

// sendPatience bounds a send, and what follows from its answer.
const sendPatience = 15 * time.Second

// adopt fetches an order that the broker says it has already.
func (w *Worker) adopt(ctx context.Context, o rewards.Order) error {
	b, err := w.broker.OrderByClientID(ctx, o.ClientOrderID)
	if err != nil {
		return w.note(ctx, o, "the broker has the order but does not show it yet")
	}
	return w.merge(ctx, o, b)
}

// note stores why a sent order is not open yet.
func (w *Worker) note(ctx context.Context, o rewards.Order, reason string) error {
	if reason != "" || !o.Ambiguous() {
		o.Reason = reason
	}
	if o.Reason != "" {
		w.alarms.raise(rewards.AlarmOrderWaits+o.ID.String(), o.Symbol+": "+o.Reason)
	}
	return w.save(ctx, o, o)
}

// refusal is a broker's refusal as a failure reason: "<stable_code>: <text>"; ""
// when the request never left.
func refusal(err error) string {
	e, ok := errors.AsType[*rewards.BrokerError](err)
	if !ok {
		return "order_refused: " + err.Error()
	}
	if e.Code == rewards.NotSent {
		return "" // nothing to worry about
	}
	code := e.Code
	if code == "" {
		code = "order_refused"
	}
	return code + ": " + e.Message
}
