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

// freezing is a store that freezes before it looks up orders, once.
type freezing struct {
	*store.Operator

	freeze func()
}

func (s freezing) OrdersByClientID(ctx context.Context, ids []string) (map[string]rewards.Order, error) {
	s.freeze()
	return s.Operator.OrdersByClientID(ctx, ids)
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
		w.restartWith(freezing{w.store, sync.OnceFunc(func() {
			time.Sleep(w.cfg.LeaseTTL + time.Second)
			w.run(10 * time.Second)
			w.want(r, rewards.Executed)
		})}, newClient(w.wire))
		former := w.worker
		w.cfg.Exclusive = false
		w.restartWith(w.store, newClient(w.wire))
		former.Step(w.t.Context())
		w.want(r, rewards.Executed) // it was frozen
		if c, err := w.store.Control(w.t.Context()); err != nil || c.Conflicts > 0 {
			w.t.Errorf("%d conflicts, %v", c.Conflicts, err)
		}
	})
}

// repeating is a broker that lists each order 3,000 times.
type repeating struct{ fulfillment.Broker }

func (b repeating) Orders(
	ctx context.Context, after time.Time, between func(context.Context) error,
) ([]rewards.BrokerOrder, error) {
	list, err := b.Broker.Orders(ctx, after, between)
	return slices.Repeat(list, 3000), err
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
		w.cfg.Exclusive, w.cfg.LeaseTTL = false, 6*time.Second
		ctx, cancel := context.WithCancel(w.t.Context())
		var running sync.WaitGroup
		for range 2 {
			w.restartWith(slow{w.store}, repeating{newClient(w.wire)})
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
