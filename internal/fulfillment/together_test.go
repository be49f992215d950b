package fulfillment_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// together announces two actions, and lets the brokerage's clock jump over both.
func (w *world) together(bodies [2]string) (ids [2]string) {
	w.t.Helper()
	for i, body := range bodies {
		ids[i] = w.control(http.MethodPost, "corporate-actions", body)
	}
	w.run(20 * time.Second)
	w.jump(14, 31)
	return ids
}

// jump lets the brokerage's clock jump to a time of 2000-01-06, UTC.
func (w *world) jump(hour, minute int) {
	w.t.Helper()
	w.check(w.brokerage.SetClock(w.t.Context(), time.Date(2000, 1, 6, hour, minute, 0, 0, time.UTC), 1))
	w.run(30 * time.Second)
}

// Two actions share a stock, and the broker's position shows both. An operator applies them in their order: the house
// gets no share that does not exist.
func TestActionsThatShareAStock(t *testing.T) {
	t.Parallel()
	const merger = `{"type":"stock_merger","acquiree_symbol":"AAPL","acquirer_symbol":"KO","acquiree_rate":2,"acquirer_rate":3,"effective_date":"2000-01-05"}`
	const spinOff = `{"type":"spin_off","source_symbol":"AAPL","source_rate":2,"new_symbol":"KO","new_rate":1,"ex_date":"2000-01-05"}`
	split := func(symbol, day string) string {
		return `{"type":"forward_split","symbol":"` + symbol + `","old_rate":1,"new_rate":2,"ex_date":"` + day + `"}`
	}
	back := [2]string{
		`{"type":"reverse_split","symbol":"AAPL","old_rate":100,"new_rate":1,"ex_date":"2000-01-05"}`,
		`{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":100,"ex_date":"2000-01-05"}`,
	}
	inWorlds(t, map[string][2]string{
		"a reverse split and back":                back,
		"a merger and a split on one day":         {merger, split("KO", "2000-01-05")},
		"a merger and a split on the next day":    {merger, split("KO", "2000-01-06")},
		"a spin-off and a split of what it gives": {spinOff, split("KO", "2000-01-06")},
	}, func(w *world, bodies [2]string) {
		w.wantAfter(5*time.Second, w.give("AAPL", 3000*usd), rewards.Executed)
		w.wantAfter(5*time.Second, w.give("KO", 1000*usd), rewards.Executed)
		a, k := w.holding(w.user, "AAPL").Quantity, w.holding(w.user, "KO").Quantity
		ids := w.together(bodies)
		for _, id := range ids {
			if w.action(id).State != rewards.ActionSwept {
				w.approve(id)
				w.run(20 * time.Second)
				w.wantAction(id, rewards.ActionSwept)
			}
		}
		given, want := "KO", 2*k+a
		switch {
		case strings.Contains(bodies[0], "merger"):
			want = 2 * (k + a*3/2)
		case bodies == back:
			given, want = "AAPL", a-a%100 // a billionth is the least
		}
		if got := w.holding(w.user, given).Quantity; got < want-2 || got > want+2 {
			w.t.Errorf("the user has %s shares of %s, want %s", got, given, want)
		}
		if house := w.house(given); house > money.Share/1000 || house < -money.Share/1000 {
			w.t.Errorf("the house has %s shares of %s", house, given)
		}
		w.run(time.Minute)
		w.wantBalance()
		w.wantAlarm("", false)
	}, func(w *world) { w.cfg.ReviewActions = true })
}

// An operator applies a split before the merger that the broker did first. It waits for the merger.
func TestASplitWaitsForTheMergerBeforeIt(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]int{"the merger was first": 0, "the split was first": 1}, func(w *world, first int) {
		for _, symbol := range []string{"AAPL", "KO"} {
			w.wantAfter(5*time.Second, w.give(symbol, 3000*usd), rewards.Executed)
		}
		a, k := w.holding(w.user, "AAPL").Quantity, w.holding(w.user, "KO").Quantity
		bodies := [2]string{
			`{"type":"stock_merger","acquiree_symbol":"AAPL","acquirer_symbol":"KO","acquiree_rate":2,"acquirer_rate":3,"effective_date":"2000-01-06"}`,
			`{"type":"forward_split","symbol":"KO","old_rate":1,"new_rate":2,"ex_date":"2000-01-06"}`,
		}
		want := 2 * (k + a*3/2)
		if first == 1 {
			bodies[0], bodies[1], want = bodies[1], bodies[0], 2*k+a*3/2
		}
		ids := w.together(bodies)
		merger, split := ids[first], ids[1-first]
		w.approve(split)
		w.run(20 * time.Second)
		if first == 0 {
			if got, want := w.action(split).WaitsFor, "the action "+merger+", which the broker did before it"; got != want {
				w.t.Errorf("the split waits for %q, want %q", got, want)
			}
		}
		w.approve(merger)
		w.run(40 * time.Second)
		w.wantAction(merger, rewards.ActionSwept)
		w.wantAction(split, rewards.ActionSwept)
		if got := w.holding(w.user, "KO").Quantity; got < want-2 || got > want+2 {
			w.t.Errorf("the user has %s shares, want %s", got, want)
		}
		w.run(time.Minute)
		w.wantBalance()
		w.wantAlarm("", false)
	}, func(w *world) { w.cfg.ReviewActions = true })
}

// An operator applies a split before the spin-off that the broker did first. The spin-off is held, and says what to do.
func TestASpinOffAfterTheSplitOfItsDay(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(5*time.Second, w.give("AAPL", 3000*usd), rewards.Executed)
		w.wantAfter(5*time.Second, w.give("KO", 3000*usd), rewards.Executed)
		a, k := w.holding(w.user, "AAPL").Quantity, w.holding(w.user, "KO").Quantity
		ids := w.together([2]string{
			`{"type":"spin_off","source_symbol":"AAPL","source_rate":4,"new_symbol":"KO","new_rate":1,"ex_date":"2000-01-06"}`,
			`{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":3,"ex_date":"2000-01-06"}`,
		})
		spinOff, split := ids[0], ids[1]
		for _, id := range []string{split, spinOff} {
			w.approve(id)
			w.run(20 * time.Second)
		}
		w.wantAction(split, rewards.ActionSwept)
		w.wantHeld(spinOff, "the action "+split+" was applied already: if the broker did it after this one")
		w.undo(split)
		w.run(20 * time.Second)
		for _, id := range ids {
			w.approve(id)
			w.run(20 * time.Second)
			w.wantAction(id, rewards.ActionSwept)
		}
		if source, given := w.holding(w.user, "AAPL").Quantity, w.holding(w.user, "KO").Quantity; source != 3*a || given != k+a/4 {
			w.t.Errorf("%s and %s shares became %s and %s", a, k, source, given)
		}
		w.run(time.Minute)
		w.wantBalance()
		w.wantAlarm("", false)
	}, func(w *world) { w.cfg.ReviewActions = true })
}

// Actions of one stock and one day are applied in the order in which the broker made them, whatever their ids. Nobody is
// needed.
func TestActionsOfOneDay(t *testing.T) {
	t.Parallel()
	const day = `"ex_date":"2000-01-06"}`
	const (
		split   = `{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":3,` + day
		double  = `{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":2,` + day
		reverse = `{"type":"reverse_split","symbol":"AAPL","old_rate":100,"new_rate":1,` + day
		back    = `{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":100,` + day
		spinOff = `{"type":"spin_off","source_symbol":"AAPL","source_rate":4,"new_symbol":"KO","new_rate":1,` + day
		ofKO    = `{"type":"forward_split","symbol":"KO","old_rate":1,"new_rate":3,` + day
		merger  = `{"type":"stock_merger","acquiree_symbol":"AAPL","acquirer_symbol":"KO","acquiree_rate":2,"acquirer_rate":3,` +
			`"effective_date":"2000-01-06"}`
		into = `{"type":"stock_merger","acquiree_symbol":"XYZ","acquirer_symbol":"AAPL","acquiree_rate":1,"acquirer_rate":1,` +
			`"effective_date":"2000-01-06"}`
		spunInto = `{"type":"spin_off","source_symbol":"XYZ","source_rate":3,"new_symbol":"AAPL","new_rate":1,` + day
	)
	inWorlds(t, map[string][2]string{
		"two splits": {split, double}, "a spin-off, then a split": {spinOff, split}, "a split, then a spin-off": {split, spinOff},
		"a split, then a merger": {split, merger}, "a merger, then a split of its stock": {merger, ofKO}, "a reverse split and back": {reverse, back}, "a split and back": {back, reverse},
		"a spin-off, then a merger into its stock": {spinOff, into}, "a merger, then a spin-off of what it gives": {into, spinOff},
		"a spin-off, then one into its stock": {spinOff, spunInto}, "a spin-off, then one of what it gives": {spunInto, spinOff},
		"a split, then a merger into its stock": {split, into}, "a merger, then a split of what it gives": {into, split},
	}, func(w *world, bodies [2]string) {
		for _, symbol := range []string{"AAPL", "KO", "XYZ"} {
			w.wantAfter(5*time.Second, w.give(symbol, 3000*usd), rewards.Executed)
		}
		var ids [2]string
		for i, body := range bodies {
			ids[i] = w.control(http.MethodPost, "corporate-actions", body)
		}
		w.run(20 * time.Second)
		w.jump(7, 31) // 02:31 in New York: there are no prices of the day yet
		w.jump(14, 31)
		for _, id := range ids {
			w.wantAction(id, rewards.ActionSwept)
		}
		for _, symbol := range []string{"AAPL", "KO", "XYZ"} {
			if house := w.house(symbol); house > money.Share/1000 || house < -money.Share/1000 {
				w.t.Errorf("the house has %s shares of %s", house, symbol)
			}
		}
		w.run(time.Minute)
		w.wantBalance()
		w.wantAlarm("corporate_action:"+ids[0], false)
		w.wantAlarm("corporate_action:"+ids[1], false)
	}, func(w *world) { w.stocks = []string{"XYZ"} })
}

const (
	spinOffOfAAPL = `{"type":"spin_off","source_symbol":"AAPL","source_rate":4,"new_symbol":"KO","new_rate":1,"ex_date":"2000-01-06"}`
	mergerOfXYZ   = `{"type":"stock_merger","acquiree_symbol":"XYZ","acquirer_symbol":"AAPL","acquiree_rate":1,"acquirer_rate":1,"effective_date":"2000-01-06"}`
)

// Every action waits for an operator. The spin-off does not wait for the merger into its stock, which came after it. Who
// applies that one first reads what to do.
func TestASpinOffBeforeAMergerIntoItsStock(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]bool{"in their order": false, "the merger first": true}, func(w *world, mergerFirst bool) {
		for _, symbol := range []string{"AAPL", "KO", "XYZ"} {
			w.wantAfter(5*time.Second, w.give(symbol, 3000*usd), rewards.Executed)
		}
		want := w.holding(w.user, "KO").Quantity + w.holding(w.user, "AAPL").Quantity/4
		ids := w.together([2]string{spinOffOfAAPL, mergerOfXYZ})
		apply := func(list ...string) {
			for _, id := range list {
				w.approve(id)
				w.run(30 * time.Second)
			}
		}
		if mergerFirst {
			apply(ids[1], ids[0])
			w.wantHeld(ids[0], "the action "+ids[1]+" was applied already: if the broker did it after this one")
			w.undo(ids[1])
			w.run(30 * time.Second)
		}
		apply(ids[0], ids[1])
		w.wantSwept(ids[:], "KO", want)
	}, func(w *world) { w.stocks, w.cfg.ReviewActions = []string{"XYZ"}, true })
}

// The broker changed the symbol first, and books and quotes the spin-off under the new one.
func TestASpinOffUnderTheNewSymbol(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{
		"a name change":   `{"type":"name_change","old_symbol":"AAPL","new_symbol":"APL","process_date":"2000-01-06"}`,
		"a reverse split": `{"type":"reverse_split","symbol":"AAPL","new_symbol":"APL","old_rate":2,"new_rate":1,"ex_date":"2000-01-06"}`,
	}, func(w *world, renaming string) {
		for _, symbol := range []string{"AAPL", "KO"} {
			w.wantAfter(5*time.Second, w.give(symbol, 3000*usd), rewards.Executed)
		}
		before, cost := w.holding(w.user, "AAPL").CostBasis, w.holding(w.user, "KO").CostBasis
		ids := w.together([2]string{renaming, spinOffOfAAPL})
		for _, id := range ids {
			w.wantAction(id, rewards.ActionSwept)
		}
		list, _, err := w.client.Activities(w.t.Context(), rewards.OtherActivities, time.Now().Add(-72*time.Hour), "")
		w.check(err)
		spinOff := w.action(ids[1])
		source, given := spinOff.SpinOffPrices(list, "APL")
		part, err := spinOff.BasisPart(source, given)
		w.check(err)
		if got, want := w.holding(w.user, "KO").CostBasis-cost, part.Of(before); got != want {
			w.t.Errorf("the cost basis of KO grew by %s, want %s by the prices %s and %s", got, want, source, given)
		}
		if house := w.house("KO"); house > money.Share/1000 || house < -money.Share/1000 {
			w.t.Errorf("the house has %s shares of KO", house)
		}
		w.run(time.Minute)
		w.wantBalance()
	})
}

// The broker pays in cash for fractions, so that the positions do not show the order. An operator applies what is held,
// once.
func TestActionsOfOneDayWithCashInLieu(t *testing.T) {
	t.Parallel()
	for name, review := range map[string]bool{"one is held": false, "both are held": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.wantAfter(5*time.Second, w.give("AAPL", 3010*usd), rewards.Executed)
				w.wantAfter(5*time.Second, w.give("XYZ", 3010*usd), rewards.Executed)
				want := w.holding(w.user, "XYZ").Quantity + w.holding(w.user, "AAPL").Quantity*9/2
				w.afflict("cash-in-lieu")
				ids := w.together([2]string{
					`{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":3,"ex_date":"2000-01-06"}`,
					`{"type":"stock_merger","acquiree_symbol":"AAPL","acquirer_symbol":"XYZ","acquiree_rate":2,"acquirer_rate":3,"effective_date":"2000-01-06"}`,
				})
				for _, id := range ids {
					if w.action(id).State == rewards.ActionHeld {
						w.approve(id)
						w.run(30 * time.Second)
					}
					w.wantAction(id, rewards.ActionSwept)
				}
				if got := w.holding(w.user, "XYZ").Quantity; got < want-2 || got > want {
					w.t.Errorf("the user has %s shares, want %s", got, want)
				}
				w.run(time.Minute)
				w.wantBalance()
			}, func(w *world) { w.stocks, w.cfg.ReviewActions = []string{"XYZ"}, review })
		})
	}
}

// wantSwept checks that actions are applied to all holdings, that the user has shares to the billionth, and that the
// books agree with the broker.
func (w *world) wantSwept(ids []string, symbol string, want money.Shares) {
	w.t.Helper()
	for _, id := range ids {
		w.wantAction(id, rewards.ActionSwept)
	}
	if got := w.holding(w.user, symbol).Quantity; got < want-1 || got > want {
		w.t.Errorf("the user has %s shares of %s, want %s", got, symbol, want)
	}
	w.run(time.Minute)
	w.wantBalance()
}
