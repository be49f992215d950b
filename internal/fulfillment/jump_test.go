package fulfillment_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// When the brokerage's clock jumps over the night, no price in new units is offered for old shares,
// not even before the worker has looked. The action is applied within 30 seconds.
func TestAJumpOverTheNightOffersNoPriceOfNewUnits(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.buy()
		w.wantValued("AAPL", true)
		id := w.announce("10", "1", "2000-01-05")
		w.check(w.brokerage.SetClock(w.t.Context(), time.Date(2000, 1, 5, 15, 0, 0, 0, time.UTC), 1))
		before, _ := w.market.Price(w.asset("AAPL"), 0)
		w.check(w.market.Refresh(w.t.Context())) // by the clock as it was
		if got, valued := w.market.Price(w.asset("AAPL"), 0); valued && (got < before*9/10 || got > before*11/10) {
			w.t.Errorf("a price in new units is offered: %s after %s", got, before)
		}
		late := w.give("AAPL", 5*usd)
		w.run(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantValued("AAPL", true)
		w.want(late, rewards.Executed)
		w.restart()
		w.faulty(func(*http.Request) bool { return true }, loseRequest)
		w.check(w.market.Load(w.t.Context()))
		if got, valued := w.market.Price(w.asset("AAPL"), 1); !valued || got < before*9 || got > before*11 {
			w.t.Errorf("after a restart in an outage the price is %s, usable %t", got, valued)
		}
		w.wantAlarm(rewards.AlarmPriceInDoubt, false)
	})
}

// When the brokerage's clock jumps over the night while a reward waits or an order is under way, what was bought
// before is changed, and nothing else.
func TestAJumpOverTheNightWithAnOrder(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]time.Duration{
		"at once": 0, "while it waits": 600 * time.Millisecond, "when it is due": time.Second, "sent": 1100 * time.Millisecond,
		"being bought": 1700 * time.Millisecond, "bought": 3 * time.Second,
	}, func(w *world, after time.Duration) {
		w.buy()
		id := w.announce("1", "4", "2000-01-05")
		before := w.holding(w.user, "AAPL").Quantity
		given := w.give("AAPL", 3*usd)
		w.run(after)
		w.check(w.brokerage.SetClock(w.t.Context(), time.Date(2000, 1, 5, 14, 31, 0, 0, time.UTC), 1))
		w.run(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantAfter(5*time.Second, given, rewards.Executed)
		w.wantAlarm("", false)
		w.wantBalance()
		w.wantValued("AAPL", true)
		if now := w.holding(w.user, "AAPL").Quantity; now < 4*before {
			w.t.Errorf("%s shares after the split, %s before it", now, before)
		}
	})
}

// The brokerage's clock jumps over a dividend, so that it is due long before it is by the service's clock. Who is
// entitled is recorded once, and each gets a part.
func TestAJumpOverADividend(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		id := w.post(dividend + "}")
		w.run(10 * time.Second)
		held := w.held("AAPL")
		w.check(w.brokerage.SetClock(w.t.Context(), time.Date(2000, 1, 10, 15, 0, 0, 0, time.UTC), 1))
		w.run(time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		w.wantShared(id, held)
		records, err := w.store.Switches(w.t.Context(), id)
		w.check(err)
		if len(records) != 1 {
			w.t.Errorf("who is entitled is recorded %d times", len(records))
		}
	})
}

// The brokerage's clock jumps over two actions of a stock, as a service sees it that was down meanwhile. Both are applied,
// in their order.
func TestAJumpOverTwoActions(t *testing.T) {
	t.Parallel()
	type pair struct {
		first, second string
		symbol        string // of the stock in the end
		ratio         rewards.Ratio
		spun          rewards.Ratio // of the new stock; zero: none
	}
	const split = `"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":3`
	inWorlds(t, map[string]pair{
		"two splits": {
			split, `"type":"reverse_split","symbol":"AAPL","old_rate":2,"new_rate":1`, "AAPL",
			rewards.Ratio{Old: 2, New: 3},
			rewards.Ratio{},
		},
		"a split and a rename": {
			split, `"type":"name_change","old_symbol":"AAPL","new_symbol":"APLX"`, "APLX", rewards.Ratio{Old: 1, New: 3}, rewards.Ratio{},
		},
		"a spin-off and a split": {
			`"type":"spin_off","source_symbol":"AAPL","source_rate":2,"new_symbol":"SPUN","new_rate":1`, split, "AAPL",
			rewards.Ratio{Old: 1, New: 3},
			rewards.Ratio{Old: 2, New: 1},
		},
	}, func(w *world, p pair) {
		w.wantAfter(5*time.Second, w.give("AAPL", 3000*usd), rewards.Executed)
		dated := func(body, day string) string {
			date := `"ex_date"`
			if strings.Contains(body, "name_change") {
				date = `"process_date"`
			}
			return w.control(http.MethodPost, "corporate-actions", `{`+body+`,`+date+`:"`+day+`"}`)
		}
		first, second := dated(p.first, "2000-01-05"), dated(p.second, "2000-01-06")
		w.run(20 * time.Second)
		before := w.holding(w.user, "AAPL")
		w.check(w.brokerage.SetClock(w.t.Context(), time.Date(2000, 1, 6, 14, 31, 0, 0, time.UTC), 1))
		w.run(30 * time.Second)
		w.wantAction(first, rewards.ActionSwept)
		w.wantAction(second, rewards.ActionSwept)
		want, err := p.ratio.Of(before.Quantity)
		w.check(err)
		if got := w.holding(w.user, p.symbol).Quantity; got != want {
			w.t.Errorf("%s shares became %s, want %s", before.Quantity, got, want)
		}
		if p.spun.Old > 0 {
			want, err := p.spun.Of(before.Quantity)
			w.check(err)
			if got := w.holding(w.user, "SPUN").Quantity; got != want {
				w.t.Errorf("%s shares gave %s of the new stock, want %s", before.Quantity, got, want)
			}
		}
		w.run(time.Minute)
		w.wantBalance()
		w.wantAlarm("", false)
	})
}
