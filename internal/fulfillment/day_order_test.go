package fulfillment_test

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// An operator applies two actions of one day at once, in the order of the broker. They are applied in that order, also
// after a restart, and while the first one waits for an order.
func TestAnOperatorDecidesTheOrder(t *testing.T) {
	t.Parallel()
	const split = `{"type":"reverse_split","symbol":"AAPL","old_rate":10,"new_rate":1,"ex_date":"2000-01-06"}`
	const spinOff = `{"type":"spin_off","source_symbol":"AAPL","source_rate":1,"new_symbol":"KO","new_rate":1,"ex_date":"2000-01-06"}`
	type variant struct {
		bodies           [2]string
		restarts, orders bool
	}
	inWorlds(t, map[string]variant{
		"the split first":             {bodies: [2]string{split, spinOff}},
		"the spin-off first":          {bodies: [2]string{spinOff, split}},
		"over a restart":              {bodies: [2]string{split, spinOff}, restarts: true},
		"the spin-off awaits a trade": {bodies: [2]string{spinOff, split}, orders: true},
	}, func(w *world, v variant) {
		w.sync(nil)
		for _, symbol := range []string{"AAPL", "KO"} {
			w.wantAfter(5*time.Second, w.give(symbol, 3000*usd), rewards.Executed)
		}
		given := w.holding(w.user, "AAPL").Quantity
		if v.bodies[0] == split {
			given /= 10
		}
		ids := w.together(v.bodies)
		var open rewards.Order
		if v.orders {
			w.disguises()
			w.give("KO", 5*usd)
			w.run(10 * time.Second)
			open = w.quarantined()
			w.reportsTruth()
		}
		for _, id := range ids {
			w.approve(id)
			time.Sleep(time.Second) // nothing is judged meanwhile
		}
		if v.restarts {
			w.restart()
		}
		w.run(30 * time.Second)
		if v.orders {
			w.wantAction(ids[1], rewards.ActionAnnounced)
			for _, b := range w.orders() {
				if b.ClientOrderID == open.ClientOrderID {
					w.resolve(open, rewards.Resolution{FilledQty: b.FilledQty, Price: b.FilledAvgPrice})
				}
			}
			w.run(30 * time.Second)
		}
		for _, id := range ids {
			w.wantAction(id, rewards.ActionSwept)
		}
		if got := w.received(ids, "KO"); got != given {
			w.t.Errorf("the user received %s shares, want %s", got, given)
		}
		w.run(time.Minute)
		w.wantBalance()
		w.wantAlarm("", false)
	}, func(w *world) { w.cfg.ReviewActions = true })
}

// received is what actions gave of a stock to users.
func (w *world) received(ids [2]string, symbol string) (sum money.Shares) {
	w.t.Helper()
	for _, id := range ids {
		switches, err := w.store.Switches(w.t.Context(), id)
		w.check(err)
		for _, s := range switches {
			if s.Target == w.asset(symbol) {
				sum += s.Swept.Given
			}
		}
	}
	return sum
}

// The broker books a split, and the spin-off of its day some seconds later. Their order is clear then: nobody is needed.
func TestTheBrokerBooksTwoActionsOneAfterTheOther(t *testing.T) {
	t.Parallel()
	type variant struct {
		spinOff string
		first   bool // the spin-off is
		given   func(money.Shares) money.Shares
		hidden  time.Duration
		held    bool // meanwhile
	}
	const split = `{"type":"reverse_split","symbol":"AAPL","old_rate":10,"new_rate":1,"ex_date":"2000-01-06"}`
	const few = `{"type":"spin_off","source_symbol":"AAPL","source_rate":100,"new_symbol":"KO","new_rate":3,"ex_date":"2000-01-06"}`
	const many = `{"type":"spin_off","source_symbol":"AAPL","source_rate":2,"new_symbol":"KO","new_rate":1,"ex_date":"2000-01-06"}`
	inWorlds(t, map[string]variant{
		"for a moment":                      {few, false, func(a money.Shares) money.Shares { return a / 10 * 3 / 100 }, 4 * time.Second, false},
		"for two comparisons":               {few, false, func(a money.Shares) money.Shares { return a / 10 * 3 / 100 }, 20 * time.Second, true},
		"the spin-off first, for a moment":  {many, true, func(a money.Shares) money.Shares { return a / 2 }, 4 * time.Second, false},
		"the spin-off second, for a moment": {many, false, func(a money.Shares) money.Shares { return a / 20 }, 4 * time.Second, false},
	}, func(w *world, v variant) {
		for _, symbol := range []string{"AAPL", "KO"} {
			w.wantAfter(5*time.Second, w.give(symbol, 3010*usd), rewards.Executed)
		}
		w.faulty(ofActivities, says(200, `[]`))
		k, given := w.holding(w.user, "KO").Quantity, v.given(w.holding(w.user, "AAPL").Quantity)
		bodies := [2]string{split, v.spinOff}
		if v.first {
			bodies = [2]string{v.spinOff, split}
		}
		var ids [2]string
		for i, body := range bodies {
			ids[i] = w.control(http.MethodPost, "corporate-actions", body)
		}
		w.run(20 * time.Second)
		off := w.faulty(ofPositions, replacing(`"qty":"`+(k+given).String()+`"`, `"qty":"`+k.String()+`"`))
		w.check(w.brokerage.SetClock(w.t.Context(), time.Date(2000, 1, 6, 14, 31, 0, 0, time.UTC), 1))
		w.run(v.hidden)
		for _, id := range ids {
			if a := w.action(id); a.State == rewards.ActionHeld && a.WaitsFor == "" != v.held {
				w.t.Errorf("while it is hidden %s is %s: %s", a, a.State, a.Note)
			}
		}
		off()
		w.run(40 * time.Second)
		for _, id := range ids {
			w.wantAction(id, rewards.ActionSwept)
		}
		if got := w.holding(w.user, "KO").Quantity - k; got != given {
			w.t.Errorf("the user received %s shares, want %s", got, given)
		}
		w.run(time.Minute)
		w.wantBalance()
		w.wantAlarm("corporate_action:", false)
	})
}

// The broker withdraws a spin-off after it was due, and does it all the same before a split of that day. The split is held
// beside it: it follows when an operator applies the spin-off, which counts the shares before the split.
func TestASplitBesideAWithdrawnSpinOff(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		for _, symbol := range []string{"AAPL", "KO"} {
			w.wantAfter(5*time.Second, w.give(symbol, 3000*usd), rewards.Executed)
		}
		given, had := w.holding(w.user, "AAPL").Quantity, w.holding(w.user, "KO").Quantity
		ids := [2]string{
			w.control(http.MethodPost, "corporate-actions", `{"type":"spin_off","source_symbol":"AAPL","source_rate":1,"new_symbol":"KO","new_rate":1,"ex_date":"2000-01-06"}`),
			w.control(http.MethodPost, "corporate-actions", `{"type":"reverse_split","symbol":"AAPL","old_rate":10,"new_rate":1,"ex_date":"2000-01-06"}`),
		}
		w.jump(1, 1)
		w.faulty(ofActions, replacing(`"spin_offs":\[[^\]]*\]`, `"spin_offs":[]`))
		w.run(time.Minute)
		w.jump(14, 31)
		w.wantHeld(ids[0], "withdrawn by the broker")
		w.wantHeld(ids[1], "before the action "+ids[0])
		w.approve(ids[0])
		w.run(30 * time.Second)
		w.wantSwept(ids[:], "KO", had+given)
		w.wantAlarm("", false)
	})
}

// The order of two actions is not clear, but a third one is known to come after one of them. It waits for that one, and
// follows by itself.
func TestAThirdActionFollows(t *testing.T) {
	t.Parallel()
	const ko, xyz = 1, 2
	inDay(t, "auto", func(w *world) {
		deeds := []deed{
			{kind: "forward_split", source: ko, old: 2, new: 5},
			{kind: "stock_merger", source: ko, target: xyz, old: 2, new: 1},
			{kind: "reverse_split", source: xyz, old: 10, new: 1},
		}
		r := rand.New(rand.NewPCG(1, 1))
		d := newDay(w, dayCase{"auto", true, len(deeds)}, r, [][]int64{{377, 518, 235}}, deeds)
		d.begin()
		if a := d.action(deeds[2].id); a.WaitsFor != d.action(deeds[1].id).Undecides() {
			t.Errorf("%s waits for %q: %s", a, a.WaitsFor, a.Note)
		}
		d.resolve()
		d.verify()
	})
}

// A merger gives a stock that gets another symbol. Users receive the renamed stock, whatever is applied first.
func TestAMergerIntoARenamedStock(t *testing.T) {
	t.Parallel()
	type variant struct {
		day    string // of the rename
		review bool
		first  int  // that an operator applies
		synced bool // the catalog has the broker's identifiers
		newID  bool
	}
	for name, v := range map[string]variant{
		"by itself":                          {day: "2000-01-06"},
		"by itself, with identifiers":        {day: "2000-01-06", synced: true},
		"by itself, a new identifier":        {day: "2000-01-06", synced: true, newID: true},
		"the merger first":                   {day: "2000-01-06", review: true, synced: true},
		"the rename first":                   {day: "2000-01-06", review: true, first: 1, synced: true},
		"the rename first, a new identifier": {day: "2000-01-06", review: true, first: 1, synced: true, newID: true},
		"a rename of the day before":         {day: "2000-01-05", synced: true, newID: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				if v.synced {
					w.sync(nil)
				}
				for _, symbol := range []string{"AAPL", "KO"} {
					w.wantAfter(5*time.Second, w.give(symbol, 3000*usd), rewards.Executed)
				}
				if v.newID {
					w.afflict("new-asset-id")
				}
				want := w.holding(w.user, "AAPL").Quantity + w.holding(w.user, "KO").Quantity/2
				into := "AAPL"
				if v.day < "2000-01-06" { // the brokerage knows only the new symbol by then
					into = "APL"
					w.faulty(ofActions, replacing(`"acquirer_symbol":"APL"`, `"acquirer_symbol":"AAPL"`))
				}
				ids := w.together([2]string{
					`{"type":"stock_merger","acquiree_symbol":"KO","acquirer_symbol":"` + into + `","acquiree_rate":2,"acquirer_rate":1,"effective_date":"2000-01-06"}`,
					`{"type":"name_change","old_symbol":"AAPL","new_symbol":"APL","process_date":"` + v.day + `"}`,
				})
				for i := range ids {
					if id := ids[(v.first+i)%2]; v.review {
						w.approve(id)
						w.run(30 * time.Second)
					}
				}
				w.wantSwept(ids[:], "APL", want)
				w.wantAlarm("", false)
			}, func(w *world) { w.cfg.ReviewActions = v.review })
		})
	}
}

// A stock was renamed, and another one has its old symbol now. A merger into that symbol is held: nobody knows which one
// it gives.
func TestAMergerIntoASymbolOfTwoStocks(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		for _, symbol := range []string{"AAPL", "KO"} {
			w.wantAfter(5*time.Second, w.give(symbol, 3000*usd), rewards.Executed)
		}
		ids := w.together([2]string{
			`{"type":"stock_merger","acquiree_symbol":"KO","acquirer_symbol":"AAPL","acquiree_rate":2,"acquirer_rate":1,"effective_date":"2000-01-06"}`,
			`{"type":"name_change","old_symbol":"AAPL","new_symbol":"APL","process_date":"2000-01-06"}`,
		})
		w.approve(ids[1])
		w.run(20 * time.Second)
		w.wantAction(ids[1], rewards.ActionSwept)
		w.sync(map[string]string{"HALT": "AAPL"})
		w.approve(ids[0])
		w.run(20 * time.Second)
		w.wantHeld(ids[0], "AAPL is another stock in the catalog than at the broker")
	}, func(w *world) { w.cfg.ReviewActions = true })
}

// Two actions give shares of a stock, or one does and another one splits it, and a rename of their day is applied first.
// Each of them is known to change the renamed stock: users receive what both give, and nobody is needed.
func TestARenameBeforeTwoGifts(t *testing.T) {
	t.Parallel()
	const (
		spinOff = `{"type":"spin_off","source_symbol":"KO","source_rate":9,"new_symbol":"AAPL","new_rate":1,"ex_date":"2000-01-06"}`
		merger  = `{"type":"stock_merger","acquiree_symbol":"XYZ","acquirer_symbol":"AAPL","acquiree_rate":3,"acquirer_rate":1,"effective_date":"2000-01-06"}`
		split   = `{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":4,"ex_date":"2000-01-06"}`
		rename  = `{"type":"name_change","old_symbol":"AAPL","new_symbol":"APL","process_date":"2000-01-06"}`
	)
	type variant struct {
		bodies []string // in the order of the broker
		review bool
		want   func(aapl, ko, xyz money.Shares) money.Shares
	}
	sum := func(aapl, ko, xyz money.Shares) money.Shares { return aapl + ko/9 + xyz/3 }
	for name, v := range map[string]variant{
		"two gifts by themselves": {[]string{spinOff, merger, rename}, false, sum},
		"two gifts for review":    {[]string{spinOff, merger, rename}, true, sum},
		"a split before a gift": {[]string{split, merger, rename}, false, func(aapl, _, xyz money.Shares) money.Shares {
			return aapl*4 + xyz/3
		}},
		"a split after a gift": {[]string{merger, split, rename}, false, func(aapl, _, xyz money.Shares) money.Shares {
			return (aapl + xyz/3) * 4
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inDay(t, map[bool]string{true: "review"}[v.review], func(w *world) {
				w.sync(nil)
				var had []money.Shares
				for _, symbol := range dayStocks() {
					w.wantAfter(5*time.Second, w.give(symbol, 3000*usd), rewards.Executed)
					had = append(had, w.holding(w.user, symbol).Quantity)
				}
				var ids []string
				for _, body := range v.bodies {
					ids = append(ids, w.control(http.MethodPost, "corporate-actions", body))
				}
				w.run(20 * time.Second)
				w.jump(7, 29) // a minute before the broker changes its positions
				w.approve(ids[2])
				w.run(10 * time.Second)
				w.wantAction(ids[2], rewards.ActionSwept)
				w.jump(14, 31)
				for _, id := range ids[:2] {
					if v.review {
						w.approve(id)
						w.run(30 * time.Second)
					}
				}
				w.wantSwept(ids, "APL", v.want(had[0], had[1], had[2]))
				w.wantAlarm("", false)
			})
		})
	}
}
