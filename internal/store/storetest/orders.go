package storetest

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// The prices of the tests, in billionths of a dollar.
const (
	dollar200 money.Price = 200_000_000_000
	dollar1   money.Price = 1_000_000_000
)

func testPlan(t *testing.T, w *World) {
	first, second := w.Give(t, 2_500_001), w.Give(t, 1_000_000)
	pools := read(t, w.Pools)
	if len(pools) != 1 || pools[0].Asset.Symbol != "AAPL" || !pools[0].Oldest.Equal(first.CreatedAt()) || pools[0].Blocked {
		t.Fatalf("pools %+v", pools)
	}
	o := w.Plan(t)
	if o.Notional != 3_510_000 || o.House != 9_999 || o.State != rewards.OrderPlanned {
		t.Errorf("planned %+v, want the notional rounded up to the cent", o)
	}
	claims, err := w.Members(t.Context(), o.ID)
	check(t, err)
	want := []rewards.Claim{
		{Member: rewards.Member{AppID: w.App.ID, RewardID: first.ID, Amount: 2_500_001}, UserID: first.UserID, RewardAmount: 2_500_001},
		{Member: rewards.Member{AppID: w.App.ID, RewardID: second.ID, Amount: 1_000_000}, UserID: second.UserID, RewardAmount: 1_000_000},
	}
	wantEqual(t, "members", want, claims)
	if o.MembersHash != rewards.HashMembers([]rewards.Member{want[0].Member, want[1].Member}) {
		t.Error("the seal does not match the members")
	}
	if got := w.reward(t, first).Status; got != rewards.Executing {
		t.Errorf("status %s, want executing", got)
	}
	stored, err := w.Order(t.Context(), o.ID)
	check(t, err)
	wantEqual(t, "order", o, stored)
	if _, hold, err := w.PlanOrder(t.Context(), w.lease, w.planRequest(t)); err != nil || hold != rewards.HoldEmpty {
		t.Errorf("a second plan: hold %d, %v; want an empty pool", hold, err)
	}
}

func testPlanHolds(t *testing.T, w *World) {
	w.Give(t, 400_000)
	plan := func(change func(*rewards.PlanLimits)) rewards.Hold {
		r := w.planRequest(t)
		change(&r.Limits)
		_, hold, err := w.PlanOrder(t.Context(), w.lease, r)
		check(t, err)
		return hold
	}
	if got := plan(func(l *rewards.PlanLimits) { l.TopUp = false }); got != rewards.HoldSmallPool {
		t.Errorf("hold %d, want a small pool to wait", got)
	}
	if got := plan(func(l *rewards.PlanLimits) { l.HouseLeft = 599_999 }); got != rewards.HoldHouse {
		t.Errorf("hold %d, want the house's limit", got)
	}
	if got := plan(func(l *rewards.PlanLimits) { l.DailyLeft = 990_000 }); got != rewards.HoldDaily {
		t.Errorf("hold %d, want the daily limit", got)
	}
	check(t, failure(w.SetSuspended(t.Context(), "first", true)))
	pools := read(t, w.Pools)
	if got := plan(func(*rewards.PlanLimits) {}); got != rewards.HoldEmpty || len(pools) != 0 {
		t.Errorf("hold %d and %d pools, want none for a suspended app", got, len(pools))
	}
	check(t, failure(w.SetSuspended(t.Context(), "first", false)))
	if got := plan(func(l *rewards.PlanLimits) { l.HouseLeft, l.DailyLeft = 600_000, 1_000_000 }); got != rewards.NoHold {
		t.Fatalf("hold %d, want an order", got)
	}
	w.Give(t, 1_000_000)
	if got := plan(func(l *rewards.PlanLimits) { l.DailyLeft = 1_990_000 }); got != rewards.HoldDaily {
		t.Errorf("hold %d, want today's order counted", got)
	}
	w.Advance(24 * time.Hour)
	if got := plan(func(l *rewards.PlanLimits) { l.DailyLeft = 1_000_000 }); got != rewards.NoHold {
		t.Errorf("hold %d, want a new day to begin", got)
	}
}

func testSettle(t *testing.T, w *World) {
	first, second := w.Give(t, 3_000_000), w.Give(t, 1_000_000)
	o := w.Open(t)
	w.Advance(time.Second)
	check(t, w.Settle(t, o, "filled", 20_000_001, dollar200))
	for _, r := range []rewards.Reward{first, second} {
		got := w.reward(t, r)
		if got.Status != rewards.Executed || !got.ExecutedAt.Equal(w.Now()) || got.Booked != r.Amount {
			t.Errorf("got %+v, want it executed", got)
		}
	}
	want := rewards.Holding{AssetID: first.AssetID, Quantity: 20_000_000, CostBasis: 4_000_000}
	wantEqual(t, "holding", want, w.holding(t, w.Users[0]))
	settled, err := w.Order(t.Context(), o.ID)
	check(t, err)
	if settled.State != rewards.OrderSettled || settled.HouseShares != 1 || !settled.SettledAt.Equal(w.Now()) {
		t.Errorf("order %+v, want it settled with a residue of one billionth", settled)
	}
	live := read(t, w.LiveOrders)
	if len(live) != 0 {
		t.Errorf("%d orders live", len(live))
	}
}

func testSplit(t *testing.T, w *World) {
	whole, split, untouched := w.Give(t, 2_000_000), w.Give(t, 2_000_000), w.Give(t, 2_000_000)
	// 0.015 shares at $200 cost $3: the first reward and half of the second.
	check(t, w.Settle(t, w.Open(t), "canceled", 15_000_000, dollar200))
	for _, test := range []struct {
		reward rewards.Reward
		status rewards.Status
		booked money.USD
	}{
		{whole, rewards.Executed, 2_000_000}, {split, rewards.Executing, 1_000_000}, {untouched, rewards.Executing, 0},
	} {
		if got := w.reward(t, test.reward); got.Status != test.status || got.Booked != test.booked {
			t.Errorf("%s with %s booked, want %s with %s", got.Status, got.Booked, test.status, test.booked)
		}
	}
	if got := w.holding(t, w.Users[0]); got.Quantity != 15_000_000 || got.CostBasis != 2_000_000 {
		t.Errorf("holding %+v, want all shares, at the cost of executed rewards", got)
	}
	w.listed(t, rewards.Executed, whole)
	w.listed(t, rewards.Executing, untouched, split)
	next := w.Open(t)
	if next.Notional != 3_000_000 {
		t.Errorf("the next order is for %s, want the rest", next.Notional)
	}
	check(t, w.Settle(t, next, "filled", 30_000_000, dollar1*100))
	if got := w.holding(t, w.Users[0]); got.Quantity != 45_000_000 || got.CostBasis != 6_000_000 {
		t.Errorf("holding %+v", got)
	}
	if got := w.reward(t, split); got.Status != rewards.Executed || got.Booked != got.Amount {
		t.Errorf("the split reward is %+v", got)
	}
	w.listed(t, rewards.Executed, untouched, split, whole) // once, despite its two allocations
	w.listed(t, rewards.Executing)
}

// listed checks the app's rewards in a status, newest first.
func (w *World) listed(t *testing.T, status rewards.Status, want ...rewards.Reward) {
	t.Helper()
	list, err := w.Rewards(t.Context(), w.App.ID, rewards.RewardFilter{Status: status}, all[rewards.Reward]())
	check(t, err)
	ids := func(list []rewards.Reward) (ids []rewards.RewardID) {
		for i := range list {
			ids = append(ids, list[i].ID)
		}
		return ids
	}
	if got := ids(list); !slices.Equal(got, ids(want)) {
		t.Errorf("%s are %v, want %v", status, got, ids(want))
	}
	counts, err := w.CountRewards(t.Context(), w.App.ID, len(want)+1)
	check(t, err)
	if counts[status] != len(want) {
		t.Errorf("counted %d %s rewards, want %d", counts[status], status, len(want))
	}
}

func testSettleOnce(t *testing.T, w *World) {
	w.Give(t, 2_000_000)
	o := w.Open(t)
	check(t, w.Settle(t, o, "filled", 10_000_000, dollar200))
	if err := w.Settle(t, o, "filled", 10_000_000, dollar200); !errors.Is(err, rewards.ErrStale) {
		t.Errorf("a second settlement: %v, want ErrStale", err)
	}
	if got := w.holding(t, w.Users[0]); got.Quantity != 10_000_000 {
		t.Errorf("holding %+v, want it booked once", got)
	}
}

func testSettleOverflow(t *testing.T, w *World) {
	const most = math.MaxInt64 / 1_000_000_000 * 1_000_000_000
	w.Give(t, 1_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", most, 1))
	last := w.Give(t, 1_000_000)
	o := w.Open(t)
	err := w.Settle(t, o, "filled", most, 1)
	step := o.Next(rewards.Evidence{Source: rewards.FromBooking, Err: err})
	if !errors.Is(err, money.ErrOverflow) || step.Order.State != rewards.OrderQuarantined {
		t.Fatalf("an overflowing holding: %v; then the order is %s, want it quarantined", err, step.Order.State)
	}
	if got := w.reward(t, last).Status; got != rewards.Executing {
		t.Errorf("status %s, want executing", got)
	}
	if got := w.holding(t, w.Users[0]); got.Quantity != most {
		t.Errorf("holding %+v, want it unchanged", got)
	}
}

func testRefuse(t *testing.T, w *World) {
	r := w.Give(t, 2_000_000)
	o := w.refuse(t)
	got := w.reward(t, r)
	if got.Status != rewards.Failed || got.FailureReason != o.Reason || !got.ExecutedAt.IsZero() {
		t.Errorf("got %+v, want it failed", got)
	}
	if h := w.holding(t, w.Users[0]); h != (rewards.Holding{}) {
		t.Errorf("holding %+v, want none", h)
	}
}

func testTransitions(t *testing.T, w *World) {
	w.Give(t, 2_000_000)
	o := w.Plan(t)
	filled := o
	filled.State = rewards.OrderOpen
	if err := w.SaveOrder(t.Context(), w.lease, o.State, filled); err == nil {
		t.Error("an order that was never sent became open")
	}
	sent, err := w.BeginAttempt(t.Context(), w.lease, o, w.Now(), w.Now())
	check(t, err)
	if sent.State != rewards.OrderSubmitted || sent.Attempts != 1 || !sent.FirstAttemptAt.Equal(w.Now()) {
		t.Errorf("sent %+v", sent)
	}
	if _, err := w.BeginAttempt(t.Context(), w.lease, o, w.Now(), w.Now()); !errors.Is(err, rewards.ErrStale) {
		t.Errorf("a second first attempt: %v, want ErrStale", err)
	}
}

func testResolution(t *testing.T, w *World) {
	r := w.Give(t, 2_000_000)
	o := w.Open(t)
	decision := rewards.Resolution{FilledQty: 10_000_000, Price: dollar200, FilledAt: w.Now(), Reason: "statement"}
	wantCode(t, w.ResolveOrder(t.Context(), o.ID, decision), rewards.CodeConflict) // not quarantined
	quarantined := o
	quarantined.State, quarantined.Reason = rewards.OrderQuarantined, "strange"
	check(t, w.SaveOrder(t.Context(), w.lease, rewards.OrderOpen, quarantined))
	w.Give(t, 5_000_000)
	pools := read(t, w.Pools)
	if len(pools) != 1 || !pools[0].Blocked {
		t.Errorf("pools %+v, want the asset blocked", pools)
	}
	costly := decision
	costly.FilledQty *= 2
	wantCode(t, w.ResolveOrder(t.Context(), o.ID, costly), rewards.CodeConflict)
	check(t, w.ResolveOrder(t.Context(), o.ID, decision))
	check(t, w.ResolveOrder(t.Context(), o.ID, decision)) // idempotent
	wantCode(t, w.ResolveOrder(t.Context(), o.ID, rewards.Resolution{Reason: "other"}), rewards.CodeConflict)
	wantCode(t, w.ResolveOrder(t.Context(), rewards.OrderID{1}, decision), rewards.CodeNotFound)
	resolved, err := w.Order(t.Context(), o.ID)
	check(t, err)
	check(t, w.settle(t, w.lease, rewards.OrderResolved, resolved))
	if got := w.reward(t, r); got.Status != rewards.Executed || !resolved.FilledAt.Equal(decision.FilledAt) {
		t.Errorf("got %+v, want it executed by %+v", got, resolved)
	}
}

// lostOrder is a filled order for AAPL of which the store has no trace.
func lostOrder(clientOrderID string) rewards.BrokerOrder {
	return rewards.BrokerOrder{
		ID: "b", ClientOrderID: clientOrderID, Symbol: "AAPL", Side: "buy", Status: "filled", Notional: 3_000_000,
		FilledQty: 15_000_000, FilledAvgPrice: dollar200,
	}
}

func testAdoption(t *testing.T, w *World) {
	lost := lostOrder("sr-x-lost")
	wantCode(t, failure(w.AdoptOrder(t.Context(), lost, "restored")), rewards.CodeConflict) // no rewards wait
	first, second, third := w.Give(t, 1_000_000), w.Give(t, 1_500_000), w.Give(t, 1_000_000)
	wantCode(t, failure(w.AdoptOrder(t.Context(), lost, "restored")), rewards.CodeNotFound) // no conflict is known
	if got := w.reward(t, first).Status; got != rewards.Recorded {
		t.Errorf("after the refused adoption the reward is %s", got)
	}
	conflict := rewards.BrokerConflict{ClientOrderID: lost.ClientOrderID, Symbol: "AAPL", FilledQty: lost.FilledQty, Detail: "unknown"}
	check(t, w.SaveReconciliation(t.Context(), w.lease, []rewards.BrokerConflict{conflict}, w.Now()))
	o, err := w.AdoptOrder(t.Context(), lost, "restored")
	check(t, err)
	if o.State != rewards.OrderSubmitted || o.ClientOrderID != lost.ClientOrderID || o.Notional != 3_000_000 || o.House != 500_000 {
		t.Errorf("adopted %+v", o)
	}
	control := read(t, w.Control)
	if control.Stopped() {
		t.Errorf("control %+v, want the conflict acknowledged", control)
	}
	wantCode(t, failure(w.AdoptOrder(t.Context(), lost, "again")), rewards.CodeConflict)
	merged, err := o.Merge(lost, w.Now())
	check(t, err)
	check(t, w.SaveOrder(t.Context(), w.lease, rewards.OrderSubmitted, merged))
	check(t, w.settle(t, w.lease, rewards.OrderOpen, merged))
	for r, want := range map[rewards.RewardID]rewards.Status{
		first.ID: rewards.Executed, second.ID: rewards.Executed, third.ID: rewards.Recorded,
	} {
		if got := w.reward(t, rewards.Reward{AppID: w.App.ID, ID: r}).Status; got != want {
			t.Errorf("reward %s is %s, want %s", r, got, want)
		}
	}
}

// testAcknowledged: the broker's position may have what a lost order bought, once an operator knows of it.
func testAcknowledged(t *testing.T, w *World) {
	r := w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_000, dollar200))
	lost := rewards.BrokerConflict{ClientOrderID: "sr-x-lost", Symbol: "AAPL", FilledQty: 10_000_000, Detail: "unknown"}
	other := rewards.BrokerConflict{ClientOrderID: "sr-x-other", Symbol: "KO", FilledQty: 7, Detail: "unknown"}
	check(t, w.SaveReconciliation(t.Context(), w.lease, []rewards.BrokerConflict{lost, other}, w.Now()))
	differs := func(symbol string) (b rewards.BookedPosition) {
		for _, b := range read(t, w.Booked) {
			if b.Symbol == symbol {
				return b
			}
		}
		return b
	}
	if _, found := differs("AAPL").Suspect(20_000_000); !found {
		t.Error("twice the shares are no suspected split before the order is acknowledged")
	}
	for range 2 {
		for _, c := range []rewards.BrokerConflict{lost, other} {
			check(t, w.AcknowledgeConflict(t.Context(), c.ClientOrderID, "ours"))
		}
	}
	if b := differs("AAPL"); !b.Agrees(20_000_000) || b.Quantity != 10_000_000 {
		t.Errorf("after the order of %s was acknowledged the position is %+v", r.Symbol, b)
	}
	lost.FilledQty = 15_000_000 // the broker corrects it
	check(t, w.SaveReconciliation(t.Context(), w.lease, []rewards.BrokerConflict{lost, other}, w.Now()))
	for range 2 {
		check(t, w.AcknowledgeConflict(t.Context(), lost.ClientOrderID, "ours"))
	}
	if b := differs("AAPL"); !b.Agrees(25_000_000) {
		t.Errorf("after another fill of it was acknowledged the position is %+v", b)
	}
	w.Give(t, 3_000_000)
	check(t, failure(w.AdoptOrder(t.Context(), lostOrder(lost.ClientOrderID), "ours after all")))
	if b := differs("AAPL"); b.Accepted != 0 {
		t.Errorf("%s shares of an adopted order are accepted too", b.Accepted)
	}
	w.wantRows(t, "billionths of KO that are accepted", 7, `SELECT accepted FROM positions WHERE asset_id = ?1`,
		int64(w.Asset(t, "KO").ID))
	w.wantBooked(t, "acknowledged")
}

func testOrderPages(t *testing.T, w *World) {
	var made []rewards.OrderID
	for range 3 {
		w.Give(t, 1_000_000)
		o := w.Open(t)
		check(t, w.Settle(t, o, "filled", 5_000_000, dollar200))
		made = append(made, o.ID)
	}
	w.Give(t, 1_000_000)
	made = append(made, w.Plan(t).ID)
	list := func(state rewards.OrderState, p rewards.Page[rewards.Order]) (ids []rewards.OrderID) {
		orders, err := w.Orders(t.Context(), state, p)
		check(t, err)
		for _, o := range orders {
			ids = append(ids, o.ID)
		}
		return ids
	}
	for _, test := range []struct {
		name  string
		state rewards.OrderState
		page  rewards.Page[rewards.Order]
		want  []rewards.OrderID
	}{
		{"all", 0, all[rewards.Order](), []rewards.OrderID{made[3], made[2], made[1], made[0]}},
		{"settled", rewards.OrderSettled, all[rewards.Order](), []rewards.OrderID{made[2], made[1], made[0]}},
		{"a page of settled", rewards.OrderSettled, rewards.Page[rewards.Order]{Before: made[2], Limit: 1}, made[1:2]},
		{"refused", rewards.OrderRefused, all[rewards.Order](), nil},
	} {
		wantEqual(t, test.name, test.want, list(test.state, test.page))
	}
}
