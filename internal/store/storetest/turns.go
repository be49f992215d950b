package storetest

import (
	"fmt"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// backlog records n rewards of AAPL for a user of a new app, in one batch.
func (w *World) backlog(t *testing.T, app string, n int, amount money.USD) rewards.App {
	t.Helper()
	a := w.NewApp(t, app)
	user := w.NewUser(t, a.ID, "user of "+app)
	batch := make([]rewards.NewReward, n)
	for i := range batch {
		batch[i] = w.Request(t, amount)
		batch[i].AppID, batch[i].UserID = a.ID, user.ID
	}
	check(t, failure(w.RecordRewards(t.Context(), batch)))
	return a
}

// shares formats the number of an order's members by app.
func (w *World) shares(t *testing.T, o rewards.Order) string {
	t.Helper()
	claims, err := w.Members(t.Context(), o.ID)
	check(t, err)
	apps := read(t, w.Apps)
	text := ""
	for _, a := range apps {
		n := 0
		for _, c := range claims {
			if c.AppID == a.ID {
				n++
			}
		}
		if n > 0 {
			text += fmt.Sprintf("%s %d ", a.Name, n)
		}
	}
	return text
}

// turnContract are the tests of the turns of apps.
func turnContract() map[string]func(*testing.T, *World) {
	return map[string]func(*testing.T, *World){"PlanTurns": testPlanTurns, "PoolTurns": testPoolTurns}
}

// testPlanTurns: apps take turns, and rewards beyond a limit delay no others.
func testPlanTurns(t *testing.T, w *World) {
	w.backlog(t, "greedy", 300, dollars)
	w.backlog(t, "large", 40, 900*dollars)
	for range 10 {
		w.Give(t, dollars)
	}
	w.backlog(t, "mixed", 30, 900*dollars)
	for range 5 {
		mixed := w.Request(t, 2*dollars)
		app, user := w.latest(t)
		mixed.AppID, mixed.UserID = app, user
		w.record(t, mixed)
	}
	pools := read(t, w.Pools)
	if len(pools) != 1 || len(pools[0].Apps) != 4 {
		t.Fatalf("pools %+v, want one of 4 apps", pools)
	}
	var got []string
	for _, most := range []int{12, 25, 100} {
		r := w.planRequest(t)
		r.Apps, r.MaxMembers, r.Limits.DailyLeft = len(pools[0].Apps), most, 500*dollars
		o, hold, err := w.PlanOrder(t.Context(), w.lease, r)
		check(t, err)
		if hold != rewards.NoHold {
			t.Fatalf("hold %d", hold)
		}
		got = append(got, w.shares(t, o))
	}
	want := []string{"first 4 greedy 4 mixed 4 ", "first 6 greedy 18 mixed 1 ", "greedy 100 "}
	wantEqual(t, "members by app", want, got)
	r := w.planRequest(t)
	r.Limits.DailyLeft = 123 * dollars // less than the orders so far
	if _, hold, err := w.PlanOrder(t.Context(), w.lease, r); err != nil || hold != rewards.HoldDaily {
		t.Errorf("hold %d, %v; want the daily limit", hold, err)
	}
}

// testPoolTurns: pools come longest waiting first and name their apps, so that an app need not wait until every stock
// that another one awarded earlier has an order.
func testPoolTurns(t *testing.T, w *World) {
	other := w.NewApp(t, "other")
	user := w.NewUser(t, other.ID, "user of other")
	give := func(app rewards.AppID, user rewards.UserID, symbol string) {
		r := w.Request(t, dollars)
		r.AppID, r.UserID, r.Symbol, r.AssetID = app, user, symbol, w.Asset(t, symbol).ID
		w.record(t, r)
	}
	looks := func(turns *rewards.Turns) (text string) {
		for p := range turns.Pass(read(t, w.Pools)) {
			text += fmt.Sprintf("%s of %d ", p.Asset.Symbol, len(p.Apps))
			turns.Took(p.Apps...)
		}
		return text
	}
	for _, symbol := range []string{"TSLA", "AAPL"} {
		give(w.App.ID, w.Users[0].ID, symbol)
	}
	give(other.ID, user.ID, "KO")
	wantEqual(t, "the turns", "TSLA of 1 KO of 1 AAPL of 1 ", looks(&rewards.Turns{}))
	var turns rewards.Turns
	turns.Took(w.App.ID)
	wantEqual(t, "the turns after an order", "KO of 1 TSLA of 1 AAPL of 1 ", looks(&turns))
	give(other.ID, user.ID, "AAPL")
	wantEqual(t, "the turns of a stock that both want", "TSLA of 1 AAPL of 2 KO of 1 ", looks(&rewards.Turns{}))
	var symbols []string
	for _, p := range read(t, w.Pools) {
		symbols = append(symbols, p.Asset.Symbol)
	}
	wantEqual(t, "the pools, longest waiting first", []string{"TSLA", "AAPL", "KO"}, symbols)
}

// latest returns the newest app and its user.
func (w *World) latest(t *testing.T) (rewards.AppID, rewards.UserID) {
	t.Helper()
	apps := read(t, w.Apps)
	app := apps[len(apps)-1].ID
	users, err := w.Store.Users(t.Context(), app, rewards.UserFilter{}, all[rewards.User]())
	check(t, err)
	return app, users[0].ID
}

const dollars = money.Dollar

// testTopUps: top-ups of the house count by app and day, across orders.
func testTopUps(t *testing.T, w *World) {
	plan := func(limit money.USD) rewards.Hold {
		r := w.planRequest(t)
		r.Limits.HousePerApp = limit
		_, hold, err := w.PlanOrder(t.Context(), w.lease, r)
		check(t, err)
		return hold
	}
	w.Give(t, 400_000)
	w.backlog(t, "second", 1, 200_000)
	if hold := plan(200_000); hold != rewards.NoHold { // $0.40 is missing, $0.20 for each
		t.Fatalf("hold %d", hold)
	}
	w.Give(t, 999_999)
	if hold := plan(200_000); hold != rewards.NoHold { // rounding up to the cent does not count
		t.Fatalf("hold %d", hold)
	}
	w.Give(t, 900_000)
	if hold := plan(299_999); hold != rewards.HoldAppHouse {
		t.Errorf("hold %d, want the app's limit to be reached", hold)
	}
	v := read(t, w.Overview)
	if v.HouseToday != 400_000 {
		t.Errorf("the house added %s today", v.HouseToday)
	}
	w.Advance(24 * 60 * 60 * 1_000_000_000)
	if hold := plan(100_000); hold != rewards.NoHold {
		t.Errorf("hold %d, want a new day to begin", hold)
	}
}
