package storetest

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

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
	by := func(ahead time.Duration) { w.ShareClock(func() time.Time { return w.Now().Add(-ahead) }) }
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
	clockAhead := errors.New("ahead")
	w.Guard(func(time.Time) error { return clockAhead })
	if _, err := w.TakeLease(t.Context(), "right", ttl, false); !errors.Is(err, clockAhead) {
		t.Errorf("a process whose clock is far ahead leads: %v", err)
	}
	if _, err := w.TakeWebhookShards(t.Context(), "right", ttl, false); !errors.Is(err, clockAhead) {
		t.Errorf("a process whose clock is far ahead sends webhooks: %v", err)
	}
	w.Guard(func(time.Time) error { return nil })
	if next, err := w.TakeLease(t.Context(), "next", ttl, false); err != nil || next.Epoch == 0 {
		t.Errorf("it has not given the lease back: %+v, %v", next, err)
	}
	taken, err := w.TakeWebhookShards(t.Context(), "next", ttl, false)
	if err != nil || len(taken) != len(shards) || len(taken) == 0 {
		t.Errorf("it has not given its shards back: %d of %d, %v", len(taken), len(shards), err)
	}
}

func testControl(t *testing.T, w *World) {
	check(t, w.SetPaused(t.Context(), "lunch"))
	c := read(t, w.Control)
	if c.Paused != "lunch" || !c.Stopped() {
		t.Errorf("control %+v", c)
	}
	check(t, w.SetPaused(t.Context(), ""))
	if c = read(t, w.Control); c.Stopped() {
		t.Errorf("control %+v", c)
	}
	check(t, w.RaiseAlarm(t.Context(), "b", "one"))
	since := w.Now()
	w.Advance(time.Minute)
	check(t, w.RaiseAlarm(t.Context(), "b", "two"))
	check(t, w.RaiseAlarm(t.Context(), "a", "x"))
	check(t, w.ClearAlarm(t.Context(), "a"))
	check(t, w.ClearAlarm(t.Context(), "a"))
	alarms := read(t, w.Alarms)
	if len(alarms) != 1 || alarms[0].Message != "two" || !alarms[0].Since.Equal(since) {
		t.Errorf("alarms %+v", alarms)
	}
	check(t, w.SaveMarketHours(t.Context(), "hours"))
	if hours, err := w.MarketHours(t.Context()); err != nil || hours != "hours" {
		t.Errorf("hours %q, %v", hours, err)
	}
}

func testConflicts(t *testing.T, w *World) {
	conflict := rewards.BrokerConflict{ClientOrderID: "sr-x-1", Symbol: "AAPL", FilledQty: 5, Detail: "unknown"}
	save := func() rewards.Control {
		t.Helper()
		check(t, w.SaveReconciliation(t.Context(), []rewards.BrokerConflict{conflict}, w.Now()))
		return read(t, w.Control)
	}
	if c := save(); c.Conflicts != 1 || !c.Stopped() {
		t.Errorf("control %+v, want it stopped", c)
	}
	wantCode(t, w.AcknowledgeConflict(t.Context(), "sr-x-2", "why"), rewards.CodeNotFound)
	check(t, w.AcknowledgeConflict(t.Context(), "sr-x-1", "why"))
	if c := save(); c.Stopped() {
		t.Errorf("control %+v, want what was acknowledged to stay so", c)
	}
	conflict.FilledQty++
	if c := save(); c.Conflicts != 1 {
		t.Errorf("control %+v, want a further change to stop again", c)
	}
	check(t, w.AcknowledgeConflict(t.Context(), "sr-x-1", "booked manually"))
	conflict.FilledQty = 4 // corrected at the broker: the acknowledged fill no longer exists
	if c := save(); c.Conflicts != 1 {
		t.Errorf("control %+v, want a fill that shrinks to stop again", c)
	}
	conflict.FilledQty = 6
	save()
	list := read(t, w.Conflicts)
	until := read(t, w.ReconciledUntil)
	if len(list) != 1 || list[0].FilledQty != 6 || !until.Equal(w.Now()) {
		t.Errorf("conflicts %+v until %s", list, until)
	}
	o := w.orderOf(t, 2_000_000)
	found, err := w.OrdersByClientID(t.Context(), []string{o.ClientOrderID, "sr-x-1"})
	check(t, err)
	if len(found) != 1 || found[o.ClientOrderID].ID != o.ID {
		t.Errorf("found %+v", found)
	}
}

// orderOf records a reward and plans its order.
func (w *World) orderOf(t *testing.T, amount money.USD) rewards.Order {
	t.Helper()
	w.Give(t, amount)
	return w.Plan(t)
}

func testQuotes(t *testing.T, w *World) {
	assets, _, err := w.QuotedAssets(t.Context())
	check(t, err)
	if len(assets) != 0 {
		t.Errorf("%d prices are needed before the first award", len(assets))
	}
	asset := w.Give(t, 1_000_000).AssetID
	quote := rewards.Quote{AssetID: asset, Price: 5, TradedAt: w.Now(), ConfirmedAt: w.Now()}
	check(t, w.SaveQuotes(t.Context(), []rewards.Quote{quote}))
	check(t, w.DoubtAsset(t.Context(), asset, 98))
	if price, err := w.RejectAsset(t.Context(), "AAPL"); err != nil || price != 98 {
		t.Errorf("rejected %s, %v", price, err)
	}
	if price, err := w.RejectAsset(t.Context(), "AAPL"); err != nil || price != 0 {
		t.Errorf("rejected again: %s, %v", price, err)
	}
	wantCode(t, failure(w.RejectAsset(t.Context(), "NONE")), rewards.CodeNotFound)
	check(t, w.DoubtAsset(t.Context(), asset, 99))
	check(t, w.DoubtAsset(t.Context(), asset, 100)) // the first doubt stays
	assets, quotes, err := w.QuotedAssets(t.Context())
	check(t, err)
	if len(assets) != 1 || quotes[0] != quote || assets[0].Doubt.Price != 99 || !assets[0].Doubt.Exists() {
		t.Errorf("got %+v with %+v", assets, quotes)
	}
	if price, err := w.ConfirmAsset(t.Context(), "AAPL"); err != nil || price != 99 {
		t.Errorf("confirmed %s, %v", price, err)
	}
	if price, err := w.ConfirmAsset(t.Context(), "AAPL"); err != nil || price != 0 {
		t.Errorf("confirmed again: %s, %v", price, err)
	}
	wantCode(t, failure(w.ConfirmAsset(t.Context(), "NONE")), rewards.CodeNotFound)
	check(t, w.SaveQuotes(t.Context(), []rewards.Quote{quote}))
	assets, quotes, err = w.QuotedAssets(t.Context())
	check(t, err)
	if assets[0].Doubt.Exists() || quotes[0].Accepted != 99 || quotes[0].Price != 5 {
		t.Errorf("got %+v with %+v, want the accepted level kept", assets, quotes)
	}
}
