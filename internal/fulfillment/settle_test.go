package fulfillment_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	shared "stockrewards/test/world"
)

// booked are the two ways to book: within a step, and beside the steps.
var booked = map[string]bool{"in steps": false, "beside": true}

// halfBought is a store where an earlier order bought a part of an award of KO, whose order was then
// rejected.
type halfBought struct {
	fulfillment.Store
	most *int // orders in one transaction
}

func (s halfBought) SettleOrders(ctx context.Context, l rewards.Lease, list ...rewards.OrderEnd) (int, error) {
	for i := range list {
		if list[i].Order.Symbol == "KO" {
			list[i].Book = func([]rewards.Claim, money.Shares) (rewards.Settlement, error) {
				return rewards.Settlement{}, rewards.ErrHalfBought
			}
		}
	}
	*s.most = max(*s.most, len(list))
	return s.Store.SettleOrders(ctx, l, list...)
}

// An order that cannot be booked is quarantined; those that would have shared its transaction are booked.
func TestAnOrderThatCannotBeBookedIsAlone(t *testing.T) {
	t.Parallel()
	inWorlds(t, booked, func(w *world, beside bool) {
		most := 0
		w.cfg.BookBeside = beside || *besideAll
		w.restartWith(halfBought{w.store, &most}, newClient(w.wire))
		apple, cola := w.give("AAPL", 5*usd), w.give("KO", 5*usd)
		w.run(5 * time.Second)
		w.want(apple, rewards.Executed)
		w.want(cola, rewards.Executing)
		if o := w.quarantined(); o.Symbol != "KO" || !strings.Contains(o.Reason, rewards.ErrHalfBought.Error()) {
			w.t.Errorf("quarantined %+v", o)
		}
		if most != 2 {
			w.t.Errorf("at most %d orders shared a transaction, want 2", most)
		}
	})
}

// A worker that is killed while it books orders together books each once.
func TestOrdersBookedTogetherSurviveKills(t *testing.T) {
	t.Parallel()
	shared.Each(t, booked, func(t *testing.T, beside bool) {
		killEach(t, func(w *world, n int, after bool) string {
			var given []rewards.Reward
			for _, symbol := range []string{"AAPL", "KO", "AAPL", "KO"} {
				given = append(given, w.giveTo(w.newUser(w.app), symbol, 3_330_001))
			}
			w.cfg.BookBeside = beside || *besideAll
			name := w.runMortal(5*time.Second, n, after)
			w.wantAll(rewards.Executed, given...)
			w.wantBalanced(2)
			return name
		}, "PlanOrder", "BeginAttempt", "SaveOrder", "SettleOrders")
	})
}

// beside makes the worker book beside its steps.
func beside(w *world) { w.cfg.BookBeside = true }

// slowBooking is a store whose bookings wait until they are let go.
type slowBooking struct {
	fulfillment.Store
	begun chan []rewards.OrderEnd
	let   chan struct{}
}

func (s slowBooking) SettleOrders(ctx context.Context, l rewards.Lease, list ...rewards.OrderEnd) (int, error) {
	s.begun <- list
	<-s.let
	return s.Store.SettleOrders(ctx, l, list...)
}

// slowBookings restarts the worker with slow bookings.
func (w *world) slowBookings() slowBooking {
	s := slowBooking{w.store, make(chan []rewards.OrderEnd, 16), make(chan struct{}, 16)}
	w.restartWith(s, newClient(w.wire))
	return s
}

// While an order is booked beside the steps, others are planned, sent and polled; the end of the one that is booked is
// seen once. Ends that come meanwhile are booked next.
func TestOrdersAreBookedBesideTheSteps(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		s := w.slowBookings()
		apple := w.give("AAPL", 5*usd)
		w.run(5 * time.Second)
		w.want(apple, rewards.Executing)
		cola := w.give("KO", 5*usd)
		w.run(5 * time.Second)
		w.want(cola, rewards.Executing)
		if first := <-s.begun; len(first) != 1 || first[0].Order.Symbol != "AAPL" || len(s.begun) > 0 {
			w.t.Errorf("%d orders are booked, the first of %s, and then %d", len(first), first[0].Order.Symbol, len(s.begun))
		}
		s.let <- struct{}{}
		w.run(2 * time.Second)
		w.want(apple, rewards.Executed)
		w.want(cola, rewards.Executing)
		if next := <-s.begun; len(next) != 1 || next[0].Order.Symbol != "KO" {
			w.t.Errorf("then %d orders are booked, the first of %s", len(next), next[0].Order.Symbol)
		}
		s.let <- struct{}{}
		w.run(2 * time.Second)
		w.wantAll(rewards.Executed, cola)
		w.wantBalanced(2)
	}, beside)
}

// A worker that is stopped while it books completes the booking, and the one that comes next, before it returns the
// lease.
func TestStoppingWaitsForTheBooking(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		s := w.slowBookings()
		apple := w.give("AAPL", 5*usd)
		stop, done := w.start()
		<-s.begun
		cola := w.give("KO", 5*usd)
		time.Sleep(5 * time.Second)
		stop()
		for range 2 {
			time.Sleep(time.Second)
			select {
			case <-done:
				w.t.Error("it returned while an order was being booked")
			default:
			}
			s.let <- struct{}{}
		}
		<-done
		w.wantAll(rewards.Executed, apple, cola)
		w.wantBalanced(2)
	}, beside)
}

// A process that was frozen while it booked books nothing once another one leads, which books the order once.
func TestTheLeaseIsLostWhileAnOrderIsBooked(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		s := w.slowBookings()
		apple := w.give("AAPL", 5*usd)
		w.run(5 * time.Second)
		<-s.begun
		frozen := w.worker
		time.Sleep(w.cfg.LeaseTTL + time.Second)
		w.restart()
		w.run(5 * time.Second)
		w.want(apple, rewards.Executed)
		s.let <- struct{}{}
		synctest.Wait()
		frozen.Step(w.t.Context())
		w.wantBalanced(1)
		w.wantAfter(5*time.Second, w.give("KO", 5*usd), rewards.Executed)
		w.wantBalanced(2)
	}, beside, func(w *world) { w.cfg.Exclusive = false })
}
