package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// note announces an action of a stock with a type, first seen some seconds after the start.
func (w *World) note(t *testing.T, id string, kind rewards.ActionType, symbol, newSymbol string, seconds int) rewards.Action {
	t.Helper()
	a := rewards.Action{
		Terms: rewards.Terms{Type: kind, Symbol: symbol, NewSymbol: newSymbol, OldRate: "1", NewRate: "2", Rate: "1", ExDate: "2026-12-01"},
		ID:    id, AssetID: w.Asset(t, symbol).ID, State: rewards.ActionAnnounced, DecidedAt: w.Now(),
		FirstSeen: time.UnixMicro(start).Add(time.Duration(seconds) * time.Second).UTC(),
	}
	check(t, w.change(t, rewards.ActionChange{After: a}))
	return a
}

// endow gives users of an app holdings of a stock in the database, of the n-th user n billionths.
func (w *World) endow(t *testing.T, app rewards.AppID, symbol string, users ...rewards.UserID) {
	t.Helper()
	asset := int64(w.Asset(t, symbol).ID)
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		for i, user := range users {
			if _, err := tx.Exec(ctx, `INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis)
				VALUES (?1, ?2, ?3, ?4, ?5)`, app[:], user[:], asset, int64(i+1), int64(10*(i+1))); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO app_assets (app_id, asset_id) VALUES (?1, ?2)`, app[:], asset)
		return err
	}))
}

// testActionsOfApp: clients see the actions of their users' stocks, newest first.
func testActionsOfApp(t *testing.T, w *World) {
	other, stranger := w.NewApp(t, "other"), w.NewApp(t, "stranger")
	w.endow(t, w.App.ID, "AAPL", w.Users[0].ID)
	w.endow(t, other.ID, "KO", w.NewUser(t, other.ID, "user").ID)
	w.note(t, "b", rewards.ActionForwardSplit, "AAPL", "", 1)
	w.note(t, "a", rewards.ActionCashDividend, "KO", "", 1)
	w.note(t, "c", rewards.ActionSpinOff, "AAPL", "KO", 1)
	w.note(t, "d", rewards.ActionNameChange, "AAPL", "PEAR", 0)
	w.note(t, "e", rewards.ActionSpinOff, "TSLA", "AAPL", 2)
	w.note(t, "f", rewards.ActionWorthless, "TSLA", "", 3)
	w.note(t, "g", rewards.ActionPosition, "AAPL", "", 3)
	w.note(t, "h", "things_of_tomorrow", "AAPL", "", 3)
	list := func(app rewards.App, f rewards.ActionFilter, p rewards.ActionPage) (ids string) {
		t.Helper()
		actions, err := w.ActionsOfApp(t.Context(), app.ID, f, p)
		check(t, err)
		for _, a := range actions {
			ids += a.ID
			got, err := w.ActionOfApp(t.Context(), app.ID, a.ID)
			check(t, err)
			wantEqual(t, "read alone", a, got)
		}
		return ids
	}
	everything := rewards.ActionPage{Limit: 100}
	states := func(s ...rewards.ActionState) rewards.ActionFilter { return rewards.ActionFilter{States: s} }
	for _, run := range []struct {
		app  rewards.App
		f    rewards.ActionFilter
		want string
	}{
		{w.App, rewards.ActionFilter{}, "ecbd"},
		{other, rewards.ActionFilter{}, "ca"},
		{stranger, rewards.ActionFilter{}, ""},
		{w.App, rewards.ActionFilter{Symbol: "KO"}, "c"},
		{w.App, rewards.ActionFilter{Symbol: "TSLA"}, "e"},
		{w.App, rewards.ActionFilter{Symbol: "PEAR"}, "d"},
		{w.App, rewards.ActionFilter{Symbol: "NONE"}, ""},
		{w.App, states(rewards.ActionAnnounced), "ecbd"},
		{w.App, states(rewards.ActionApplied, rewards.ActionSwept), ""},
		{other, rewards.ActionFilter{Symbol: "KO", States: []rewards.ActionState{rewards.ActionAnnounced}}, "ca"},
	} {
		wantEqual(t, fmt.Sprintf("%s %+v", run.app.Name, run.f), run.want, list(run.app, run.f, everything))
	}
	for limit := 1; limit <= 4; limit++ {
		walked, page := "", rewards.ActionPage{Limit: limit}
		for {
			ids := list(w.App, rewards.ActionFilter{}, page)
			if ids == "" {
				break
			}
			walked += ids
			last, err := w.ActionOfApp(t.Context(), w.App.ID, ids[len(ids)-1:])
			check(t, err)
			page.Before = rewards.ActionPlace{FirstSeen: last.FirstSeen, ID: last.ID}
		}
		wantEqual(t, fmt.Sprint("in pages of ", limit), "ecbd", walked)
	}
	for _, id := range []string{"a", "f", "g", "h", "i", ""} {
		wantCode(t, failure(w.ActionOfApp(t.Context(), w.App.ID, id)), rewards.CodeNotFound)
		_, err := w.Effects(t.Context(), w.App.ID, id, rewards.EffectPage{Limit: 1})
		wantCode(t, err, rewards.CodeNotFound)
	}
	w.shownStates(t, list)
}

// shownStates: an action that passed before anybody had shares is not shown; the filter finds
// each of its states.
func (w *World) shownStates(t *testing.T, list func(rewards.App, rewards.ActionFilter, rewards.ActionPage) string) {
	t.Helper()
	app := w.NewApp(t, "of states")
	w.endow(t, app.ID, "TSLA", w.NewUser(t, app.ID, "user").ID)
	a, err := w.ActionOfApp(t.Context(), app.ID, "f")
	check(t, err)
	for state := rewards.ActionAnnounced; state <= rewards.ActionUndoing; state++ {
		before := a
		a.State = state
		check(t, w.change(t, rewards.ActionChange{Before: before, After: a}))
		want := "fe"
		if state == rewards.ActionPassed {
			want = "e"
		}
		wantEqual(t, state.String(), want, list(app, rewards.ActionFilter{}, rewards.ActionPage{Limit: 9}))
		shown, _ := rewards.StatesShown(state.Shown())
		want = map[bool]string{true: "f", false: ""}[slices.Contains(shown, state)]
		if slices.Contains(shown, rewards.ActionAnnounced) {
			want += "e"
		}
		wantEqual(t, state.Shown(), want, list(app, rewards.ActionFilter{States: shown}, rewards.ActionPage{Limit: 9}))
	}
}

// testEffects: the effects of an action are complete from the moment in which it is applied, also
// while the sweep goes on, and belong to one app.
func testEffects(t *testing.T, w *World) {
	app, last := w.NewApp(t, "middle").ID, w.NewApp(t, "last").ID
	const many = 1_100 // more than one transaction of a sweep
	var users []rewards.UserID
	for i := range many {
		users = append(users, w.NewUser(t, app, fmt.Sprint("holder-", i)).ID)
	}
	w.endow(t, w.App.ID, "AAPL", w.Users[0].ID)
	w.endow(t, app, "AAPL", users...)
	w.endow(t, app, "KO", users[2], users[many-1])
	w.endow(t, last, "AAPL", w.NewUser(t, last, "user").ID)
	a := w.note(t, "spin", rewards.ActionSpinOff, "AAPL", "KO", 1)
	wantShown(t, "before", nil, w.shownEffects(t, app, a.ID, 199))
	part, err := rewards.ParseFraction("1/5")
	check(t, err)
	conversion, err := a.Conversion(w.Asset(t, "KO").ID, part)
	check(t, err)
	s := rewards.Switch{Conversion: conversion, ActionID: a.ID, AssetID: a.AssetID}
	applied := a
	applied.State, applied.AppliedAt = rewards.ActionApplied, w.Now()
	check(t, w.ApplyAction(t.Context(), w.lease, rewards.ActionChange{Before: a, After: applied}, s, rewards.Renaming{}))
	s, open, err := w.OpenSwitch(t.Context())
	check(t, err)
	var want []rewards.ActionEffect
	for done := false; ; {
		got := w.shownEffects(t, app, a.ID, 199)
		if want == nil {
			want = got
		}
		wantShown(t, "during the sweep", want, got)
		wantShown(t, "in pages", want, w.shownEffects(t, app, a.ID, 61))
		wantEqual(t, "of the other apps", 4, len(w.shownEffects(t, w.App.ID, a.ID, 3))+len(w.shownEffects(t, last, a.ID, 2)))
		if done || !open {
			break
		}
		done, err = w.Sweep(t.Context(), w.lease, s.Number)
		check(t, err)
	}
	if len(want) != 2*many {
		t.Fatalf("%d effects of %d holdings", len(want), 2*many)
	}
	for i, e := range want[:6] {
		user := int64(i/2 + 1)
		had, symbol := user, "AAPL"
		entitled := user
		now, cost, basis := had, 10*user, 8*user
		if i%2 == 1 {
			had, symbol, now, cost, basis, entitled = 0, "KO", 2*user, 0, 2*user, 0
			if user == 3 { // had one before
				had, now, cost, basis = 1, now+1, 10, basis+10
			}
		}
		wantEqual(t, "effect", rewards.ActionEffect{Symbol: symbol, Effect: rewards.Effect{
			AppID: app, UserID: users[i/2], AssetID: w.Asset(t, symbol).ID, Before: money.Shares(had), After: money.Shares(now),
			BasisBefore: money.USD(cost), BasisAfter: money.USD(basis),
			Entitled: money.Shares(entitled),
		}}, e)
	}
	w.effectsAfterUndo(t, app, applied, want)
}

func wantShown(t *testing.T, what string, want, got []rewards.ActionEffect) {
	t.Helper()
	if !slices.Equal(want, got) {
		t.Errorf("%s: %d effects, want %d: %+v", what, len(got), len(want), got)
	}
}

// shownEffects reads all effects of an action that clients of the app see, in pages.
func (w *World) shownEffects(t *testing.T, app rewards.AppID, action string, limit int) (all []rewards.ActionEffect) {
	t.Helper()
	for page := (rewards.EffectPage{Limit: limit}); ; {
		part, err := w.Effects(t.Context(), app, action, page)
		check(t, err)
		all = append(all, part...)
		if len(part) < limit {
			return all
		}
		page.After = rewards.EffectPlace{User: part[limit-1].UserID, Asset: part[limit-1].AssetID}
	}
}

// effectsAfterUndo: those of an undone action are those that were taken back.
func (w *World) effectsAfterUndo(t *testing.T, app rewards.AppID, a rewards.Action, want []rewards.ActionEffect) {
	t.Helper()
	_, err := w.As(rewards.Operator{Actor: "ann@db1", Command: "action undo", Reason: "checked"}).UndoAction(t.Context(), a.ID)
	check(t, err)
	wantShown(t, "while it is undone", want, w.shownEffects(t, app, a.ID, 199))
	s, _, err := w.OpenSwitch(t.Context())
	check(t, err)
	for done := false; !done; {
		done, err = w.Sweep(t.Context(), w.lease, s.Number)
		check(t, err)
	}
	wantShown(t, "undone", want, w.shownEffects(t, app, a.ID, 199))
}
