package fulfillment_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/rewards"
)

// killer ends a worker at the n-th of its effects: before it takes place or after,
// as kill -9 would. Nothing of the worker runs afterwards.
type killer struct {
	left  int
	after bool
	dead  bool
}

var errKilled = errors.New("killed")

// do runs an effect unless the worker is dead, or dies at it.
func (k *killer) do(effect func() error) error {
	if k.dead {
		return errKilled
	}
	k.left--
	if k.left > 0 {
		return effect()
	}
	k.dead = true
	if k.after {
		_ = effect()
	}
	return errKilled
}

type mortalStore struct {
	fulfillment.Store
	k *killer
}

func (m mortalStore) TakeLease(ctx context.Context, holder string, ttl time.Duration, force bool) (l rewards.Lease, err error) {
	err = m.k.do(func() error { l, err = m.Store.TakeLease(ctx, holder, ttl, force); return err })
	return l, err
}

func (m mortalStore) PlanOrder(ctx context.Context, l rewards.Lease, r rewards.PlanRequest) (o rewards.Order, h rewards.Hold, err error) {
	err = m.k.do(func() error { o, h, err = m.Store.PlanOrder(ctx, l, r); return err })
	return o, h, err
}

func (m mortalStore) BeginAttempt(ctx context.Context, l rewards.Lease, o rewards.Order, next, deadline time.Time) (got rewards.Order, err error) {
	err = m.k.do(func() error { got, err = m.Store.BeginAttempt(ctx, l, o, next, deadline); return err })
	return got, err
}

func (m mortalStore) SaveOrder(ctx context.Context, l rewards.Lease, from rewards.OrderState, o rewards.Order) error {
	return m.k.do(func() error { return m.Store.SaveOrder(ctx, l, from, o) })
}

func (m mortalStore) SettleOrder(
	ctx context.Context, l rewards.Lease, from rewards.OrderState, o rewards.Order,
	book func([]rewards.Claim) (rewards.Settlement, error),
) error {
	return m.k.do(func() error { return m.Store.SettleOrder(ctx, l, from, o, book) })
}

func (m mortalStore) SaveReconciliation(ctx context.Context, found []rewards.BrokerConflict, until time.Time) error {
	return m.k.do(func() error { return m.Store.SaveReconciliation(ctx, found, until) })
}

type mortalBroker struct {
	fulfillment.Broker
	k *killer
}

func (m mortalBroker) Submit(ctx context.Context, r rewards.OrderRequest) (b rewards.BrokerOrder, err error) {
	err = m.k.do(func() error { b, err = m.Broker.Submit(ctx, r); return err })
	return b, err
}

func (m mortalBroker) Orders(ctx context.Context, after time.Time) (list []rewards.BrokerOrder, err error) {
	err = m.k.do(func() error { list, err = m.Broker.Orders(ctx, after); return err })
	return list, err
}

func (m mortalBroker) OrderByClientID(ctx context.Context, id string) (b rewards.BrokerOrder, err error) {
	err = m.k.do(func() error { b, err = m.Broker.OrderByClientID(ctx, id); return err })
	return b, err
}

// lifecycles are the ways of an order that the worker is killed on. Each gives
// and sets the wire up, and returns what must be executed in the end.
func lifecycles() map[string]func(w *world) []rewards.Reward {
	return map[string]func(w *world) []rewards.Reward{
		"success": func(w *world) []rewards.Reward {
			return []rewards.Reward{w.give("AAPL", 5_000_000), w.give("AAPL", 333_333)}
		},
		"lost request": func(w *world) []rewards.Reward {
			w.wire.fault = once(isSubmit, loseRequest)
			return []rewards.Reward{w.give("AAPL", 5_000_000)}
		},
		"lost answer": func(w *world) []rewards.Reward {
			w.wire.fault = once(isSubmit, loseAnswer)
			return []rewards.Reward{w.give("AAPL", 5_000_000)}
		},
	}
}

// A worker killed at any effect, before it or after, and started anew: everything
// is executed, bought once, and booked as the brokerage's own books tell.
func TestKilledAtEveryEffect(t *testing.T) {
	t.Parallel()
	for name, lifecycle := range lifecycles() {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " after=", after), func(t *testing.T) {
				t.Parallel()
				const most = 200
				patience := time.Duration(0)
				if name == "lost answer" { // also when a step goes on without an answer
					patience = 200 * time.Millisecond
				}
				for n := 1; n < most; n++ {
					died := false
					inWorld(t, func(t *testing.T, w *world) {
						k := &killer{left: n, after: after}
						w.cfg.Patience = patience
						w.restart(
							func(s fulfillment.Store) fulfillment.Store { return mortalStore{s, k} },
							func(b fulfillment.Broker) fulfillment.Broker { return mortalBroker{b, k} })
						given := lifecycle(w)
						w.run(4 * time.Second)
						died = k.dead
						w.restart(nil, nil)
						w.finish(given, 2*time.Minute)
						for _, r := range given {
							w.want(r, rewards.Executed)
						}
						if orders := len(w.orders()); orders != 1 {
							t.Errorf("killed at effect %d: %d orders, want one", n, orders)
						}
						w.witness()
					})
					if !died || t.Failed() {
						if !died && n < 6 {
							t.Errorf("only %d effects were reached", n)
						}
						return
					}
				}
			})
		}
	}
}

// A leader that froze right before its send and wakes up after another one has
// taken over does no harm.
func TestAFrozenLeaderDoesNoHarm(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.cfg.Exclusive = false
		frozen := w.worker
		w.restart(nil, nil)
		other := w.worker
		r := w.give("AAPL", 5_000_000)
		freeze := func(_ *http.Request, carry carrier) (*http.Response, error) {
			w.wire.fault = nil
			w.worker = other
			w.run(3 * time.Minute) // the lease runs out, the other one leads and buys
			w.want(r, rewards.Executed)
			return carry() // wakes up and sends
		}
		w.wire.fault = once(isSubmit, freeze)
		w.worker = frozen
		w.run(3 * time.Second)
		w.run(3 * time.Second)
		w.want(r, rewards.Executed)
		if n := len(w.orders()); n != 1 {
			t.Errorf("%d orders, want one", n)
		}
		w.witness()
	})
}
