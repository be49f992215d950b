package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// leaseContract is the part of the contract about who leads fulfillment and who sends webhooks.
func leaseContract() map[string]func(*testing.T, *World) {
	return map[string]func(*testing.T, *World){
		"Lease":                     testLease,
		"LeaseByAnotherClock":       testLeaseByAnotherClock,
		"LeaseOfAClockThatWasAhead": testLeaseOfAClockThatWasAhead,
		"LeaseOfAStoreThatWentBack": testLeaseOfAStoreThatWentBack,
		"MarksOfAStoreThatWentBack": testMarksOfAStoreThatWentBack,
		"ShardsOfAWrongClock":       testShardsOfAWrongClock,
	}
}

func testLease(t *testing.T, w *World) {
	const ttl = time.Hour
	other, err := w.TakeLease(t.Context(), "other", ttl, false)
	check(t, err)
	if other.Epoch != 0 {
		t.Errorf("two leaders at once: %+v", other)
	}
	renewed, err := w.TakeLease(t.Context(), "tester", ttl, false)
	check(t, err)
	if renewed.Epoch != w.lease.Epoch {
		t.Errorf("renewing gave epoch %d, want %d", renewed.Epoch, w.lease.Epoch)
	}
	w.Advance(ttl)
	other, err = w.TakeLease(t.Context(), "other", ttl, false)
	check(t, err)
	if other.Epoch <= w.lease.Epoch {
		t.Fatalf("the lease expired, but got %+v", other)
	}
	w.Give(t, 2_000_000)
	if _, _, err := w.PlanOrder(t.Context(), w.lease, w.planRequest(t)); !errors.Is(err, rewards.ErrLostLease) {
		t.Errorf("the old leader plans: %v, want ErrLostLease", err)
	}
	w.lease = other
	o := w.Plan(t)
	forced, err := w.TakeLease(t.Context(), "third", ttl, true)
	check(t, err)
	if _, err := w.BeginAttempt(t.Context(), other, o, w.Now(), w.Now()); !errors.Is(err, rewards.ErrLostLease) {
		t.Errorf("the previous leader sends: %v, want ErrLostLease", err)
	}
	check(t, w.DropLease(t.Context(), other)) // of the previous leader: no effect
	if l, err := w.TakeLease(t.Context(), "fourth", ttl, false); err != nil || l.Epoch != 0 {
		t.Errorf("got %+v, %v; want the third to lead", l, err)
	}
	check(t, w.DropLease(t.Context(), forced))
	if l, err := w.TakeLease(t.Context(), "fourth", ttl, false); err != nil || l.Epoch == 0 {
		t.Errorf("got %+v, %v; want the dropped lease", l, err)
	}
}

// testLeaseByAnotherClock checks that a process of a fleet whose clock is wrong neither takes what another has, nor keeps
// it for longer than the others.
func testLeaseByAnotherClock(t *testing.T, w *World) {
	const ttl, wrong = time.Minute, 90 * time.Second
	by := func(ahead time.Duration) {
		database := w.Now().Add(-ahead)
		guard := rewards.NewClockGuard(w.Now, false)
		guard.ReadDatabase(database, w.Now())
		w.ShareClock(func() time.Time { return w.Now().Add(-ahead) }, guard.CheckLeader)
	}
	by(wrong)
	check(t, w.DropLease(t.Context(), w.lease))
	lease, err := w.TakeLease(t.Context(), "ahead", ttl, false)
	check(t, err)
	if lease.Epoch == 0 || !lease.Held(w.Now()) || lease.Held(w.Now().Add(ttl)) {
		t.Errorf("lease %+v at %s, want one until then and %s", lease, w.Now(), ttl)
	}
	by(wrong - ttl + time.Second)
	if other, err := w.TakeLease(t.Context(), "right", ttl, false); err != nil || other.Epoch != 0 {
		t.Errorf("the lease of the process whose clock is ahead has ended: %+v, %v", other, err)
	}
	by(wrong - ttl)
	if other, err := w.TakeLease(t.Context(), "right", ttl, false); err != nil || other.Epoch == 0 {
		t.Errorf("the lease of the process whose clock is ahead has not ended: %+v, %v", other, err)
	}
	shards, err := w.TakeWebhookShards(t.Context(), "right", ttl, false)
	check(t, err)
	by(rewards.MaxClockSkew + time.Second)
	if _, err := w.TakeLease(t.Context(), "right", ttl, false); !errors.Is(err, rewards.ErrClockAhead) {
		t.Errorf("a process whose clock is far ahead leads: %v", err)
	}
	if _, err := w.TakeWebhookShards(t.Context(), "right", ttl, false); !errors.Is(err, rewards.ErrClockAhead) {
		t.Errorf("a process whose clock is far ahead sends webhooks: %v", err)
	}
	by(0)
	if next, err := w.TakeLease(t.Context(), "next", ttl, false); err != nil || next.Epoch == 0 {
		t.Errorf("it has not given the lease back: %+v, %v", next, err)
	}
	taken, err := w.TakeWebhookShards(t.Context(), "next", ttl, false)
	if err != nil || len(taken) != len(shards) || len(taken) == 0 {
		t.Errorf("it has not given its shards back: %d of %d, %v", len(taken), len(shards), err)
	}
}

// testLeaseOfAClockThatWasAhead checks that what was taken while the database's clock was hours ahead keeps nobody from
// leading once it is right.
func testLeaseOfAClockThatWasAhead(t *testing.T, w *World) {
	const ttl = 6 * time.Second
	fine := func() error { return nil }
	check(t, w.DropLease(t.Context(), w.lease))
	w.ShareClock(func() time.Time { return w.Now().Add(12 * time.Hour) }, fine)
	gone, err := w.TakeLease(t.Context(), "gone", ttl, false)
	check(t, err)
	_, err = w.TakeWebhookShards(t.Context(), "gone", ttl, false)
	check(t, err)
	w.ShareClock(w.Now, fine)
	next, err := w.TakeLease(t.Context(), "next", ttl, false)
	if err != nil || next.Epoch <= gone.Epoch {
		t.Errorf("lease %+v, %v after %+v", next, err, gone)
	}
	if shards, err := w.TakeWebhookShards(t.Context(), "next", ttl, false); err != nil || len(shards) != rewards.WebhookShards {
		t.Errorf("%d shards, %v; want all", len(shards), err)
	}
}

// testLeaseOfAStoreThatWentBack checks that a leader writes nothing once the store shows an older lease than it took, as
// after a backup was restored, and begins another epoch.
func testLeaseOfAStoreThatWentBack(t *testing.T, w *World) {
	const ttl = time.Hour
	put := func(l rewards.Lease) {
		check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, "-- only in tests\nUPDATE lease SET holder = ?1, epoch = ?2, until = ?3",
				l.Holder, l.Epoch, max(0, l.Until.UnixMicro()))
			return err
		}))
	}
	w.Give(t, 2_000_000)
	for name, back := range map[string]func(rewards.Lease) rewards.Lease{
		"a renewal":          func(l rewards.Lease) rewards.Lease { l.Until = l.Until.Add(-time.Minute); return l },
		"another's epoch":    func(l rewards.Lease) rewards.Lease { return rewards.Lease{Holder: "other", Epoch: l.Epoch - 1} },
		"another's same one": func(l rewards.Lease) rewards.Lease { return rewards.Lease{Holder: "other", Epoch: l.Epoch} },
	} {
		w.Advance(time.Minute)
		held, err := w.TakeLease(t.Context(), "tester", ttl, false)
		check(t, err)
		put(back(held))
		if _, _, err := w.PlanOrder(t.Context(), held, w.planRequest(t)); !errors.Is(err, rewards.ErrLostLease) {
			t.Errorf("%s: the leader plans an order: %v, want ErrLostLease", name, err)
		}
		w.ShareClock(w.Now, func() error { return rewards.ErrClockAhead })
		if _, err := w.TakeLease(t.Context(), "tester", ttl, false); !errors.Is(err, rewards.ErrClockAhead) {
			t.Errorf("%s: a lease by a wrong clock: %v", name, err)
		}
		w.ShareClock(w.Now, func() error { return nil })
		next, err := w.TakeLease(t.Context(), "tester", ttl, false)
		if err != nil || next.Epoch != held.Epoch+1 {
			t.Errorf("%s: got %+v, %v after %+v", name, next, err, held)
		}
		again, err := w.TakeLease(t.Context(), "tester", ttl, false)
		if err != nil || again.Epoch != next.Epoch || again.Loss != rewards.NoLoss {
			t.Errorf("%s: renewed as %+v, %v", name, again, err)
		}
	}
	lease, err := w.TakeLease(t.Context(), "tester", ttl, false)
	check(t, err)
	check(t, w.DropLease(t.Context(), lease))
	if next, err := w.TakeLease(t.Context(), "tester", ttl, false); err != nil || next.Loss != rewards.NoLoss ||
		next.Epoch != lease.Epoch {
		t.Errorf("after its end: %+v, %v", next, err)
	}
	w.lease, err = w.TakeLease(t.Context(), "tester", ttl, false)
	check(t, err)
}

// testMarksOfAStoreThatWentBack checks that stocks that wait or are held get prices again. Processes remembered that they
// are marked, when the store went back to before that.
func testMarksOfAStoreThatWentBack(t *testing.T, w *World) {
	w.buy(t, w.Users[0], "KO", 2_000_000, 10_000_000)
	w.Give(t, 2_000_000)
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, "-- only in tests\nUPDATE assets SET used = 0")
		return err
	}))
	_, err := w.TakeLease(t.Context(), "restarted", time.Hour, true)
	check(t, err)
	_, quotes, err := w.QuotedAssets(t.Context())
	check(t, err)
	if len(quotes) != 2 {
		t.Errorf("%d stocks get prices, want AAPL, which waits, and KO, which is held: %+v", len(quotes), quotes)
	}
}

// testShardsOfAWrongClock checks that a process whose clock the broker's contradicts sends no webhooks: receivers would
// refuse what it signs.
func testShardsOfAWrongClock(t *testing.T, w *World) {
	const ttl = time.Minute
	taken, err := w.TakeWebhookShards(t.Context(), "wrong", ttl, true)
	check(t, err)
	w.Guard(func(time.Time) error { return rewards.ErrClockAhead })
	if _, err := w.TakeWebhookShards(t.Context(), "wrong", ttl, true); !errors.Is(err, rewards.ErrClockAhead) {
		t.Errorf("it sends: %v", err)
	}
	w.Guard(func(time.Time) error { return nil })
	if next, err := w.TakeWebhookShards(t.Context(), "next", ttl, false); err != nil || len(next) != len(taken) {
		t.Errorf("it has not given its shards back: %d of %d, %v", len(next), len(taken), err)
	}
}
