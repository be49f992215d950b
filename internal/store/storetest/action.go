package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// actionContract are the tests of corporate actions.
func actionContract() map[string]func(*testing.T, *World) {
	return map[string]func(*testing.T, *World){
		"Actions":             testActions,
		"Booked":              testBooked,
		"ApplyRefused":        testApplyRefused,
		"SweepWaits":          testSweepWaits,
		"Units":               testUnits,
		"SweepBounds":         testSweepBounds,
		"UndoRefused":         testUndoRefused,
		"UndoTakenBack":       testUndoTakenBack,
		"GiftMeanwhile":       testGiftMeanwhile,
		"CashStaysShown":      testCashStaysShown,
		"CorrectedBeforeUndo": testCorrectedBeforeUndo,
		"Acknowledged":        testAcknowledged,
		"ConflictsRenamed":    testConflictsRenamed,
		"TakeOver":            testTakeOver,
		"RenamedByAction":     testRenamedByAction,
		"EnsureAsset":         testEnsureAsset,
		"Activities":          testActivities,
		"Payout":              testPayout,
		"PayoutRefused":       testPayoutRefused,
		"OwedCash":            testOwedCash,
		"OperatorActions":     testOperatorActions,
		"House":               testHouse,
		"HouseOffers":         testHouseOffers,
		"ActionsOfApp":        testActionsOfApp,
		"EffectsOfActions":    testEffects,
		"LateDividend":        testLateDividend,
		"CorrectedFill":       testCorrectedFill,
		"CorrectedPosition":   testCorrectedPosition,
		"Shortage":            testShortage,
		"PayoutOfTooFew":      testPayoutOfTooFew,
	}
}

// split announces a split of AAPL with an ex-date.
func (w *World) split(t *testing.T, id string, ex rewards.Date) rewards.ActionChange {
	t.Helper()
	seen := rewards.Observation{Now: w.Now(), SeenAt: w.Now(), Sessions: []rewards.Date{ex.Plus(-1)}}
	n := rewards.Announcement{ID: id, ProcessDate: ex, Body: `{"id":"` + id + `"}`, Terms: rewards.Terms{
		Type: "forward_split", Symbol: "AAPL", OldRate: "1", NewRate: "4.0", ExDate: ex,
	}}
	return rewards.ActionChange{After: seen.NewAction(n, w.Asset(t, "AAPL").ID, true), Body: n.Body}
}

// change stores one change.
func (w *World) change(t *testing.T, c rewards.ActionChange) error {
	t.Helper()
	return w.ChangeActions(t.Context(), w.lease, []rewards.ActionChange{c})
}

// hold reads AAPL's hold, which every reader must report alike.
func (w *World) hold(t *testing.T) rewards.ActionHold {
	t.Helper()
	a := w.Asset(t, "AAPL")
	hold, err := w.AssetHold(t.Context(), a.ID)
	check(t, err)
	pools := read(t, w.Pools)
	quoted, _, err := w.QuotedAssets(t.Context())
	check(t, err)
	if len(pools) != 1 || pools[0].Asset.Hold != hold || len(quoted) != 1 || quoted[0].Hold != a.Hold {
		t.Errorf("held from %v, by the asset %v, by its pools %+v, by its quotes %+v", hold, a.Hold, pools, quoted)
	}
	if hold.From != a.Hold.From {
		t.Errorf("held from %s, by the asset from %s", hold.From, a.Hold.From)
	}
	return a.Hold
}

func testActions(t *testing.T, w *World) {
	w.Give(t, 2_000_000)
	today := rewards.DateOf(w.Now())
	first, second := w.split(t, "later", today.Plus(10)), w.split(t, "sooner", today.Plus(5))
	check(t, w.change(t, first))
	check(t, w.change(t, second))
	if got := w.hold(t); !got.From.Equal(second.After.HoldFrom) || !got.Exists() || got.Units.Ratio.Old != 0 {
		t.Errorf("held by %+v, want it from %s without a ratio: two actions are pending", got, second.After.HoldFrom)
	}
	w.wantPlan(t, second.After.HoldFrom, rewards.HoldAction)
	open, err := w.OpenActions(t.Context(), today)
	check(t, err)
	wantEqual(t, "open", []rewards.Action{second.After, first.After}, open)
	withdrawn := rewards.ActionChange{Before: second.After, After: rewards.Observation{Now: w.Now()}.Withdraw(second.After)}
	check(t, w.change(t, withdrawn))
	if err := w.change(t, withdrawn); !errors.Is(err, rewards.ErrStale) {
		t.Errorf("a second time: %v, want ErrStale", err)
	}
	want := rewards.ActionHold{From: first.After.HoldFrom, Units: rewards.Units{
		From: first.After.Boundary, Ratio: rewards.Ratio{Old: 1, New: 4},
	}}
	wantEqual(t, "the hold after the other action was withdrawn", want, w.hold(t))
	w.heldWhateverTheClock(t, first.After)
	w.listedActions(t, first, today)
	lost := w.lease
	lost.Epoch--
	err = w.ChangeActions(t.Context(), lost, []rewards.ActionChange{w.split(t, "third", today)})
	if !errors.Is(err, rewards.ErrLostLease) {
		t.Errorf("a former leader changes actions: %v", err)
	}
	if _, _, err := w.Action(t.Context(), "third"); rewards.CodeOf(err) != rewards.CodeNotFound {
		t.Errorf("an unknown action: %v", err)
	}
}

// wantPlan checks why the pool is held at a time.
func (w *World) wantPlan(t *testing.T, at time.Time, want rewards.Hold) {
	t.Helper()
	r := w.planRequest(t)
	r.FilledUntil = at
	if _, got, err := w.PlanOrder(t.Context(), w.lease, r); err != nil || got != want {
		t.Errorf("planned at %s: hold %d, %v; want %d", at, got, err, want)
	}
}

// heldWhateverTheClock checks that a hold lasts, even if the clock is set back.
func (w *World) heldWhateverTheClock(t *testing.T, a rewards.Action) {
	t.Helper()
	began := rewards.Observation{Now: a.HoldFrom, SeenAt: w.Now()}.Hold(a, "strange")
	check(t, w.change(t, rewards.ActionChange{Before: a, After: began}))
	if hold := w.hold(t); !hold.InForce(time.UnixMicro(1)) {
		t.Errorf("held from %s, want always", hold.From)
	}
	w.wantPlan(t, a.HoldFrom.AddDate(0, 0, -7), rewards.HoldAction)
	v := read(t, w.Overview)
	wantEqual(t, "the overview", map[rewards.ActionState]int{rewards.ActionHeld: 1}, v.Actions)
}

// listedActions checks every way to read actions.
func (w *World) listedActions(t *testing.T, first rewards.ActionChange, today rewards.Date) {
	t.Helper()
	for _, c := range []struct {
		state  rewards.ActionState
		symbol string
		want   int
	}{{0, "", 2}, {rewards.ActionHeld, "", 1}, {rewards.ActionWithdrawn, "AAPL", 1}, {0, "KO", 0}} {
		list, err := w.Actions(t.Context(), c.state, c.symbol, 10)
		check(t, err)
		if len(list) != c.want {
			t.Errorf("listed %+v: %d, want %d", c, len(list), c.want)
		}
	}
	since, err := w.ActionsSince(t.Context(), today.Plus(20), nil)
	check(t, err)
	bodies, err := w.LastBodies(t.Context(), today.Plus(20), nil)
	check(t, err)
	if len(since) != 1 || since[0].ID != "later" || len(bodies) != 1 || bodies["later"] != first.Body {
		t.Errorf("open since: %+v, %v", since, bodies)
	}
	named, err := w.ActionsSince(t.Context(), today.Plus(20), []string{"sooner", "unknown"})
	check(t, err)
	bodies, err = w.LastBodies(t.Context(), today.Plus(20), []string{"sooner", "unknown"})
	check(t, err)
	if len(named) != 2 || len(bodies) != 2 {
		t.Errorf("open since, or named: %+v, %v", named, bodies)
	}
	a, revisions, err := w.Action(t.Context(), "later")
	check(t, err)
	if a.State != rewards.ActionHeld || len(revisions) != 1 || revisions[0].Body != first.Body || revisions[0].SeenAt.IsZero() {
		t.Errorf("shown: %+v, %+v", a, revisions)
	}
}

// testBooked: the running total equals the settled orders, and an operator's resume
// accepts the price and the difference.
func testBooked(t *testing.T, w *World) {
	w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_000, dollar200))
	w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_001, dollar200))
	asset := w.Asset(t, "AAPL")
	check(t, w.SaveDifferences(t.Context(), w.lease, map[rewards.AssetID]money.Shares{asset.ID: 20_000_001}))
	check(t, w.SaveQuotes(t.Context(), []rewards.Quote{{AssetID: asset.ID, Price: dollar1, ConfirmedAt: w.Now()}}))
	booked := read(t, w.Booked)
	want := []rewards.BookedPosition{{AssetID: asset.ID, Symbol: "AAPL", Quantity: 20_000_001, Differs: 20_000_001}}
	wantEqual(t, "booked", want, booked)
	held := rewards.Observation{Now: w.Now(), SeenAt: w.Now()}.PositionAction(booked[0], 40_000_002, rewards.Ratio{Old: 1, New: 2})
	check(t, w.change(t, rewards.ActionChange{After: held}))
	w.Give(t, 2_000_000)
	if !w.hold(t).InForce(w.Now()) {
		t.Error("a position that suggests a split does not hold the stock")
	}
	by := w.As(rewards.Operator{Actor: "ann@db1", Command: "action ignore", Reason: "checked"})
	for range 2 {
		r, err := by.IgnoreAction(t.Context(), held.ID, false)
		check(t, err)
		if r.Action.State != rewards.ActionIgnored || r.Action.Reason != "checked" {
			t.Errorf("ignored: %+v", r)
		}
	}
	if w.hold(t).Exists() {
		t.Error("it is still held")
	}
	_, quotes, err := w.QuotedAssets(t.Context())
	check(t, err)
	booked = read(t, w.Booked)
	if quotes[0].Accepted != dollar1 || booked[0].Accepted != 20_000_001 {
		t.Errorf("accepted: the price %s, the difference %s", quotes[0].Accepted, booked[0].Accepted)
	}
	wantCode(t, failure(by.IgnoreAction(t.Context(), "unknown", false)), rewards.CodeNotFound)
}

// actionDeeds are the deeds about corporate actions and their cash.
func (w *World) actionDeeds(t *testing.T, asset rewards.AssetID) []deed {
	t.Helper()
	for _, id := range []string{"split", "sure"} {
		a := w.split(t, id, rewards.DateOf(w.Now()).Plus(5))
		a.After.AssetID = asset
		check(t, w.change(t, a))
	}
	w.apply(t, "swept", "TSLA", rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "2"}, 0)
	w.sweep(t)
	entered := rewards.Action{
		Terms: rewards.Terms{Type: rewards.ActionForwardSplit, Symbol: "KO", OldRate: "1", NewRate: "2", ExDate: "2026-12-01"},
		ID:    "entered", State: rewards.ActionAnnounced, FirstSeen: w.Now(), Boundary: w.Now(), HoldFrom: w.Now(),
	}
	logs := func(method string, do func(context.Context, *store.Operator) error, want string) deed {
		return deed{method, do, []string{want + ": why"}}
	}
	return []deed{
		logs("IgnoreAction", func(ctx context.Context, o *store.Operator) error {
			return failure(o.IgnoreAction(ctx, "split", false))
		}, "action split: state: announced -> ignored"),
		logs("ApproveAction", func(ctx context.Context, o *store.Operator) error {
			return failure(o.ApproveAction(ctx, "sure", false))
		}, "action sure: approved: no -> yes"),
		logs("EnterAction", func(ctx context.Context, o *store.Operator) error {
			return failure(o.EnterAction(ctx, entered))
		}, "action entered: terms: "+entered.String()+", state: announced, approved: no"),
		logs("UndoAction", func(ctx context.Context, o *store.Operator) error {
			return failure(o.UndoAction(ctx, "swept"))
		}, "action swept: state: swept -> undoing"),
		logs("SetDividends", func(ctx context.Context, o *store.Operator) error {
			return o.SetDividends(ctx, "first", rewards.DividendsHouse)
		}, w.App.Object()+": dividends: reinvest -> house"),
	}
}
