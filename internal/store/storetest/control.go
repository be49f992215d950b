package storetest

import (
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

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
		check(t, w.SaveReconciliation(t.Context(), w.lease, []rewards.BrokerConflict{conflict}, w.Now()))
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
