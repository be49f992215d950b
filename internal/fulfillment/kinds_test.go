package fulfillment_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"testing"
	"time"

	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// overnight lets the night of 2000-01-05 pass, in which an action happens, and returns what the
// users had of AAPL before.
func (w *world) overnight() []rewards.Holding {
	w.t.Helper()
	w.until("2000-01-04 20:00:00")
	w.serve(5 * time.Second)
	before := w.holdings("AAPL")
	w.until("2000-01-05 02:30:00")
	w.serve(30 * time.Second)
	return before
}

// wantHeldOf checks what a user has of a stock.
func (w *world) wantHeldOf(u rewards.User, symbol string, shares money.Shares, basis money.USD) {
	w.t.Helper()
	if got := w.holding(u, symbol); got.Quantity != shares || got.CostBasis != basis {
		w.t.Errorf("of %s the user has %s for %s, want %s for %s", symbol, got.Quantity, got.CostBasis, shares, basis)
	}
}

// A stock that is renamed keeps its holdings and its waiting awards, which are bought under the new
// symbol. An award keeps the symbol that it was given with.
func TestARenamedStock(t *testing.T) {
	t.Parallel()
	type variant struct {
		body  string
		ratio rewards.Ratio
	}
	inWorlds(t, map[string]variant{
		"a name change": {
			`{"type":"name_change","old_symbol":"AAPL","new_symbol":"APL","process_date":"2000-01-05"}`, rewards.Ratio{Old: 1, New: 1},
		},
		"a reverse split with a new symbol": {
			`{"type":"reverse_split","symbol":"AAPL","old_rate":10,"new_rate":1,"new_symbol":"APL","ex_date":"2000-01-05"}`,
			rewards.Ratio{Old: 10, New: 1},
		},
	}, func(w *world, v variant) {
		w.sync(nil)
		w.holders("AAPL")
		asset := w.asset("AAPL")
		id := w.post(v.body)
		w.until("2000-01-04 20:00:00")
		given := w.wantNotOrdered("AAPL")
		before := w.overnight()
		w.wantAction(id, rewards.ActionSwept)
		if w.asset("APL") != asset {
			w.t.Error("the new symbol is another stock of the catalog")
		}
		for i, u := range w.users[1:] {
			want, err := v.ratio.Of(before[i+1].Quantity)
			w.check(err)
			w.wantHeldOf(u, "APL", want, before[i+1].CostBasis)
		}
		w.serve(10 * time.Second)
		if got := w.want(given, rewards.Executed); got.Symbol != "AAPL" {
			w.t.Errorf("the award is of %s", got.Symbol)
		}
		w.sync(nil) // as the service does every day
		w.wantAfter(5*time.Second, w.give("APL", 5*usd), rewards.Executed)
		w.wantBalance()
		w.wantValued("APL", true)
		w.run(2 * time.Minute)
		w.wantAlarm("", false)
	})
}

// A spin-off gives shares of a new stock, which is held and valued but not given. The cost basis is
// divided by the prices of the broker's activities, without a rest.
func TestASpinOff(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.holders("AAPL")
		id := w.post(`{"type":"spin_off","source_symbol":"AAPL","source_rate":4,"new_symbol":"SPUN","new_rate":1,"ex_date":"2000-01-05"}`)
		before := w.overnight()
		w.serve(70 * time.Second) // the activities
		w.wantAction(id, rewards.ActionSwept)
		for i, u := range w.users {
			source, spun := w.holding(u, "AAPL"), w.holding(u, "SPUN")
			if source.Quantity != before[i].Quantity || spun.Quantity != before[i].Quantity/4 ||
				source.CostBasis+spun.CostBasis != before[i].CostBasis || spun.CostBasis <= 0 || source.CostBasis <= spun.CostBasis {
				w.t.Errorf("%+v became %+v and %+v", before[i], source, spun)
			}
		}
		w.wantValued("AAPL", true)
		w.wantValued("SPUN", true)
		w.wantBalance()
		w.buy()
		w.wantBalance()
		w.wantAlarm("", false)
		for _, a := range w.giftable() {
			if a == "SPUN" {
				w.t.Error("the new stock can be given")
			}
		}
	})
}

// A spin-off may take more of the price than any day's trade: what the new stock is worth explains it.
func TestALargeSpinOffNeedsNobody(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		w.buy()
		before := w.market.LastPrice(w.asset("AAPL"))
		id := w.post(`{"type":"spin_off","source_symbol":"AAPL","source_rate":1,"new_symbol":"KO","new_rate":2,"ex_date":"2000-01-05"}`)
		w.overnight()
		w.serve(70 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		if after := w.market.LastPrice(w.asset("AAPL")); rewards.Plausible(after, before) {
			w.t.Fatalf("the price fell from %s to %s only", before, after)
		}
		w.wantAlarm("", false)
		w.wantValued("AAPL", true)
		w.buy()
		w.wantBalance()
	})
}

// A spin-off that is announced twice is held as a repetition at once, also without prices.
func TestADuplicateSpinOffIsHeld(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.holders("AAPL")
		w.afflict("duplicate-announcement symbol=AAPL")
		id := w.post(`{"type":"spin_off","source_symbol":"AAPL","source_rate":4,"new_symbol":"SPUN","new_rate":1,"ex_date":"2000-01-05"}`)
		w.overnight()
		w.serve(70 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.until("2000-01-06 20:00:00")
		w.serve(30 * time.Second)
		for _, a := range w.actionsOf(0) {
			if a.ID != id {
				w.wantHeld(a.ID, "it repeats the action "+id)
			}
		}
	})
}

// giftable lists the stocks that can be given.
func (w *world) giftable() (symbols []string) {
	w.t.Helper()
	assets, err := w.store.Assets(w.t.Context())
	w.check(err)
	for _, a := range assets {
		if a.Giftable() {
			symbols = append(symbols, a.Symbol)
		}
	}
	return symbols
}

// Mergers: the stock is gone, its basis moves to the acquirer's stock or ends, and the cash is shared
// to the last millionth: an award of the acquirer's stock, or owed.
func TestMergers(t *testing.T) {
	t.Parallel()
	type variant struct {
		body         string
		shares, cash bool
		awarded      bool // the cash becomes an award
	}
	inWorlds(t, map[string]variant{
		"for stock": {
			`{"type":"stock_merger","acquiree_symbol":"AAPL","acquirer_symbol":"KO","acquiree_rate":2,"acquirer_rate":3,
				"effective_date":"2000-01-05"}`, true, false, false,
		},
		"for stock and cash": {
			`{"type":"stock_and_cash_merger","acquiree_symbol":"AAPL","acquirer_symbol":"KO","acquiree_rate":2,"acquirer_rate":3,
				"cash_rate":20.5,"effective_date":"2000-01-05"}`, true, true, true,
		},
		"for cash": {
			`{"type":"cash_merger","acquiree_symbol":"AAPL","rate":210.25,"effective_date":"2000-01-05"}`, false, true, false,
		},
		"for cash of an acquirer": {
			`{"type":"cash_merger","acquiree_symbol":"AAPL","acquirer_symbol":"KO","rate":210.25,"effective_date":"2000-01-05"}`,
			false, true, true,
		},
	}, func(w *world, v variant) {
		w.sync(nil)
		w.holders("AAPL")
		w.wantAfter(5*time.Second, w.give("KO", 5*usd), rewards.Executed)
		coke := w.holding(w.user, "KO")
		id := w.post(v.body)
		before := w.overnight()
		w.serve(2 * time.Minute) // the activities, and the awards
		w.wantAction(id, rewards.ActionSwept)
		held := make(map[rewards.UserID]money.Shares)
		for i, u := range w.users {
			w.wantHeldOf(u, "AAPL", 0, 0)
			held[u.ID] = before[i].Quantity
			if i > 0 && !v.awarded {
				want, basis := money.Shares(0), money.USD(0)
				if v.shares {
					want, basis = before[i].Quantity*3/2, before[i].CostBasis
				}
				w.wantHeldOf(u, "KO", want, basis)
			}
		}
		if v.shares && !v.awarded {
			w.wantHeldOf(w.user, "KO", coke.Quantity+before[0].Quantity*3/2, coke.CostBasis+before[0].CostBasis)
		}
		if v.cash {
			p := w.wantShared(id, held)
			owed, err := w.store.OwedCash(w.t.Context(), id)
			w.check(err)
			awards := 0
			for _, u := range w.users {
				r, awarded := w.awards(u)["merger:"+id+":"+u.ID.String()]
				if awarded && (r.Amount != p.cash[u.ID] || r.Symbol != "KO" || r.Source != "merger" || r.Status != rewards.Executed) {
					w.t.Errorf("the award of %s is %+v", p.cash[u.ID], r)
				}
				if awarded {
					awards++
				}
			}
			for _, o := range owed {
				if o.Cash != p.cash[o.UserID] || o.ActionID != id {
					w.t.Errorf("owed: %+v, want %s", o, p.cash[o.UserID])
				}
			}
			if v.awarded && (awards != len(w.users) || len(owed) != 0) || !v.awarded && (awards != 0 || len(owed) != len(w.users)) {
				w.t.Errorf("%d awards, %d owed, of %d users", awards, len(owed), len(w.users))
			}
		}
		w.wantBalance()
		w.wantValued("KO", true)
		w.wantGiftable("AAPL", false)
		w.wantGiftable("KO", true)
		paid := w.cashShown(id)
		if v.cash != (len(paid) == len(w.users)) {
			w.t.Errorf("the cash of %d users is shown", len(paid))
		}
		w.undo(id)
		w.serve(time.Minute)
		w.wantGiftable("AAPL", true)
		w.approve(id)
		w.serve(time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		if got := w.cashShown(id); !maps.Equal(got, paid) {
			w.t.Errorf("the cash that clients see was %v, and is %v after the action was applied again", paid, got)
		}
	})
}

// cashShown is the cash that clients see of an action.
func (w *world) cashShown(id string) map[rewards.UserID]money.USD {
	w.t.Helper()
	cash := make(map[rewards.UserID]money.USD)
	for _, u := range w.users {
		list, err := w.store.Effects(w.t.Context(), u.AppID, id, rewards.EffectPage{Limit: 100})
		w.check(err)
		for _, e := range list {
			if e.Shared {
				cash[e.UserID] = e.Cash
			}
		}
	}
	return cash
}

// A worthless stock takes shares and cost basis along.
func TestAWorthlessStock(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.holders("AAPL")
		id := w.post(`{"type":"worthless_removal","symbol":"AAPL","process_date":"2000-01-05"}`)
		w.overnight()
		w.wantAction(id, rewards.ActionSwept)
		for _, u := range w.users {
			w.wantHeldOf(u, "AAPL", 0, 0)
		}
		w.wantBalance()
		w.wantAfter(5*time.Second, w.give("KO", 5*usd), rewards.Executed)
		w.wantAlarm("", false)
	})
}

// The broker may give a renamed stock a new identifier: holdings and waiting awards move along, and
// an order under either identifier is ours.
func TestARenamedStockGetsAnotherIdentifier(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.holders("AAPL")
		id := w.post(`{"type":"name_change","old_symbol":"AAPL","new_symbol":"APL","process_date":"2000-01-05"}`)
		w.until("2000-01-04 19:59:30")
		w.disguises()
		open := w.give("AAPL", 5*usd)
		w.run(10 * time.Second)
		o := w.quarantined()
		w.reportsTruth()
		waiting := w.give("AAPL", 5*usd)
		before := w.holdings("AAPL")
		w.until("2000-01-05 02:30:00")
		other := exchange.AssetID("the new number")
		w.faulty(func(*http.Request) bool { return true }, func(_ *http.Request, carry carrier) (*http.Response, error) {
			response, err := carry()
			if err != nil {
				return response, err
			}
			body, err := io.ReadAll(response.Body)
			body = bytes.ReplaceAll(body, []byte(exchange.AssetID("AAPL")), []byte(other))
			response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			response.Header.Del("Content-Length")
			return response, err
		})
		w.serve(30 * time.Second)
		if a := w.action(id); a.State != rewards.ActionHeld || a.WaitsFor != o.ClientOrderID {
			w.t.Errorf("the action is %s and waits for %q", a.State, a.WaitsFor)
		}
		for _, b := range w.orders() {
			if b.ClientOrderID == o.ClientOrderID {
				w.resolve(o, rewards.Resolution{FilledQty: b.FilledQty, Price: b.FilledAvgPrice})
			}
		}
		w.serve(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.want(open, rewards.Executed)
		w.want(waiting, rewards.Executed)
		for i, u := range w.users[1:] {
			w.wantHeldOf(u, "APL", before[i+1].Quantity, before[i+1].CostBasis)
		}
		assets, err := w.store.Assets(w.t.Context())
		w.check(err)
		for _, a := range assets {
			if a.Symbol == "APL" && (a.BrokerID != other || a.FormerID != exchange.AssetID("AAPL")) {
				w.t.Errorf("the stock is %+v, want the identifier %s", a, other)
			}
		}
		w.run(2 * time.Hour) // orders of before are compared again
		w.wantAlarm("", false)
		w.wantBalance()
	})
}

// wantGiftable checks whether clients can give a stock.
func (w *world) wantGiftable(symbol string, want bool) {
	w.t.Helper()
	assets, err := w.store.Assets(w.t.Context())
	w.check(err)
	for _, a := range assets {
		if a.Symbol == symbol && a.Giftable() != want {
			w.t.Errorf("%s can be given: %v, want %v", symbol, a.Giftable(), want)
		}
	}
}

// The broker adds the less than one share that a merger gives some time after it removed the old stock: the house does not
// owe what comes.
func TestAMergerInTwoSteps(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantAfter(5*time.Second, w.give("KO", 350*usd), rewards.Executed)
		w.wantAfter(5*time.Second, w.give("AAPL", 100*usd), rewards.Executed)
		before, err := w.client.Positions(w.t.Context())
		w.check(err)
		id := w.post(`{"type":"stock_merger","acquiree_symbol":"KO","acquirer_symbol":"AAPL","acquiree_rate":10,"acquirer_rate":1,` +
			`"effective_date":"2000-01-05"}`)
		w.until("2000-01-04 20:00:00")
		w.run(10 * time.Second)
		w.until("2000-01-05 02:30:00")
		var aapl string
		for _, p := range before {
			if p.Symbol == "AAPL" {
				aapl = fmt.Sprintf(`[{"asset_id":%q,"symbol":"AAPL","qty":%q}]`, p.AssetID, p.Qty.String())
			}
		}
		off := w.faulty(ofPositions, says(200, aapl)) // KO is gone, AAPL is as before
		w.run(30 * time.Second)
		off()
		w.run(time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		if house := w.house("AAPL"); house < 0 {
			w.t.Errorf("the house owes %s shares that the broker has", -house)
		}
		w.wantBalance()
	})
}
