package fulfillment_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// afflict adds a fault of the brokerage.
func (w *world) afflict(line string) {
	w.t.Helper()
	f, err := paper.ParseFault(line)
	w.check(err)
	_, err = w.brokerage.AddFault(f)
	w.check(err)
}

// post announces an action and lets it be read.
func (w *world) post(body string) string {
	w.t.Helper()
	id := w.control(http.MethodPost, "corporate-actions", body)
	w.run(20 * time.Second)
	return id
}

// holders gives several users shares of a stock, of amounts that no ratio divides.
func (w *world) holders(symbol string) {
	w.t.Helper()
	for range 3 {
		w.newUser(w.app)
	}
	for i, u := range w.users {
		r := w.giveTo(u, symbol, money.USD(7_770_001*(i+1)))
		w.wantAfter(3*time.Second, r, rewards.Executed)
	}
	w.wantBalance()
}

// holdings are what all users have of a stock, in the order of w.users.
func (w *world) holdings(symbol string) (list []rewards.Holding) {
	w.t.Helper()
	for _, u := range w.users {
		list = append(list, w.holding(u, symbol))
	}
	return list
}

// wantConverted checks that every holding became floor(before x new / old) with its cost basis,
// with one row of effects each.
func (w *world) wantConverted(symbol string, before []rewards.Holding, r rewards.Ratio) {
	w.t.Helper()
	for i, got := range w.holdings(symbol) {
		want, err := r.Of(before[i].Quantity)
		w.check(err)
		if got.Quantity != want || got.CostBasis != before[i].CostBasis || got.Generation != before[i].Generation+1 {
			w.t.Errorf("%+v became %+v, want %s", before[i], got, want)
		}
	}
	if got := w.count(`SELECT count(*) FROM effects e JOIN switches w ON w.number = e.switch
		WHERE e.asset_id = ?1 AND w.generation = ?2`, int64(w.asset(symbol)), before[0].Generation+1); got != len(before) {
		w.t.Errorf("%d effects, want %d", got, len(before))
	}
}

// count counts rows of the store.
func (w *world) count(query string, args ...any) (n int) {
	w.t.Helper()
	w.check(w.engine.Read(w.t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error { return row.Scan(&n) }, query, args...)
	}))
	return n
}

// disguises makes the brokerage report its next orders as about another stock.
func (w *world) disguises() {
	w.t.Helper()
	known := map[any]bool{}
	for _, b := range w.orders() {
		known[b.ClientOrderID] = true
	}
	w.wire.rewrite = func(o map[string]any) {
		if !known[o["client_order_id"]] {
			o["asset_id"] = exchange.AssetID("another company")
		}
	}
}

// Splits of every kind pass through by themselves: holdings are exact, the cost basis stays, the
// house has the rest, and what was given in between is bought.
func TestSplitsPassThrough(t *testing.T) {
	t.Parallel()
	type variant struct {
		body  string
		ratio rewards.Ratio
		fault string
		owes  bool // the house is short of shares before the next order
	}
	inWorlds(t, map[string]variant{
		"4:1":            {`"type":"forward_split","old_rate":1,"new_rate":4`, rewards.Ratio{Old: 1, New: 4}, "", false},
		"3:2":            {`"type":"forward_split","old_rate":2,"new_rate":3`, rewards.Ratio{Old: 2, New: 3}, "", false},
		"1:10 with dust": {`"type":"reverse_split","old_rate":10,"new_rate":1`, rewards.Ratio{Old: 10, New: 1}, "", false},
		"1:10 with cash in lieu": {
			`"type":"reverse_split","old_rate":10,"new_rate":1`, rewards.Ratio{Old: 10, New: 1}, "cash-in-lieu", true,
		},
		"1:10 rounded up":  {`"type":"reverse_split","old_rate":10,"new_rate":1`, rewards.Ratio{Old: 10, New: 1}, "round-up", false},
		"a stock dividend": {`"type":"stock_dividend","rate":0.05`, rewards.Ratio{Old: 20, New: 21}, "", false},
	}, func(w *world, v variant) {
		w.holders("AAPL")
		if v.fault != "" {
			w.afflict(v.fault)
		}
		id := w.post(`{"symbol":"AAPL","ex_date":"2000-01-05",` + v.body + `}`)
		w.until("2000-01-04 20:00:00")
		w.run(10 * time.Second)
		before, given := w.holdings("AAPL"), w.give("AAPL", 5*usd)
		w.until("2000-01-05 02:30:00")
		w.run(10 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		if house := w.house("AAPL"); (house < 0) != v.owes && !v.owes {
			w.t.Errorf("the house has %s", house)
		}
		w.wantAfter(20*time.Second, given, rewards.Executed)
		after := w.holding(w.user, "AAPL")
		bought := w.count(`SELECT coalesce(sum(shares), 0) FROM allocations WHERE reward_id = ?1`, given.ID[:])
		after.Quantity, after.CostBasis = after.Quantity-money.Shares(bought), after.CostBasis-given.Amount
		want, err := v.ratio.Of(before[0].Quantity)
		w.check(err)
		if after.Quantity != want || after.CostBasis != before[0].CostBasis {
			w.t.Errorf("%+v became %+v and a purchase, want %s", before[0], after, want)
		}
		for i, u := range w.users[1:] {
			if got, err := v.ratio.Of(before[i+1].Quantity); err != nil || w.holding(u, "AAPL").Quantity != got {
				w.t.Errorf("%+v became %+v, want %s", before[i+1], w.holding(u, "AAPL"), got)
			}
		}
		w.run(2 * time.Minute)
		w.wantBalance()
		w.wantAlarm("", false)
		if house := w.house("AAPL"); house < 0 {
			w.t.Errorf("after an order the house still owes %s", -house)
		}
		if a := w.action(id); a.AppliedAt.IsZero() || a.Note != "" {
			w.t.Errorf("applied at %s, note %q", a.AppliedAt, a.Note)
		}
	})
}

// Two stocks that split in one night are applied one after the other.
func TestTwoStocksSplitAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		w.wantAfter(3*time.Second, w.give("KO", 5*usd), rewards.Executed)
		apple, coke := w.announce("1", "4", "2000-01-05"), w.post(
			`{"type":"forward_split","symbol":"KO","old_rate":2,"new_rate":3,"ex_date":"2000-01-05"}`)
		before, other := w.holdings("AAPL"), w.holding(w.user, "KO")
		w.until("2000-01-05 02:30:00")
		w.run(30 * time.Second)
		w.wantAction(apple, rewards.ActionSwept)
		w.wantAction(coke, rewards.ActionSwept)
		w.wantConverted("AAPL", before, rewards.Ratio{Old: 1, New: 4})
		if got := w.holding(w.user, "KO"); got.Quantity != other.Quantity*3/2 || got.Generation != 1 {
			w.t.Errorf("%+v became %+v", other, got)
		}
		w.wantBalance()
		w.wantAlarm("", false)
	})
}

// Two splits of one stock follow each other; each waits for the one before.
func TestAStockSplitsTwice(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		first, second := w.announce("1", "4", "2000-01-05"), w.announce("10", "1", "2000-01-06")
		before := w.holdings("AAPL")
		w.until("2000-01-05 02:30:00")
		w.run(10 * time.Second)
		w.wantConverted("AAPL", before, rewards.Ratio{Old: 1, New: 4})
		w.wantAction(second, rewards.ActionAnnounced)
		w.buy()
		between := w.holdings("AAPL")
		w.until("2000-01-06 02:30:00")
		w.run(10 * time.Second)
		w.wantAction(first, rewards.ActionSwept)
		w.wantAction(second, rewards.ActionSwept)
		w.wantConverted("AAPL", between, rewards.Ratio{Old: 10, New: 1})
		w.wantValued("AAPL", true)
		w.wantBalance()
		w.wantAlarm("", false)
	})
}

// A service that was down over the ex-date applies the action when it comes back, before it orders.
func TestTheServiceIsDownOverTheExDate(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{
		"since the evening": "2000-01-04 21:00:00", "since the day before": "2000-01-03 12:00:00", "for two sessions": "2000-01-04 12:00:00",
	}, func(w *world, down string) {
		w.holders("AAPL")
		id := w.announce("1", "4", "2000-01-05")
		w.until(down)
		w.run(5 * time.Second)
		before := w.holdings("AAPL")
		given := w.give("AAPL", 5*usd)
		w.until("2000-01-06 12:00:00")
		if down == "2000-01-04 21:00:00" {
			w.want(given, rewards.Recorded)
		}
		w.restart()
		w.run(100 * time.Millisecond)
		w.wantAction(id, rewards.ActionSwept)
		w.wantConverted("AAPL", before, rewards.Ratio{Old: 1, New: 4})
		w.wantAfter(30*time.Second, given, rewards.Executed)
		w.wantBalance()
		w.wantAlarm("", false)
	})
}

// An order without a known outcome holds the action, whose note names it. After an operator has
// resolved the order, the action is applied by itself.
func TestASplitWaitsForAnOrder(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]bool{"it bought": true, "it bought nothing": false}, func(w *world, bought bool) {
		w.sync(nil)
		w.holders("AAPL")
		id := w.announce("1", "4", "2000-01-05")
		w.until("2000-01-04 19:59:30")
		if !bought {
			w.afflict("reject-later symbol=AAPL times=1")
		}
		w.disguises()
		given := w.give("AAPL", 5*usd)
		w.run(10 * time.Second)
		o := w.quarantined()
		w.reportsTruth()
		w.until("2000-01-05 03:00:00")
		w.run(time.Minute)
		a := w.action(id)
		if a.State != rewards.ActionHeld || a.WaitsFor != o.ClientOrderID || a.Note != "the order "+o.ClientOrderID+" must end first" {
			w.t.Errorf("the action is %s, waits for %q, note %q", a.State, a.WaitsFor, a.Note)
		}
		w.wantAlarm(rewards.AlarmAction+id, true)
		w.wantValued("AAPL", true)
		before := w.holdings("AAPL")
		var truth rewards.Resolution
		for _, b := range w.orders() {
			if b.ClientOrderID == o.ClientOrderID {
				truth = rewards.Resolution{FilledQty: b.FilledQty, Price: b.FilledAvgPrice}
			}
		}
		if (truth.FilledQty > 0) != bought {
			w.t.Fatalf("the order bought %s", truth.FilledQty)
		}
		w.resolve(o, truth)
		w.run(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.want(given, rewards.Executed)
		for i, u := range w.users[1:] {
			if got := w.holding(u, "AAPL").Quantity; got != before[i+1].Quantity*4 {
				w.t.Errorf("%+v became %s", before[i+1], got)
			}
		}
		w.wantBalance()
		w.run(time.Minute)
		w.wantAlarm("", false)
	})
}

// A corrected dividend names the shares that it was paid for, which came nowhere: it does not explain a position that a
// split has doubled.
func TestACorrectedDividendExplainsNoPosition(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		booked, err := w.store.Booked(w.t.Context())
		w.check(err)
		w.faulty(ofActivities, says(200, `[{"activity_type":"DIV","activity_sub_type":"CDIV","id":"20000103000000000::5f596936-6f23-4cef-bdf1-3806aae57dbf",
			"created_at":"2000-01-03T05:00:00Z","date":"2000-01-03","net_amount":"8.12","per_share_amount":"0.25",
			"qty":"`+booked[0].Quantity.String()+`","status":"correct","symbol":"AAPL","currency":"USD"}]`))
		w.run(2 * time.Minute)
		w.afflict("late-announcement")
		w.control(http.MethodPost, "corporate-actions", `{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":2,"ex_date":"2000-01-05"}`)
		w.until("2000-01-05 02:30:30")
		w.run(2 * time.Minute)
		if house := w.house("AAPL"); house > money.Share/1000 {
			w.t.Errorf("the house got the users' new shares: %s", house)
		}
	})
}

// An order that the broker has always refused has bought nothing: it does not hold up the split, and is sent after it.
func TestARefusedOrderDoesNotHoldUpASplit(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		id := w.announce("1", "4", "2000-01-05")
		w.until("2000-01-04 19:59:30")
		off := w.faulty(isSubmit, insufficient)
		given := w.give("AAPL", 5*usd)
		w.run(5 * time.Second)
		if o := w.live()[0]; o.State != rewards.OrderSubmitted || o.MayHaveBought() {
			w.t.Fatalf("the order is %s", o.State)
		}
		w.until("2000-01-04 20:00:30")
		off()
		w.until("2000-01-05 02:30:00")
		w.run(time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		w.wantAfter(time.Minute, given, rewards.Executed)
		w.wantBalance()
	})
}

// An order that is sent just before the close may reach the broker after it, and is filled in shares of after the split.
// So none is sent then.
func TestAnOrderThatMissedTheCloseBeforeASplit(t *testing.T) {
	t.Parallel()
	type variant struct {
		old, new string
		ratio    rewards.Ratio
	}
	inWorlds(t, map[string]variant{
		"3 for 2":  {"2", "3", rewards.Ratio{Old: 2, New: 3}},
		"4 for 1":  {"1", "4", rewards.Ratio{Old: 1, New: 4}},
		"1 for 10": {"10", "1", rewards.Ratio{Old: 10, New: 1}},
	}, func(w *world, v variant) {
		w.until("2000-01-03 12:00:00")
		w.holders("AAPL")
		before := w.held("AAPL")[w.user.ID]
		split := w.announce(v.old, v.new, "2000-01-05")
		w.until("2000-01-04 15:59:55")
		w.run(3 * time.Second)
		isSubmit := func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/v2/orders" }
		off := w.faulty(isSubmit, func(_ *http.Request, carry carrier) (*http.Response, error) {
			time.Sleep(time.Until(time.Date(2000, 1, 4, 21, 0, 1, 0, time.UTC))) // a slow wire: 16:00:01
			return carry()
		})
		r := w.give("AAPL", 100*usd)
		w.run(10 * time.Second)
		off()
		w.until("2000-01-04 20:00:00")
		w.run(10 * time.Second)
		w.until("2000-01-05 02:30:00")
		w.run(30 * time.Second)
		w.until("2000-01-05 09:30:00")
		w.run(3 * time.Minute)
		var fill rewards.BrokerOrder
		for _, b := range w.orders() {
			if b.Notional == 100*usd {
				fill = b
			}
		}
		w.want(r, rewards.Executed)
		w.wantAction(split, rewards.ActionSwept)
		want, err := v.ratio.Of(before)
		w.check(err)
		want += fill.FilledQty
		if got := w.holding(w.user, "AAPL").Quantity; got < want-5 || got > want+5 {
			w.t.Errorf("the user has %s shares, want %s: %s of before the split, and %s bought after it; the house has %s",
				got, want, before, fill.FilledQty, w.house("AAPL"))
		}
	}, usHours)
}
