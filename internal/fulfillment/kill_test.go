package fulfillment_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/rewards"
)

// hooked is a store whose writes pass a hook: it carries a write out, or not.
type hooked struct {
	fulfillment.Store

	hook func(name string, write func() error) error
}

func (h hooked) TakeLease(ctx context.Context, holder string, ttl time.Duration, force bool) (l rewards.Lease, err error) {
	err = h.hook("TakeLease", func() (err error) {
		l, err = h.Store.TakeLease(ctx, holder, ttl, force)
		return err
	})
	return l, err
}

func (h hooked) ChangeActions(ctx context.Context, l rewards.Lease, changes []rewards.ActionChange) error {
	return h.hook("ChangeActions", func() error { return h.Store.ChangeActions(ctx, l, changes) })
}

func (h hooked) ApplyAction(
	ctx context.Context, l rewards.Lease, c rewards.ActionChange, w rewards.Switch, r rewards.Renaming,
) error {
	return h.hook("ApplyAction", func() error { return h.Store.ApplyAction(ctx, l, c, w, r) })
}

func (h hooked) Sweep(ctx context.Context, l rewards.Lease, number int64) (done bool, err error) {
	err = h.hook("Sweep", func() (err error) {
		done, err = h.Store.Sweep(ctx, l, number)
		return err
	})
	return done, err
}

func (h hooked) PlanOrder(ctx context.Context, l rewards.Lease, r rewards.PlanRequest) (o rewards.Order, hold rewards.Hold, err error) {
	err = h.hook("PlanOrder", func() (err error) {
		o, hold, err = h.Store.PlanOrder(ctx, l, r)
		return err
	})
	return o, hold, err
}

func (h hooked) BeginAttempt(
	ctx context.Context, l rewards.Lease, o rewards.Order, next, deadline time.Time,
) (after rewards.Order, err error) {
	err = h.hook("BeginAttempt", func() (err error) {
		after, err = h.Store.BeginAttempt(ctx, l, o, next, deadline)
		return err
	})
	return after, err
}

func (h hooked) SaveOrder(ctx context.Context, l rewards.Lease, from rewards.OrderState, o rewards.Order) error {
	return h.hook("SaveOrder", func() error { return h.Store.SaveOrder(ctx, l, from, o) })
}

func (h hooked) SettleOrders(ctx context.Context, l rewards.Lease, list ...rewards.OrderEnd) (n int, err error) {
	err = h.hook("SettleOrders", func() (err error) {
		n, err = h.Store.SettleOrders(ctx, l, list...)
		return err
	})
	return n, err
}

func (h hooked) SaveActivities(ctx context.Context, l rewards.Lease, list []rewards.Activity) error {
	return h.hook("SaveActivities", func() error { return h.Store.SaveActivities(ctx, l, list) })
}

func (h hooked) BeginPayout(ctx context.Context, l rewards.Lease, action string, p rewards.Payment) error {
	return h.hook("BeginPayout", func() error { return h.Store.BeginPayout(ctx, l, action, p) })
}

func (h hooked) SharePayout(ctx context.Context, l rewards.Lease, action string) (done bool, err error) {
	err = h.hook("SharePayout", func() (err error) {
		done, err = h.Store.SharePayout(ctx, l, action)
		return err
	})
	return done, err
}

func (h hooked) SavePaid(ctx context.Context, l rewards.Lease, action string, part []rewards.Effect) error {
	return h.hook("SavePaid", func() error { return h.Store.SavePaid(ctx, l, action, part) })
}

func (h hooked) RecordCashAwards(
	ctx context.Context, l rewards.Lease, batch []rewards.NewReward,
) (outcomes []rewards.Outcome, err error) {
	err = h.hook("RecordCashAwards", func() (err error) {
		outcomes, err = h.Store.RecordCashAwards(ctx, l, batch)
		return err
	})
	return outcomes, err
}

// killed is the panic that ends a worker like kill -9.
type killed struct{ name string }

// mortal is a process that is killed at its n-th write, before or after it was carried out.
type mortal struct {
	n      int
	after  bool
	beside bool // it books beside its steps

	mu   sync.Mutex
	dead string // the write
}

func (m *mortal) hook(name string, write func() error) (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n--
	if m.n > 0 || m.n == 0 && m.after {
		err = write()
	}
	if m.n == 0 {
		m.dead = name
	}
	switch {
	case m.dead == "":
		return err
	case m.beside && name == "SettleOrders":
		return context.Canceled // beside the steps, which die at their next write
	default:
		panic(killed{m.dead})
	}
}

// runMortal steps a worker for a while that is killed at its n-th write, before or after it was
// carried out. A new process goes on. It returns the write; "" if there were fewer.
func (w *world) runMortal(d time.Duration, n int, after bool) string {
	w.t.Helper()
	end := time.Now().Add(d)
	m := &mortal{n: n, after: after, beside: w.cfg.BookBeside}
	w.restartWith(hooked{w.openStore(time.Now), m.hook}, newClient(w.wire))
	func() {
		defer func() {
			cause := recover()
			if _, dies := cause.(killed); !dies && cause != nil {
				panic(cause)
			}
		}()
		w.run(d)
	}()
	synctest.Wait()
	w.store = w.openStore(time.Now)
	w.restart()
	w.run(max(20*time.Second, time.Until(end)))
	return m.dead
}

// killEach runs a test with a worker that is killed at each write, one world for each, until there
// is no further write. It checks that writes with these names were among them.
func killEach(t *testing.T, test func(w *world, n int, after bool) string, want ...string) {
	t.Helper()
	for _, after := range []bool{false, true} {
		t.Run(map[bool]string{false: "before", true: "after"}[after], func(t *testing.T) {
			t.Parallel()
			seen := make(map[string]int)
			for n, name := 1, "first"; name != ""; n++ {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					inWorld(t, func(w *world) { name = test(w, n, after) })
				})
				seen[name]++
				if n > 200 {
					t.Fatalf("there is no end: %v", seen)
				}
			}
			t.Logf("killed at %v", seen)
			for _, name := range want {
				if seen[name] == 0 {
					t.Errorf("no worker was killed at %s: %v", name, seen)
				}
			}
		})
	}
}

// A worker that is killed at any write of a split leaves nothing half done: it is applied exactly
// once, and what waited is bought once.
func TestASplitSurvivesKills(t *testing.T) {
	t.Parallel()
	killEach(t, func(w *world, n int, after bool) string {
		w.wantAfter(3*time.Second, w.giveTo(w.newUser(w.app), "AAPL", 7_770_001), rewards.Executed)
		w.wantAfter(3*time.Second, w.give("AAPL", 3_330_001), rewards.Executed)
		id := w.announce("2", "3", "2000-01-05")
		w.until("2000-01-04 20:00:00")
		w.run(3 * time.Second)
		before, given := w.holdings("AAPL"), w.give("AAPL", 5*usd)
		w.until("2000-01-05 02:30:00")
		name := w.runMortal(10*time.Second, n, after)
		w.wantAction(id, rewards.ActionSwept)
		w.want(given, rewards.Executed)
		if want, err := (rewards.Ratio{Old: 2, New: 3}).Of(before[1].Quantity); err != nil || w.holdings("AAPL")[1].Quantity != want {
			w.t.Errorf("killed at %s, %+v became %+v", name, before[1], w.holdings("AAPL")[1])
		}
		if switches := w.count(`SELECT count(*) FROM switches`); switches != 1 {
			w.t.Errorf("killed at %s, applied %d times", name, switches)
		}
		w.wantBalanced(3)
		return name
	}, "ApplyAction", "Sweep", "PlanOrder", "SettleOrders")
}

// The same for the entitlement to a dividend.
func TestAnEntitlementSurvivesKills(t *testing.T) {
	t.Parallel()
	killEach(t, func(w *world, n int, after bool) string {
		w.investors()
		id := w.post(dividend + "}")
		w.until("2000-01-04 20:00:00")
		held := w.held("AAPL")
		name := w.runMortal(10*time.Second, n, after)
		w.until("2000-01-10 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantShared(id, held)
		return name
	}, "ApplyAction", "Sweep")
}

// The same for the payment of a dividend.
func TestAPaymentSurvivesKills(t *testing.T) {
	t.Parallel()
	killEach(t, func(w *world, n int, after bool) string {
		w.investors()
		id := w.post(dividend + "}")
		w.until("2000-01-04 20:00:00")
		held := w.held("AAPL")
		w.run(5 * time.Second)
		w.until("2000-01-10 02:30:00")
		name := w.runMortal(20*time.Second, n, after)
		w.wantAction(id, rewards.ActionSwept)
		w.wantShared(id, held)
		if n := w.count(`SELECT count(*) FROM rewards WHERE source = 'dividend'`); n != 2 {
			w.t.Errorf("killed at %s, there are %d awards, want 2", name, n)
		}
		w.wantBalance()
		return name
	}, "SaveActivities", "BeginPayout", "SharePayout", "RecordCashAwards", "SavePaid")
}

// Sweeps and payouts rest between their transactions, for a few times as long as one takes and no
// longer.
func TestAPayoutRestsBriefly(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		id := w.post(dividend + "}")
		w.until("2000-01-04 20:00:00")
		w.run(5 * time.Second)
		w.until("2000-01-10 02:30:00")
		w.restartWith(hooked{w.store, func(name string, write func() error) error {
			if name == "SharePayout" || name == "SavePaid" {
				time.Sleep(50 * time.Millisecond)
			}
			return write()
		}}, newClient(w.wire))
		stop, done := w.start()
		time.Sleep(20 * time.Second)
		stop()
		<-done
		p, _, err := w.store.Payout(w.t.Context(), id)
		w.check(err)
		if took := p.PaidAt.Sub(p.SharedAt); took < 150*time.Millisecond || took > 500*time.Millisecond {
			w.t.Errorf("after the parts were computed, recording the awards took %s", took)
		}
	})
}

// A worker that loses the lease between applying an action and its sweep changes nothing any more;
// the next one goes on.
func TestTheLeaseIsLostBeforeTheSweep(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		id := w.announce("1", "4", "2000-01-05")
		w.until("2000-01-05 02:30:00")
		before, overtaken := w.holdings("AAPL"), false
		slow := newClient(w.wire)
		w.restartWith(hooked{w.store, func(name string, write func() error) error {
			if name == "Sweep" && !overtaken {
				overtaken = true
				first := w.worker
				time.Sleep(w.cfg.LeaseTTL + time.Second) // the process is frozen
				w.restart()
				w.run(5 * time.Second)
				w.wantAction(id, rewards.ActionSwept)
				w.worker = first
			}
			return write()
		}}, slow)
		w.run(5 * time.Second)
		if !overtaken {
			w.t.Fatal("there was no sweep")
		}
		w.wantAction(id, rewards.ActionSwept)
		w.wantConverted("AAPL", before, rewards.Ratio{Old: 1, New: 4})
		w.wantBalance()
	}, func(w *world) { w.cfg.Exclusive = false })
}

// When it is not known whether an action was applied, because the commit had no answer, no order of its stock is sent
// before the store was read again.
func TestAnActionThatMayBeAppliedHoldsItsStock(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		w.announce("1", "4", "2000-01-05")
		w.until("2000-01-04 19:59:30")
		applied, swept, early := false, false, 0
		w.restartWith(hooked{w.store, func(name string, write func() error) error {
			switch {
			case name == "BeginAttempt" && !applied:
				return errCut
			case name == "BeginAttempt" && !swept:
				early++
			case name == "ApplyAction" && !applied:
				applied = true
				return errors.Join(write(), errCut)
			case name == "Sweep":
				swept = true
			}
			return write()
		}}, newClient(w.wire))
		r := w.give("AAPL", 5*usd)
		w.run(5 * time.Second)
		w.until("2000-01-05 02:30:00")
		w.wantAfter(time.Minute, r, rewards.Executed)
		if !applied || !swept || early > 0 {
			w.t.Errorf("applied: %v, swept: %v, %d orders were sent in between", applied, swept, early)
		}
	})
}
