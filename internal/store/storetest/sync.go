package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"stockrewards/internal/rewards"
)

// sync syncs the catalog with a broker's list of tradable assets: "id symbol".
func (w *World) sync(t *testing.T, entries ...string) rewards.AssetSync {
	t.Helper()
	var theirs []rewards.BrokerAsset
	for _, entry := range entries {
		id, symbol, _ := strings.Cut(entry, " ")
		theirs = append(theirs, rewards.BrokerAsset{
			ID: id, Symbol: symbol, Name: symbol, Active: true, Tradable: true, Fractionable: true,
		})
	}
	sync, err := w.SyncAssets(t.Context(), func(ours []rewards.Asset) (rewards.AssetSync, error) {
		return rewards.SyncAssets(ours, theirs, rewards.SyncFilter{}), nil
	})
	check(t, err)
	return sync
}

// catalog formats the catalog in a line.
func (w *World) catalog(t *testing.T) string {
	t.Helper()
	assets := read(t, w.Assets)
	var lines []string
	for _, a := range assets {
		lines = append(lines, fmt.Sprintf("%d:%s:%s:%v:%v", a.ID, a.Symbol, a.BrokerID, a.Enabled, a.Gone))
	}
	return strings.Join(lines, " ")
}

func testSync(t *testing.T, w *World) {
	w.sync(t, "a AAPL", "k KO", "t TSLA")
	check(t, w.SetEnabled(t.Context(), "TSLA", false))
	w.sync(t, "a KO", "k AAPL", "n TSLA") // two stocks swap symbols, and a new one takes over TSLA
	want := "2:AAPL:k:true:false 1:KO:a:true:false 4:TSLA:n:true:false 3:TSLA.OLD:t:false:true"
	if got := w.catalog(t); got != want {
		t.Errorf("the catalog is\n%s, want\n%s", got, want)
	}
	w.sync(t, "a AAPL", "k KO", "t TSLA", "n NEW") // back again
	want = "1:AAPL:a:true:false 2:KO:k:true:false 4:NEW:n:true:false 3:TSLA:t:false:false"
	if got := w.catalog(t); got != want {
		t.Errorf("the catalog is\n%s, want\n%s", got, want)
	}
	refused := errors.New("the sync is refused")
	_, err := w.SyncAssets(t.Context(), func(ours []rewards.Asset) (rewards.AssetSync, error) {
		return rewards.SyncAssets(ours, nil, rewards.SyncFilter{}), refused
	})
	if got := w.catalog(t); !errors.Is(err, refused) || got != want {
		t.Errorf("a refused sync: %v, and the catalog is\n%s", err, got)
	}
}

// testRename: an order gets the new symbol if it was not sent before the rename. Rewards
// keep the symbol of the request.
func testRename(t *testing.T, w *World) {
	w.sync(t, "a AAPL", "k KO", "t TSLA")
	request := w.Request(t, 2_000_000)
	given := w.record(t, request)
	sent := w.Plan(t)
	sent, err := w.BeginAttempt(t.Context(), w.lease, sent, w.Now(), w.Now())
	check(t, err)
	w.Give(t, 3_000_000)
	planned, seen := w.Plan(t), w.planRequest(t)
	w.Give(t, 4_000_000)
	w.sync(t, "a APL", "k KO", "t TSLA", "n AAPL")
	if _, err := w.BeginAttempt(t.Context(), w.lease, planned, w.Now(), w.Now()); !errors.Is(err, rewards.ErrStale) {
		t.Errorf("a send with the symbol of another stock: %v, want ErrStale", err)
	}
	late, _, err := w.PlanOrder(t.Context(), w.lease, seen) // the pool was seen before the rename
	check(t, err)
	for id, want := range map[rewards.OrderID]string{sent.ID: "AAPL", planned.ID: "APL", late.ID: "APL"} {
		o, err := w.Order(t.Context(), id)
		check(t, err)
		if o.Symbol != want || o.AssetBrokerID != "a" {
			t.Errorf("the order is for %s (%s), want %s", o.Symbol, o.AssetBrokerID, want)
		}
	}
	outcomes, err := w.RecordRewards(t.Context(), []rewards.NewReward{request})
	check(t, err)
	if o := outcomes[0]; o.Verdict != rewards.Replay || o.Reward.ID != given.ID || o.Reward.Symbol != "AAPL" {
		t.Errorf("a replay: %+v", o)
	}
	opened := sent
	opened.State = rewards.OrderOpen
	check(t, w.SaveOrder(t.Context(), w.lease, rewards.OrderSubmitted, opened))
	check(t, w.Settle(t, opened, "filled", 10_000_000, dollar200))
	holdings, err := w.Holdings(t.Context(), w.App.ID, w.Users[0].ID)
	check(t, err)
	if len(holdings) != 1 || holdings[0].AssetID != w.Asset(t, "APL").ID {
		t.Errorf("holdings %+v, want them of the renamed asset", holdings)
	}
}

// testAdoptRenamed: an adopted order is for the broker's asset id, not for its symbol.
func testAdoptRenamed(t *testing.T, w *World) {
	w.sync(t, "a APL", "k KO", "t TSLA", "n AAPL")
	w.Give(t, 1_000_000) // the new AAPL
	for asset, want := range map[string]rewards.Code{"a": rewards.CodeConflict, "x": rewards.CodeNotFound} {
		lost := lostOrder("sr-x-" + asset)
		lost.AssetID = asset
		check(t, w.SaveReconciliation(t.Context(), w.lease, []rewards.BrokerConflict{{ClientOrderID: lost.ClientOrderID}}, w.Now()))
		wantCode(t, failure(w.AdoptOrder(t.Context(), lost, "restored")), want) // no reward waits for "a", and "x" is not in the catalog
	}
}
