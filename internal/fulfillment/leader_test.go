package fulfillment_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// listing is a broker whose lists of orders a test sees, and may change.
type listing struct {
	fulfillment.Broker

	listed func([]rewards.BrokerOrder) []rewards.BrokerOrder
}

func (b *listing) Orders(
	ctx context.Context, after time.Time, between func(context.Context) error,
) ([]rewards.BrokerOrder, error) {
	list, err := b.Broker.Orders(ctx, after, between)
	return b.listed(list), err
}

// A leader that freezes while it compares, and loses its lease, stores no conflict: the next leader has booked what it
// found missing.
func TestAFormerLeaderFindsNoConflict(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		r := w.give("AAPL", 5*usd)
		time.Sleep(1100 * time.Millisecond)
		w.worker.Step(w.t.Context())
		w.want(r, rewards.Executing)
		frozen := &listing{Broker: newClient(w.wire)}
		w.restartWith(w.store, frozen)
		former := w.worker
		w.cfg.Exclusive = false
		w.restartWith(w.store, newClient(w.wire))
		freeze := sync.OnceFunc(func() {
			time.Sleep(w.cfg.LeaseTTL + time.Second)
			w.run(10 * time.Second)
			w.want(r, rewards.Executed)
		})
		frozen.listed = func(list []rewards.BrokerOrder) []rewards.BrokerOrder {
			if len(list) > 0 {
				freeze()
			}
			return list
		}
		former.Step(w.t.Context())
		if c, err := w.store.Control(w.t.Context()); err != nil || c.Conflicts > 0 {
			w.t.Errorf("%d conflicts, %v", c.Conflicts, err)
		}
	})
}

// slow takes 4 ms to look up an order.
type slow struct{ *store.Operator }

func (s slow) OrdersByClientID(ctx context.Context, ids []string) (map[string]rewards.Order, error) {
	time.Sleep(time.Duration(len(ids)) * 4 * time.Millisecond)
	return s.Operator.OrdersByClientID(ctx, ids)
}

// A comparison that takes longer than a lease does not keep a fleet from ordering.
func TestALongComparisonKeepsTheLease(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.give("AAPL", 5*usd)
		w.run(10 * time.Second)
		many := func(list []rewards.BrokerOrder) []rewards.BrokerOrder { return slices.Repeat(list, 3000) }
		w.cfg.Exclusive, w.cfg.LeaseTTL = false, 6*time.Second
		ctx, cancel := context.WithCancel(w.t.Context())
		var running sync.WaitGroup
		for range 2 {
			w.restartWith(slow{w.store}, &listing{newClient(w.wire), many})
			worker := w.worker
			running.Go(func() { worker.Run(ctx) })
		}
		second := w.give("KO", 5*usd)
		time.Sleep(5 * time.Minute)
		cancel()
		running.Wait()
		w.want(second, rewards.Executed)
	})
}

// failing is a store of which some calls fail.
type failing struct {
	*store.Operator

	live, brakes int // how many calls fail
}

func (s *failing) LiveOrders(ctx context.Context) ([]rewards.Order, error) {
	s.live--
	if s.live >= 0 {
		return nil, rewards.Unavailable("the database is busy", nil)
	}
	return s.Operator.LiveOrders(ctx)
}

func (s *failing) SaveBrakes(ctx context.Context, l rewards.Lease, b rewards.Brakes) error {
	s.brakes--
	if s.brakes >= 0 {
		return rewards.Unavailable("the database is busy", nil)
	}
	return s.Operator.SaveBrakes(ctx, l, b)
}

// A step that could not look at everything ends no alarm.
func TestAFailedStepEndsNoAlarm(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.pause("maintenance")
		s := &failing{Operator: w.store}
		w.restartWith(s, newClient(w.wire))
		w.worker.Step(w.t.Context())
		w.wantAlarm(rewards.AlarmPaused, true)
		s.live = 1
		w.worker.Step(w.t.Context())
		w.wantAlarm(rewards.AlarmPaused, true)
		w.pause("")
		w.worker.Step(w.t.Context())
		w.wantAlarm(rewards.AlarmPaused, false)
	})
}

// A new leader stores its brakes, also when that fails at first.
func TestBrakesAreStoredAfterAFailure(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		s := &failing{Operator: w.store, brakes: 2}
		w.restartWith(s, newClient(w.wire))
		w.run(5 * time.Second)
		if s.brakes >= 0 {
			w.t.Errorf("%d calls are left that fail", s.brakes)
		}
	})
}
