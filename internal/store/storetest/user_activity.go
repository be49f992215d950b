package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// activity reads all of a user's activity in pages.
func (w *World) activity(t *testing.T, app rewards.AppID, user rewards.UserID, limit int) (all []rewards.UserActivity) {
	t.Helper()
	for page := (rewards.ActivityPage{Limit: limit}); ; {
		part, err := w.Activity(t.Context(), app, user, page)
		check(t, err)
		all = append(all, part...)
		if len(part) < limit {
			return all
		}
		page.Before = part[limit-1].Place
	}
}

// wantActivity checks for some of the users that their activity adds up to what they hold beyond
// what was planted. It is the same in pages, and each entry has an id that no other has.
func (c *crowd) wantActivity(t *testing.T, when string, want portfolios) {
	t.Helper()
	const some = 37 // of the users, those that bought among them
	step := max(1, len(c.users)/some)
	symbols := make(map[rewards.AssetID]string)
	for _, asset := range read(t, c.Assets) {
		symbols[asset.ID] = asset.Symbol
	}
	ids := make(map[rewards.ID[rewards.UserActivity]]bool)
	for i, u := range c.users {
		if i >= 7 && i%step != 0 {
			continue
		}
		list := c.activity(t, u.AppID, u.ID, 100)
		if pages := c.activity(t, u.AppID, u.ID, 1); !slices.Equal(list, pages) {
			t.Fatalf("%s, user %d: one by one %+v, want %+v", when, i, pages, list)
		}
		missing := make(map[string]rewards.Holding) // in the activity
		add := func(symbol string, sign int64, quantity money.Shares, cost money.USD) {
			sum := missing[symbol]
			sum.Quantity += money.Shares(sign) * quantity
			sum.CostBasis += money.USD(sign) * cost
			missing[symbol] = sum
		}
		for _, h := range want[u.ID] {
			add(symbols[h.AssetID], 1, h.Quantity, h.CostBasis)
		}
		for _, h := range c.planted[u.ID] {
			add(symbols[h.AssetID], -1, h.Quantity, h.CostBasis)
		}
		for _, a := range list {
			add(a.Symbol, -1, a.Quantity, a.CostBasis)
			id := a.ID(u.AppID, u.ID)
			if ids[id] {
				t.Fatalf("%s, user %d: the id %s is of two entries", when, i, id)
			}
			ids[id] = true
		}
		for symbol, m := range missing {
			if m != (rewards.Holding{}) {
				t.Fatalf("%s, user %d: the activity of %s lacks %s and %s: %+v", when, i, symbol, m.Quantity, m.CostBasis, list)
			}
		}
	}
}

// testActivity: a part of an award is an entry when it is bought, and the last part has the cost
// basis of all. A part without shares changed no holding. Nothing of another user shows.
func testActivity(t *testing.T, w *World) {
	first, other := w.Users[0], w.Users[1]
	small := w.Give(t, 3_000_000)
	large := w.Give(t, 10_000_000)
	wantEqual(t, "before any order", 0, len(w.activity(t, w.App.ID, first.ID, 9)))
	o := w.Open(t)
	w.Advance(time.Second)
	check(t, w.Settle(t, o, "canceled", 25_000_000, dollar200)) // $5 of $13
	booked := w.Now()
	part := func(r rewards.Reward, o rewards.Order, shares money.Shares, cost money.USD) rewards.UserActivity {
		return rewards.UserActivity{
			Place:    rewards.ActivityPlace{At: booked, Kind: rewards.ActivityOfAward, Key: rewards.AwardKey(r.ID, o.ID)},
			Type:     "award",
			Symbol:   "AAPL",
			Quantity: shares, CostBasis: cost, Price: dollar200, RewardID: r.ID,
		}
	}
	want := []rewards.UserActivity{part(large, o, 10_000_000, 0), part(small, o, 15_000_000, 3_000_000)}
	wantEqual(t, "a part", want, w.activity(t, w.App.ID, first.ID, 9))
	w.Advance(time.Second)
	rest := w.Open(t)
	w.Advance(time.Second)
	check(t, w.Settle(t, rest, "filled", 40_000_000, dollar200))
	booked = w.Now()
	want = append([]rewards.UserActivity{part(large, rest, 40_000_000, 10_000_000)}, want...)
	wantEqual(t, "the whole", want, w.activity(t, w.App.ID, first.ID, 9))
	wantEqual(t, "one by one", want, w.activity(t, w.App.ID, first.ID, 1))
	wantEqual(t, "of another user", 0, len(w.activity(t, w.App.ID, other.ID, 9)))
	dust := w.Request(t, 1)
	dust.UserID = other.ID
	failed := w.record(t, dust)
	check(t, w.Settle(t, w.Open(t), "filled", 1, 1_000_000*dollar200))
	wantEqual(t, "dust", rewards.Failed, w.reward(t, failed).Status)
	wantEqual(t, "of dust", 0, len(w.activity(t, w.App.ID, other.ID, 9)))
	stranger := w.NewApp(t, "stranger")
	_, err := w.Activity(t.Context(), stranger.ID, first.ID, rewards.ActivityPage{Limit: 1})
	wantCode(t, err, rewards.CodeNotFound)
	_, err = w.Activity(t.Context(), w.App.ID, rewards.UserID{1}, rewards.ActivityPage{Limit: 1})
	wantCode(t, err, rewards.CodeNotFound)
}

// testActivityPages: pages have each entry once, in order, whatever their size: parts of awards that
// were booked at one moment, and corporate actions at that same moment.
func testActivityPages(t *testing.T, w *World) {
	for range 5 {
		w.Give(t, 2_000_000)
	}
	check(t, w.Settle(t, w.Open(t), "filled", 50_000_000, dollar200))
	user := w.Users[0].ID
	for i, kind := range []rewards.ActionType{rewards.ActionForwardSplit, rewards.ActionCashDividend, rewards.ActionSpinOff} {
		a := w.note(t, fmt.Sprint("action-", i), kind, "AAPL", "KO", i)
		part, err := rewards.ParseFraction("1/5")
		check(t, err)
		var target rewards.AssetID
		if kind.Gives() {
			target = w.Asset(t, "KO").ID
		}
		conversion, err := a.Conversion(target, part)
		check(t, err)
		s := rewards.Switch{Conversion: conversion, ActionID: a.ID, AssetID: a.AssetID}
		s.Booked = w.booked(t, a.AssetID)
		s.Position = s.Booked
		applied := a
		applied.State, applied.AppliedAt = rewards.ActionApplied, w.Now()
		check(t, w.ApplyAction(t.Context(), w.lease, rewards.ActionChange{Before: a, After: applied}, s, rewards.Renaming{}))
		s, _, err = w.OpenSwitch(t.Context())
		check(t, err)
		before := w.activity(t, w.App.ID, user, 50)
		for done := false; !done; {
			done, err = w.Sweep(t.Context(), w.lease, s.Number)
			check(t, err)
		}
		wantEqual(t, "after the sweep", before, w.activity(t, w.App.ID, user, 50))
	}
	all := w.activity(t, w.App.ID, user, 50)
	var types []string
	for _, a := range all {
		types = append(types, a.Type)
	}
	wantEqual(t, "types", []string{"spin_off", "spin_off", "forward_split", "award", "award", "award", "award", "award"}, types)
	for limit := 1; limit <= len(all)+1; limit++ {
		wantEqual(t, fmt.Sprint("in pages of ", limit), all, w.activity(t, w.App.ID, user, limit))
	}
}

// wantSums checks that a user's activity adds up to the holdings, whole and in pages.
func (w *World) wantSums(t *testing.T, user rewards.UserID) {
	t.Helper()
	list := w.activity(t, w.App.ID, user, 50)
	if pages := w.activity(t, w.App.ID, user, 3); !slices.Equal(list, pages) {
		t.Errorf("in pages %+v, want %+v", pages, list)
	}
	sums := make(map[string]rewards.Holding)
	for i, a := range list {
		if i > 0 && a.Place.Compare(list[i-1].Place) >= 0 {
			t.Errorf("entry %d is not older: %+v", i, list)
		}
		sum := sums[a.Symbol]
		sums[a.Symbol] = rewards.Holding{Quantity: sum.Quantity + a.Quantity, CostBasis: sum.CostBasis + a.CostBasis}
	}
	held, err := w.Holdings(t.Context(), w.App.ID, user)
	check(t, err)
	for _, asset := range read(t, w.Assets) {
		var is rewards.Holding
		for _, h := range held {
			if h.AssetID == asset.ID {
				is = rewards.Holding{Quantity: h.Quantity, CostBasis: h.CostBasis}
			}
		}
		wantEqual(t, "the activity of "+asset.Symbol, is, sums[asset.Symbol])
	}
}
