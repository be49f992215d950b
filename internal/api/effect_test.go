package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// apply applies an action to all holdings, as fulfillment does, and sweeps.
func (w *world) apply(t *testing.T, a rewards.Action, target string) {
	t.Helper()
	w.applyTo(t, a, target, 0)
}

// applyTo is apply for a stock with booked shares.
func (w *world) applyTo(t *testing.T, a rewards.Action, target string, booked money.Shares) {
	t.Helper()
	lease, err := w.store.TakeLease(t.Context(), "tester", time.Hour, false)
	check(t, err)
	a.AssetID, a.ExDate = w.asset(t, a.Symbol), "2026-12-01"
	var to rewards.AssetID
	if target != "" {
		to = w.asset(t, target)
	}
	var part rewards.Fraction
	if a.Type == rewards.ActionSpinOff {
		part, err = rewards.ParseFraction("1/4")
		check(t, err)
	}
	conversion, err := a.Conversion(to, part)
	check(t, err)
	s := rewards.Switch{Conversion: conversion, ActionID: a.ID, AssetID: a.AssetID, Booked: booked, Position: booked}
	after := a // until the cash is shared, only who is entitled to a dividend is recorded
	if a.Type != rewards.ActionCashDividend {
		after = rewards.Observation{SeenAt: w.clock.now()}.Applied(a)
	}
	check(t, w.store.ApplyAction(t.Context(), lease, rewards.ActionChange{Before: a, After: after}, s, rewards.Renaming{}))
	w.sweep(t)
}

func (w *world) sweep(t *testing.T) {
	t.Helper()
	lease, err := w.store.TakeLease(t.Context(), "tester", time.Hour, false)
	check(t, err)
	for {
		s, open, err := w.store.OpenSwitch(t.Context())
		check(t, err)
		if !open {
			return
		}
		_, err = w.store.Sweep(t.Context(), lease, s.Number)
		check(t, err)
	}
}

// Additions, section 7: the effects are those on the app's users, by user, one for each holding, of
// both stocks. Of an undone action they are what was taken back.
func TestEffects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, first := w.holder(t, "AAPL")
	second := c.newUser(t)
	c.hold(t, second, "AAPL", 3, money.Dollar)
	c.hold(t, second, "KO", money.Share, money.Dollar)
	other, stranger := w.holder(t, "AAPL", "KO")
	split := rewards.Action{Terms: rewards.Terms{Type: "reverse_split", Symbol: "AAPL", OldRate: "2", NewRate: "1"}, State: rewards.ActionAnnounced}
	split.ID = w.announce(t, split)
	target := "/v1/corporate-actions/" + split.ID + "/effects"
	wantBody(t, c.get(t, target).wantStatus(t, http.StatusOK), `{"effects":[]}`)
	w.apply(t, split, "")
	effect := func(user, rest string) string { return `{"userId":"` + user + `","assetSymbol":` + rest + `}` }
	want := []string{
		effect(first, `"AAPL","quantityBefore":1,"quantityAfter":0.5,"costBasisBefore":10,"costBasisAfter":10,"amountUsd":null`),
		effect(second, `"AAPL","quantityBefore":0.000000003,"quantityAfter":0.000000001,"costBasisBefore":1,"costBasisAfter":1,"amountUsd":null`),
	}
	c.wantEffects(t, target, want)
	other.wantEffects(t, target, []string{
		effect(stranger, `"AAPL","quantityBefore":1,"quantityAfter":0.5,"costBasisBefore":10,"costBasisAfter":10,"amountUsd":null`),
	})
	if _, err := w.store.UndoAction(t.Context(), split.ID); err != nil {
		t.Fatal(err)
	}
	c.get(t, "/v1/corporate-actions/"+split.ID).want(t, "undone", "corporateAction", "status")
	c.wantEffects(t, target, want)
	w.sweep(t)
	c.wantEffects(t, target, want)

	spin := rewards.Action{
		Terms: rewards.Terms{Type: "spin_off", Symbol: "AAPL", NewSymbol: "KO", OldRate: "1", NewRate: "2"}, State: rewards.ActionAnnounced,
	}
	spin.ID = w.announce(t, spin)
	w.apply(t, spin, "KO")
	want = []string{
		effect(first, `"AAPL","quantityBefore":1,"quantityAfter":1,"costBasisBefore":10,"costBasisAfter":7.5,"amountUsd":null`),
		effect(first, `"KO","quantityBefore":0,"quantityAfter":2,"costBasisBefore":0,"costBasisAfter":2.5,"amountUsd":null`),
		effect(second, `"AAPL","quantityBefore":0.000000003,"quantityAfter":0.000000003,"costBasisBefore":1,"costBasisAfter":0.75,"amountUsd":null`),
		effect(second, `"KO","quantityBefore":1,"quantityAfter":1.000000006,"costBasisBefore":1,"costBasisAfter":1.25,"amountUsd":null`),
	}
	if w.asset(t, "KO") < w.asset(t, "AAPL") { // by stock, in the order of the catalog
		want[0], want[1], want[2], want[3] = want[1], want[0], want[3], want[2]
	}
	c.wantEffects(t, "/v1/corporate-actions/"+spin.ID+"/effects", want)
}

// wantEffects compares a list of effects, in one page and in pages of every size.
func (c client) wantEffects(t *testing.T, target string, want []string) {
	t.Helper()
	wantBody(t, c.get(t, target).wantStatus(t, http.StatusOK), `{"effects":[`+strings.Join(want, ",")+`]}`)
	for limit := 1; limit <= len(want); limit++ {
		var got []string
		for page := fmt.Sprintf("%s?limit=%d", target, limit); page != ""; {
			a := c.get(t, page).wantStatus(t, http.StatusOK)
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(string(a.body), `{"effects":[`), `]}`))
			page = a.next(t)
		}
		if diff := cmp.Diff(strings.Join(want, ","), strings.Join(got, ",")); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
}

// Additions, section 7: amountUsd is the user's share in cash, under every policy. It is null until
// the cash was shared, and for what pays none.
func TestEffectsOfCash(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, user := w.holder(t, "KO")
	dividend := rewards.Action{
		Terms: rewards.Terms{Type: "cash_dividend", Symbol: "KO", Rate: "0.5"}, State: rewards.ActionAnnounced,
		Boundary: w.clock.now(),
	}
	dividend.ID = w.announce(t, dividend)
	target := "/v1/corporate-actions/" + dividend.ID + "/effects"
	w.apply(t, dividend, "")
	c.get(t, "/v1/corporate-actions/"+dividend.ID).want(t, "announced", "corporateAction", "status")
	c.wantEffects(t, target, nil) // who is entitled is known, but nothing has happened
	w.pay(t, dividend.ID, rewards.Payment{ActivityID: "one", Net: money.Dollar / 2, Counted: money.Share})
	c.get(t, "/v1/corporate-actions/"+dividend.ID).want(t, "applied", "corporateAction", "status")
	c.wantEffects(t, target, []string{`{"userId":"` + user + `","assetSymbol":"KO","quantityBefore":1,"quantityAfter":1,` +
		`"costBasisBefore":10,"costBasisAfter":10,"amountUsd":0.5}`})

	merger := rewards.Action{
		Terms: rewards.Terms{Type: "stock_and_cash_merger", Symbol: "KO", NewSymbol: "NVDA", OldRate: "2", NewRate: "1", Rate: "3"},
		State: rewards.ActionAnnounced,
	}
	merger.ID = w.announce(t, merger)
	w.apply(t, merger, "NVDA")
	target = "/v1/corporate-actions/" + merger.ID + "/effects"
	old := `{"userId":"` + user + `","assetSymbol":"KO","quantityBefore":1,"quantityAfter":0,"costBasisBefore":10,"costBasisAfter":0,"amountUsd":`
	gain := `{"userId":"` + user + `","assetSymbol":"NVDA","quantityBefore":0,"quantityAfter":0.5,"costBasisBefore":0,"costBasisAfter":10,"amountUsd":null}`
	inOrder := func(amount string) []string {
		if w.asset(t, "NVDA") < w.asset(t, "KO") {
			return []string{gain, old + amount + "}"}
		}
		return []string{old + amount + "}", gain}
	}
	c.wantEffects(t, target, inOrder("null"))
	w.pay(t, merger.ID, rewards.Payment{ActivityID: "two", Net: 3 * money.Dollar, Counted: money.Share})
	c.wantEffects(t, target, inOrder("3"))
}

// pay shares a payment for an action among its users, and ends the payout.
func (w *world) pay(t *testing.T, action string, p rewards.Payment) {
	t.Helper()
	lease, err := w.store.TakeLease(t.Context(), "tester", time.Hour, false)
	check(t, err)
	check(t, w.store.BeginPayout(t.Context(), lease, action, p))
	for done := false; !done; {
		done, err = w.store.SharePayout(t.Context(), lease, action)
		check(t, err)
	}
	check(t, w.store.SavePaid(t.Context(), lease, action, nil))
}
