package fulfillment_test

import (
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// spunAt has a spin-off whose position and activities the broker writes late, at a moment of the ex-date.
func (w *world) spunAt(late string) (id string) {
	w.t.Helper()
	w.sync(nil)
	w.wantAfter(5*time.Second, w.give("AAPL", 20*usd), rewards.Executed)
	w.afflict("late-position symbol=AAPL by=" + late)
	id = w.post(`{"type":"spin_off","source_symbol":"AAPL","source_rate":1,"new_symbol":"SPUN","new_rate":1,"ex_date":"2000-01-05"}`)
	w.until("2000-01-04 20:00:00")
	w.serve(10 * time.Second)
	w.until("2000-01-05 09:29:55")
	return id
}

// crash lowers the price of AAPL and doubles that of SPUN, so that the trades since then divide the basis otherwise.
func (w *world) crash() {
	w.t.Helper()
	prices, err := w.client.LatestPrices(w.t.Context(), []string{"AAPL", "SPUN"})
	w.check(err)
	for symbol, p := range prices {
		changed := p.Price * 4 / 5
		if symbol == "SPUN" {
			changed = p.Price * 2
		}
		w.control("PUT", "prices/"+symbol, `{"price":"`+(changed/10_000_000*10_000_000).String()+`"}`)
	}
}

// prices are those of AAPL and SPUN by the brokerage.
func (w *world) prices() (source, given money.Price) {
	w.t.Helper()
	prices, err := w.client.LatestPrices(w.t.Context(), []string{"AAPL", "SPUN"})
	w.check(err)
	return prices["AAPL"].Price, prices["SPUN"].Price
}

// activityPrices are the prices that the broker's activities name.
func (w *world) activityPrices(id string) (source, given money.Price) {
	w.t.Helper()
	list, _, err := w.client.Activities(w.t.Context(), rewards.OtherActivities, time.Now().Add(-72*time.Hour), "")
	w.check(err)
	return w.action(id).SpinOffPrices(list)
}

// wantDivided checks that the cost basis of $20 was divided by two prices.
func (w *world) wantDivided(source, given money.Price) {
	w.t.Helper()
	part, err := rewards.Terms{Type: rewards.ActionSpinOff, OldRate: "1", NewRate: "1"}.BasisPart(source, given)
	w.check(err)
	if got, want := w.holding(w.user, "SPUN").CostBasis, part.Of(20*usd); got != want {
		w.t.Errorf("the new stock has %s of the cost basis, want %s", got, want)
	}
}

// The broker changes the position and writes the activities while the market is open: their prices divide the basis,
// also when the position is read before the activities.
func TestTheBasisByActivitiesInOpenMarket(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{
		"at once": "12h", "a second later": "12h1s", "two": "12h2s", "three": "12h3s", "four": "12h4s", "five": "12h5s",
	}, func(w *world, late string) {
		id := w.spunAt(late)
		w.serve(10 * time.Second)
		w.until("2000-01-05 14:29:50")
		w.crash()
		w.serve(40 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantDivided(w.activityPrices(id))
		w.wantBalance()
	})
}

// The activities name no prices: the first trade of each stock on the ex-date divides the basis, not the last one.
func TestTheBasisByTheFirstTrades(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		id := w.spunAt("12h")
		w.faulty(ofActivities, says(200, `[]`))
		w.until("2000-01-05 09:30:01")
		w.check(w.market.Refresh(w.t.Context()))
		source, given := w.prices()
		w.serve(10 * time.Second)
		w.until("2000-01-05 14:29:50")
		w.crash()
		w.serve(40 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantDivided(source, given)
	})
}

// The activities cannot be read: the spin-off waits for ten minutes, and then the first trades divide the basis.
func TestTheBasisWithoutActivities(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]bool{"they are read in time": true, "they are never read": false}, func(w *world, read bool) {
		id := w.spunAt("12h")
		w.until("2000-01-05 09:30:01")
		w.check(w.market.Refresh(w.t.Context()))
		source, given := w.prices()
		w.until("2000-01-05 14:29:50")
		off := w.faulty(ofActivities, says(500, `{}`))
		w.serve(9 * time.Minute)
		if a := w.action(id); a.State != rewards.ActionHeld || a.WaitsFor != "the prices on the ex-date" {
			w.t.Errorf("the action is %s and waits for %q", a.State, a.WaitsFor)
		}
		if read {
			off()
			source, given = w.activityPrices(id)
		}
		w.serve(2 * time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		w.wantDivided(source, given)
	})
}
