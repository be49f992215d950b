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

// killer ends a worker at the n-th of its effects, before it takes place or after, as kill -9
// would. Nothing of the worker runs afterwards.
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

// A worker killed before or after any effect and restarted executes everything, with one order.
// Package sim does the same with every fault at every effect.
func TestKilledAtEveryEffect(t *testing.T) {
	t.Parallel()
	for name, setUp := range map[string]func(w *world){
		"success":     func(*world) {},
		"lost answer": func(w *world) { patient(w); w.wire.fault = sends(loseAnswer) },
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " after=", after), func(t *testing.T) {
				t.Parallel()
				died := true
				for n := 1; died && !t.Failed(); n++ {
					inWorld(t, func(w *world) {
						setUp(w)
						k := &killer{left: n, after: after}
						w.restartWith(mortalStore{w.store, k}, mortalBroker{newClient(w.wire), k})
						given := []rewards.Reward{w.give("AAPL", 5*usd), w.give("AAPL", 333_333)}
						w.run(4 * time.Second)
						if died = k.dead; !died {
							if n < 6 {
								w.t.Errorf("only %d effects were reached", n)
							}
							return
						}
						w.restart()
						w.run(8 * time.Second)
						w.wantAll(rewards.Executed, given...)
						w.wantBalanced(1)
					})
				}
			})
		}
	}
}

// A leader that freezes before its send and wakes up after another one has taken over does no harm.
func TestAFrozenLeaderDoesNoHarm(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.cfg.Exclusive = false
		frozen := w.worker
		w.restart()
		other := w.worker
		r := w.give("AAPL", 5*usd)
		w.wire.fault = sends(func(_ *http.Request, carry carrier) (*http.Response, error) {
			w.worker = other
			time.Sleep(time.Minute) // the lease expires
			w.run(5 * time.Second)  // the other one leads and buys
			w.want(r, rewards.Executed)
			return carry() // wakes up and sends
		})
		w.worker = frozen
		w.wantAfter(6*time.Second, r, rewards.Executed)
		w.wantBalanced(1)
	})
}
