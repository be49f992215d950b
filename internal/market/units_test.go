package market_test

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// split is an action of AAPL that a world announces and applies.
type split struct{ rewards.Action }

func (w *world) lease() rewards.Lease {
	w.t.Helper()
	l, err := w.store.TakeLease(w.t.Context(), "worker", time.Hour, true)
	w.check(err)
	return l
}

// announce stores a split whose units begin at a moment.
func (w *world) announce(boundary time.Time, from, to string) *split {
	w.t.Helper()
	s := &split{rewards.Action{
		ID: "split " + from + ":" + to, AssetID: w.aapl, State: rewards.ActionAnnounced, Boundary: boundary, HoldFrom: boundary,
		Terms: rewards.Terms{Type: "forward_split", Symbol: "AAPL", OldRate: from, NewRate: to, ExDate: rewards.DateOf(boundary).Plus(1)},
	}}
	w.check(w.store.ChangeActions(w.t.Context(), w.lease(), []rewards.ActionChange{{After: s.Action}}))
	return s
}

// change changes a split, as the worker does.
func (w *world) change(s *split, change func(rewards.Action) rewards.Action) {
	w.t.Helper()
	after := change(s.Action)
	w.check(w.store.ChangeActions(w.t.Context(), w.lease(), []rewards.ActionChange{{Before: s.Action, After: after}}))
	s.Action = after
}

// apply applies a split and lets its sweep end.
func (w *world) apply(s *split) {
	w.t.Helper()
	after, l := s.Action, w.lease()
	after.State = rewards.ActionApplied
	conversion, err := s.Conversion(0, rewards.Fraction{})
	w.check(err)
	w.check(w.store.ApplyAction(w.t.Context(), l, rewards.ActionChange{Before: s.Action, After: after},
		rewards.Switch{Conversion: conversion, ActionID: s.ID, AssetID: w.aapl}, rewards.Renaming{}))
	w.sweep(l)
	s.Action = after
}

func (w *world) sweep(l rewards.Lease) {
	w.t.Helper()
	open, _, err := w.store.OpenSwitch(w.t.Context())
	w.check(err)
	done, err := w.store.Sweep(w.t.Context(), l, open.Number)
	w.check(err)
	if !done {
		w.t.Fatal("the sweep of nothing did not end")
	}
}

// wantIn checks the usable price of AAPL in the units of a generation, and that it is usable in no
// other one; zero means that there is no usable price.
func (w *world) wantIn(generation int64, price money.Price) {
	w.t.Helper()
	got, ok := w.Price(w.aapl, generation)
	if got != price || ok != (price != 0) {
		w.t.Errorf("price %s in generation %d, usable %t; want %s", got, generation, ok, price)
	}
	for _, other := range []int64{generation - 1, generation + 1} {
		if got, ok := w.Price(w.aapl, other); ok {
			w.t.Errorf("price %s is usable in generation %d, the asset's is %d", got, other, generation)
		}
	}
}

// Before it is applied the price stays in the old units, whatever the broker reports; afterwards
// it is in the new ones, also while the stock is halted and reports an old trade.
func TestAPriceKeepsItsUnits(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		boundary := time.Now().Add(time.Hour)
		s := w.announce(boundary, "1", "4")
		w.quote(200*dollar, 199*dollar)
		w.wantNext(200 * dollar) // before the boundary
		time.Sleep(time.Until(boundary.Add(time.Second)))
		halted := w.feed.prices["AAPL"]
		w.wantNext(200 * dollar) // halted since before
		w.quote(51*dollar, 199*dollar)
		w.wantNext(204 * dollar)
		time.Sleep(time.Second)
		w.quote(52*dollar, 50*dollar) // the previous close is in the new units as well
		w.wantNext(208 * dollar)
		w.run(20 * time.Second) // it is stored
		w.apply(s)
		w.wantIn(0, 208*dollar) // as long as holdings are read in the old units
		w.check(w.Reload(w.t.Context()))
		w.wantIn(1, 52*dollar)
		w.tick()
		w.wantIn(1, 52*dollar)
		time.Sleep(time.Second)
		w.quote(53*dollar, 199*dollar)
		w.run(20 * time.Second)
		w.wantIn(1, 53*dollar)
		w.restart()
		w.feed.prices["AAPL"] = halted // older than what is known
		w.tick()
		w.wantIn(1, 53*dollar)
	})
}

// A halted stock goes on to report its trade of before the action.
func TestAHaltedStockIsConverted(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.quote(200*dollar, 199*dollar)
		w.tick()
		boundary := time.Now().Add(time.Minute)
		s := w.announce(boundary, "1", "4")
		w.run(2 * time.Minute)
		w.want(200 * dollar)
		w.apply(s)
		w.run(10 * time.Minute)
		w.wantIn(1, 50*dollar)
		if w.feed.prices["AAPL"].Price != 200*dollar {
			t.Fatal("the stock is not halted")
		}
		w.quote(49*dollar, 199*dollar)
		w.tick()
		w.wantIn(1, 49*dollar)
		if doubts := w.Doubts(); len(doubts) != 0 {
			t.Errorf("in doubt: %v", doubts)
		}
	})
}

// The announcement comes after the price fell: the price that was taken for one in the old units
// is not offered any more, and the right one is, before and after the action is applied.
func TestAnAnnouncementAfterThePriceFell(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]bool{"the market is read in between": true, "it is applied at once": false}, func(w *world, between bool) {
		boundary := time.Now().Add(time.Minute)
		w.quote(201*dollar, 200*dollar)
		w.run(2 * time.Minute)
		w.quote(134*dollar, 200*dollar) // a third less is in no doubt
		w.run(20 * time.Second)         // it is stored
		w.want(134 * dollar)
		s := w.announce(boundary, "2", "3")
		w.check(w.Reload(w.t.Context()))
		w.want(0) // in unknown units
		if between {
			w.wantNext(201 * dollar)
			w.run(20 * time.Second)
		}
		w.apply(s)
		w.check(w.Reload(w.t.Context()))
		if between {
			w.wantIn(1, 134*dollar)
		} else {
			w.wantIn(1, 0)
		}
		w.tick()
		w.wantIn(1, 134*dollar)
	})
}

// The same for a fall that is in doubt: the action explains it, so that nobody needs to.
func TestAnActionExplainsADoubt(t *testing.T) {
	t.Parallel()
	type variant struct {
		to   string
		want money.Price
	}
	inWorlds(t, map[string]variant{"its ratio": {"4", 50 * dollar}, "another ratio": {"2", 0}}, func(w *world, v variant) {
		boundary := time.Now().Add(time.Minute)
		w.quote(200*dollar, 200*dollar)
		w.run(2 * time.Minute)
		w.quote(50*dollar, 200*dollar)
		w.wantNext(0)
		s := w.announce(boundary, "1", v.to)
		w.wantNext(0)
		w.apply(s)
		w.run(2 * time.Second)
		w.wantIn(1, v.want)
		if doubts := w.Doubts(); (len(doubts) == 0) != (v.want != 0) {
			t.Errorf("in doubt: %v", doubts)
		}
	})
}

// A process that starts in an outage while an action is pending offers the stored price, in the
// units of then.
func TestARestartWhileAnActionIsPending(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		boundary := time.Now().Add(2 * time.Minute)
		s := w.announce(boundary, "1", "4")
		w.quote(200*dollar, 199*dollar)
		w.run(time.Minute)
		w.feed.err = errors.New("outage")
		w.restart()
		w.want(200 * dollar)
		w.feed.err = nil
		time.Sleep(time.Until(boundary) + time.Second)
		w.quote(51*dollar, 199*dollar)
		w.run(20 * time.Second)
		w.feed.err = errors.New("outage")
		w.restart()
		w.wantNext(204 * dollar)
		w.apply(s)
		w.restart()
		w.wantIn(1, 51*dollar)
	})
}

// While a person must decide, the units of new trades are unknown: the price of before is offered
// for a minute of open market.
func TestAHeldActionHasNoUnits(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		boundary := time.Now().Add(time.Minute)
		s := w.announce(boundary, "1", "4")
		w.quote(200*dollar, 199*dollar)
		w.run(50 * time.Second)
		w.change(s, func(a rewards.Action) rewards.Action {
			return rewards.Observation{Now: time.Now(), SeenAt: time.Now()}.Hold(a, "another ratio")
		})
		w.run(20 * time.Second)
		w.quote(51*dollar, 199*dollar)
		w.wantAfter(20*time.Second, 200*dollar)
		w.wantAfter(time.Minute, 0)
		w.change(s, func(a rewards.Action) rewards.Action {
			a, err := a.Approve("the broker's letter", time.Now())
			w.check(err)
			return a
		})
		w.wantNext(204 * dollar)
		w.apply(s)
		w.tick()
		w.wantIn(1, 51*dollar)
	})
}

// A reading of prices that is under way while an action is announced or applied offers and stores
// nothing in other units.
func TestAReadingThatAnActionOvertakes(t *testing.T) {
	t.Parallel()
	type variant struct{ before, after bool }
	inWorlds(t, map[string]variant{
		"announced": {}, "applied": {before: true}, "applied and reloaded": {before: true, after: true},
	}, func(w *world, v variant) {
		boundary := time.Now().Add(time.Minute)
		w.quote(201*dollar, 200*dollar)
		w.run(2 * time.Minute)
		var s *split
		if v.before {
			s = w.announce(boundary, "2", "3")
		}
		time.Sleep(10 * time.Second)
		w.quote(134*dollar, 200*dollar)
		w.feed.meanwhile = func() {
			w.feed.meanwhile = nil
			switch {
			case !v.before:
				s = w.announce(boundary, "2", "3")
			default:
				w.apply(s)
			}
			if v.after {
				w.check(w.Reload(w.t.Context()))
			}
		}
		w.tick()
		if q := w.stored(); !v.before && q.Price != 201*dollar {
			t.Errorf("stored: %+v", q)
		}
		if v.before {
			w.check(w.Reload(w.t.Context()))
			w.wantIn(1, 134*dollar)
			return
		}
		w.check(w.Reload(w.t.Context()))
		w.want(0)
		w.wantNext(201 * dollar)
		w.apply(s)
		w.check(w.Reload(w.t.Context()))
		w.wantIn(1, 134*dollar)
	})
}

// The price of a stock whose split does not happen, such as one that was announced twice, is in doubt. It is not shown in
// units that nobody has, although the broker's previous close would be off by the same.
func TestASplitThatNeverHappens(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		boundary := time.Now().Add(time.Minute)
		w.announce(boundary, "1", "3")
		w.quote(300*dollar, 299*dollar)
		w.wantNext(300 * dollar)
		time.Sleep(time.Until(boundary.Add(time.Second)))
		w.quote(301*dollar, 300*dollar)
		w.wantAfter(20*time.Second, 0)
		if got := w.Doubts(); len(got) != 1 || got[0] != "AAPL" {
			t.Errorf("in doubt: %v", got)
		}
	})
}
