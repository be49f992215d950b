package storetest

import (
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// testHistory: a timeline's orders are those that carried the reward, also one that bought nothing
// for it, and nothing of another app's reward is in it.
func testHistory(t *testing.T, w *World) {
	first := w.Give(t, 3_000_000)
	split := w.Give(t, 10_000_000)
	late := w.Give(t, 4_000_000)
	o := w.Open(t)
	w.Advance(time.Second)
	check(t, w.Settle(t, o, "canceled", 25_000_000, dollar200)) // $5 of $17
	w.Advance(time.Second)
	rest := w.Open(t)
	history := func(r rewards.Reward) rewards.History {
		t.Helper()
		h, err := w.History(t.Context(), r.AppID, r.ID)
		check(t, err)
		shown, err := w.HistoryOfAnyApp(t.Context(), r.ID)
		check(t, err)
		wantEqual(t, "for operators", h, shown)
		return h
	}
	bought := func(r rewards.Reward) (all []rewards.Allocation) {
		t.Helper()
		for _, o := range history(r).Orders {
			all = append(all, o.Bought)
		}
		return all
	}
	wantEqual(t, "whole", []rewards.Allocation{{Amount: 3_000_000, Shares: 15_000_000}}, bought(first))
	wantEqual(t, "split", []rewards.Allocation{{Amount: 2_000_000, Shares: 10_000_000}, {}}, bought(split))
	wantEqual(t, "nothing bought", []rewards.Allocation{{}, {}}, bought(late))
	h := history(split)
	wantEqual(t, "orders", []rewards.OrderID{o.ID, rest.ID}, []rewards.OrderID{h.Orders[0].ID, h.Orders[1].ID})
	wantEqual(t, "carried", []money.USD{10_000_000, 8_000_000}, []money.USD{h.Orders[0].Carried, h.Orders[1].Carried})
	wantEqual(t, "state", rewards.OrderOpen, h.Orders[1].State)
	if !h.Led || h.Reward.ID != split.ID || h.App.Name != w.App.Name || h.Asset.Symbol != "AAPL" || !h.Now.Equal(w.Now()) {
		t.Errorf("%+v", h)
	}
	check(t, w.Settle(t, rest, "filled", 60_000_000, dollar200))
	whole := []rewards.Allocation{{Amount: 2_000_000, Shares: 10_000_000}, {Amount: 8_000_000, Shares: 40_000_000}}
	wantEqual(t, "both booked", whole, bought(split))
	shares, err := w.SharesOf(t.Context(), split.AppID, []rewards.RewardID{split.ID})
	check(t, err)
	wantEqual(t, "shares of both", map[rewards.RewardID]money.Shares{split.ID: 50_000_000}, shares)
	canceled := w.Give(t, 5_000_000)
	w.Advance(time.Second)
	check(t, w.SaveStandstills(t.Context(), w.lease, nil, []rewards.Standstill{{Cause: rewards.CausePaused}}))
	w.Advance(time.Second)
	ended := w.Now()
	check(t, w.canceled(t.Context(), canceled.ID, "a mistake"))
	w.Advance(time.Second)
	check(t, w.SaveStandstills(t.Context(), w.lease, []rewards.AssetID{0}, []rewards.Standstill{{Cause: rewards.CauseClosed}}))
	h = history(canceled)
	if len(h.Stood) != 1 || h.Stood[0].Cause != rewards.CausePaused || !h.CanceledAt.Equal(ended) {
		t.Errorf("canceled at %s, want %s; stood %+v", h.CanceledAt, ended, h.Stood)
	}
	entries := h.Timeline()
	if last := entries[len(entries)-1]; len(entries) != 3 || last.Type != rewards.TimelineCanceled || !last.At.Equal(ended) ||
		entries[1].Type != rewards.TimelineWaited {
		t.Errorf("%+v", entries)
	}
	stranger := w.NewApp(t, "stranger")
	wantCode(t, failure(w.History(t.Context(), stranger.ID, split.ID)), rewards.CodeNotFound)
	wantCode(t, failure(w.HistoryOfAnyApp(t.Context(), rewards.RewardID{1})), rewards.CodeNotFound)
}

// testStandstills: a reward's history has what kept it waiting while it was open, of its stock and of
// all, and the dollars that wait while the pool is small.
func testStandstills(t *testing.T, w *World) {
	aapl, ko := w.Asset(t, "AAPL").ID, w.Asset(t, "KO").ID
	save := func(ended []rewards.AssetID, begun ...rewards.Standstill) {
		t.Helper()
		check(t, w.SaveStandstills(t.Context(), w.lease, ended, begun))
		w.Advance(time.Minute)
	}
	opening := w.Now().Add(time.Hour)
	save(nil, rewards.Standstill{Cause: rewards.CausePaused})
	save([]rewards.AssetID{0}, rewards.Standstill{Cause: rewards.CauseClosed, Expected: opening})
	began := w.Now().Add(-time.Minute)
	r := w.Give(t, 400_000)
	save(nil, rewards.Standstill{AssetID: ko, Cause: rewards.CauseDoubt})
	small := w.Now()
	save([]rewards.AssetID{0}, rewards.Standstill{AssetID: aapl, Cause: rewards.CauseSmallPool, Expected: opening})
	h, err := w.History(t.Context(), r.AppID, r.ID)
	check(t, err)
	closed := rewards.Standstill{Since: began, Until: small, Cause: rewards.CauseClosed, Expected: opening}
	pool := rewards.Standstill{AssetID: aapl, Since: small, Cause: rewards.CauseSmallPool, Expected: opening}
	wantEqual(t, "while it is open", []rewards.Standstill{closed, pool}, h.Stood)
	wantEqual(t, "the pool", money.USD(400_000), h.Pool)
	open := read(t, w.Standstills)
	wantEqual(t, "open", []rewards.AssetID{aapl, ko}, []rewards.AssetID{open[0].AssetID, open[1].AssetID})
	save([]rewards.AssetID{aapl})
	w.Give(t, 5_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 27_000_000, dollar200))
	save(nil, rewards.Standstill{Cause: rewards.CausePaused})
	h, err = w.History(t.Context(), r.AppID, r.ID)
	check(t, err)
	pool.Until = small.Add(time.Minute)
	wantEqual(t, "once it is final", []rewards.Standstill{closed, pool}, h.Stood)
	lost := w.lease
	lost.Epoch++
	if err := w.SaveStandstills(t.Context(), lost, nil, []rewards.Standstill{{AssetID: aapl, Cause: rewards.CauseDoubt}}); err == nil {
		t.Error("a process that does not lead stored a standstill")
	}
}
