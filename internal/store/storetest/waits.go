package storetest

import (
	"fmt"
	"testing"

	"stockrewards/internal/rewards"
)

// testWaits: waiting rewards are listed by stock and app, with the reason.
func testWaits(t *testing.T, w *World) {
	waits := func() (lines []string) {
		list := read(t, w.Waits)
		for _, a := range list {
			lines = append(lines, fmt.Sprintf("%s of %s: %d: %s", a.Asset.Symbol, a.App.Name, a.Count, a.Why))
		}
		return lines
	}
	w.Give(t, 700*dollars)
	w.Give(t, 2_000*dollars)
	w.backlog(t, "second", 3, 300_000)
	w.backlog(t, "gone", 1, dollars)
	check(t, failure(w.SetSuspended(t.Context(), "gone", true)))
	ko := w.Request(t, dollars/2)
	ko.Symbol, ko.AssetID = "KO", w.Asset(t, "KO").ID
	w.record(t, ko)
	want := []string{"AAPL of first: 2: ", "AAPL of second: 3: ", "AAPL of gone: 1: ", "KO of first: 1: "}
	wantEqual(t, "before the first leader", want, waits())
	brakes := rewards.Brakes{
		MaxNotional: rewards.LowestMaxNotional, DailyLimit: 1_000 * dollars, HouseDailyLimit: dollars,
		HouseAppLimit: dollars / 4, SmallPoolWait: 1,
	}
	check(t, w.SaveBrakes(t.Context(), w.lease, brakes))
	w.Advance(1_000_000_000)
	const next = "goes into one of the next orders while ordering is on and the market is open"
	want = []string{
		"AAPL of first: 2: 1 can't be ordered, the smallest of $2000: it is more than the whole daily limit of $1000",
		"AAPL of second: 3: " + next,
		"AAPL of gone: 1: the app is suspended",
		"KO of first: 1: 1 can't be ordered, the smallest of $0.5: the house has added $0 of at most $0.25 for the app today",
	}
	wantEqual(t, "with limits", want, waits())
	r := w.planRequest(t)
	r.Limits = brakes.Limits(0, rewards.SmallPoolTimer{})
	if _, hold, err := w.PlanOrder(t.Context(), w.lease, r); err != nil || hold != rewards.NoHold {
		t.Fatalf("hold %d, %v", hold, err)
	}
	w.Give(t, 600*dollars)
	want = []string{
		"AAPL of first: 2: 2 can't be ordered, the smallest of $600: $299.1 is left of the daily limit of $1000; " +
			"it waits for the next UTC day",
		want[2], want[3],
	}
	wantEqual(t, "after an order", want, waits())
	asset := w.Asset(t, "AAPL").ID
	check(t, w.SaveStandstills(t.Context(), w.lease, nil, []rewards.Standstill{{AssetID: asset, Cause: rewards.CauseAction}}))
	want[0] = "AAPL of first: 2: a corporate action holds the stock: see `stockrewards action list`"
	wantEqual(t, "while an action holds the stock", want, waits())
	far := rewards.Standstill{AssetID: asset, Cause: rewards.CauseQuarantine, Expected: w.Now()}
	check(t, w.SaveStandstills(t.Context(), w.lease, []rewards.AssetID{asset}, []rewards.Standstill{far}))
	want[0] = "AAPL of first: 2: an order of the stock was filled far from its last price and waits for a newer one, for up to a minute"
	wantEqual(t, "while a fill of the stock waits for a price", want, waits())
}
