package hostile

import (
	"strings"
	"testing"
	"time"
)

// A fill that cannot be is quarantined: the award stays open and nothing is bought again.
func TestHostileFills(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(*hostileOrder){
		"filled at a hundredth of the cost":       func(o *hostileOrder) { o.fill("0.0013552", "100") },
		"filled at twice the cost":                func(o *hostileOrder) { o.fill("2.7104", "100") },
		"canceled at a price that cannot be":      func(o *hostileOrder) { o.end("canceled", "0.6776", "0.01") },
		"filled at a price that cannot be":        func(o *hostileOrder) { o.fill("13552", "0.01") },
		"filled with nothing":                     func(o *hostileOrder) { o.fill("0", "100") },
		"filled at no price":                      func(o *hostileOrder) { o.fill("1.3552", "") },
		"a negative quantity":                     func(o *hostileOrder) { o.fill("-1.3552", "100") },
		"another stock":                           func(o *hostileOrder) { honestly(o); o.symbol = "MSFT" },
		"another notional":                        func(o *hostileOrder) { honestly(o); o.notional = "135.51" },
		"a status that Alpaca does not have":      func(o *hostileOrder) { honestly(o); o.status = "done" },
		"a quantity with more digits than exists": func(o *hostileOrder) { o.fill("1.35520000001", "100") },
		"a quantity that overflows":               func(o *hostileOrder) { o.fill("99999999999999999999", "100") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			v.broker.set(func() { v.broker.script = script })
			v.serve()
			r := v.give("hostile-fill", "135.52", "AAPL")
			v.orderIn("quarantined", 30*time.Second)
			v.await(r.ID, "executing", time.Second)
			v.sends(1, 0)
			if quantity, _ := v.holding(); quantity != "0" {
				t.Errorf("the user holds %s", quantity)
			}
		})
	}
}

// The two readings that prove the end of an order must agree on the price too.
func TestHostilePriceChangesBetweenTwoReadings(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.broker.set(func() {
		v.broker.script = func(o *hostileOrder) {
			if o.notional == "135.52" {
				o.end("canceled", "0.6776", "100")
				return
			}
			honestly(o)
		}
	})
	v.serve()
	v.give("hostile-price", "135.52", "AAPL")
	v.within("the order is open", 20*time.Second, func() bool {
		return strings.Contains(v.command("order", "list", "--state", "open"), "canceled")
	})
	time.Sleep(20 * time.Second) // two thirds of the wait of 30 s
	changed := time.Now()
	v.broker.set(func() { v.broker.orders[0].price = "101" })
	v.within("the order is booked", time.Minute, func() bool {
		return strings.Contains(v.command("order", "list", "--state", "settled"), "canceled")
	})
	if waited := time.Since(changed); waited < 29*time.Second {
		t.Errorf("the order was booked %s after its price changed, want 30 s", waited)
	}
}

// A trade of the future must not freeze the price.
func TestHostileTradeOfTheFuture(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.serve()
	r := v.give("hostile-future", "100", "AAPL")
	v.await(r.ID, "executed", 20*time.Second)
	quote := func(price string, at time.Time) {
		v.broker.set(func() {
			v.broker.quotes["AAPL"] = hostileQuote{price: price, previousClose: "100", at: at}
		})
	}
	quote("101", time.Now().AddDate(70, 0, 0))
	time.Sleep(3 * time.Second) // the price is read each second
	quote("120", time.Now())
	v.within("the new price", 10*time.Second, func() bool { _, value := v.holding(); return value == "120" })
}

// Without a previous close the last price is the reference of the sanity check.
func TestHostileJumpWithoutAPreviousClose(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.serve()
	r := v.give("hostile-jump", "100", "AAPL")
	v.await(r.ID, "executed", 20*time.Second)
	v.holding()
	v.broker.set(func() { v.broker.quotes["AAPL"] = hostileQuote{price: "1000", at: time.Now()} })
	v.alarmed("price_in_doubt:AAPL", 10*time.Second)
	v.must(502, "GET", "/v1/users/"+v.user+"/portfolio", "", nil)
}

// A correction of an old order's fill is noticed at the next start. It stops nothing: the house
// owes what is missing.
func TestHostileCorrectionOfAnOldOrder(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.broker.set(func() {
		v.broker.script = func(o *hostileOrder) { honestly(o); o.submitted = time.Now().Add(-72 * time.Hour) }
	})
	v.serve()
	v.await(v.give("hostile-old", "100", "AAPL").ID, "executed", 20*time.Second)
	v.stop()
	v.broker.set(func() {
		o := v.broker.orders[0]
		o.quantity = "0.5"
		v.broker.listed = []any{map[string]any{
			"id": "20261122000000000::cccccccc-0000-4000-8000-000000000001", "activity_type": "FILL", "type": "trade_bust",
			"order_id": o.id, "symbol": o.symbol, "side": "buy", "qty": "-0.5", "cum_qty": "0.5", "price": "100",
			"transaction_time": time.Now().Format(time.RFC3339Nano),
		}}
	})
	v.serve()
	v.alarmed("fill_corrected:", 30*time.Second)
	v.alarmed("house_owes:AAPL", 20*time.Second)
}

// A clock that answers 2099 must not disarm what protects a restored backup.
func TestHostileClock(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.serve()
	v.await(v.give("hostile-first", "100", "AAPL").ID, "executed", 20*time.Second)
	v.stop()
	year2099 := func() time.Time { return time.Now().AddDate(73, 0, 0) }
	v.broker.set(func() { v.broker.clock = year2099 })
	v.serve()
	v.give("hostile-second", "100", "AAPL")
	v.sends(1, 3*time.Second)
	v.stop()
	v.broker.set(func() { // the books are a backup: the broker knows an order that they do not
		v.broker.clock = time.Now
		stranger := *v.broker.orders[0]
		stranger.id, stranger.submitted = "cccccccc-0000-4000-8000-000000000001", time.Now()
		stranger.clientID = stranger.clientID[:strings.LastIndex(stranger.clientID, "-")+1] + "00000000"
		v.broker.orders = append(v.broker.orders, &stranger)
	})
	v.serve()
	v.alarmed("broker_conflict", 20*time.Second)
	v.sends(1, 0)
}

// Another account behind the same address stops ordering within a minute or so; the
// right one lets it go on.
func TestHostileAccountChanges(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.serve()
	v.await(v.give("hostile-first", "100", "AAPL").ID, "executed", 20*time.Second)
	right := v.broker.account
	v.broker.set(func() { v.broker.account = "22222222-2222-4222-8222-222222222222" })
	v.alarmed("account", 80*time.Second)
	r := v.give("hostile-second", "100", "AAPL")
	v.sends(1, 3*time.Second)
	v.broker.set(func() { v.broker.account = right })
	v.await(r.ID, "executed", 80*time.Second)
}

// An order that the broker refuses for good with 403 can be ended by an operator.
func TestHostileRefusalForGood(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.broker.set(func() {
		v.broker.refuse = func(string) (int, string) { return 403, `{"code":40310000,"message":"new orders are not allowed"}` }
	})
	v.serve()
	r := v.give("hostile-forbidden", "100", "AAPL")
	v.within("the order was sent", 20*time.Second, func() bool { return v.broker.submissions() > 0 })
	id := strings.Fields(v.orderIn("submitted", 10*time.Second))[0]
	resolve := append([]string{"order", "resolve", id, "--not-bought", "--reason", "a drill"}, v.broker.flags()[:6]...)
	v.within("the order is resolved", 10*time.Second, func() bool {
		out, err := v.try(resolve...)
		if err != nil && !strings.Contains(out, "repeat this in a minute") { // an attempt is being sent
			t.Fatalf("%s, %v", out, err)
		}
		return err == nil
	})
	v.broker.set(func() { v.broker.refuse = nil })
	v.await(r.ID, "executed", 30*time.Second)
	v.command("audit")
}

// A fill time in the future is not passed on.
func TestHostileFillOfTheFuture(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.broker.set(func() {
		v.broker.script = func(o *hostileOrder) { honestly(o); o.filled = time.Now().AddDate(5, 0, 0) }
	})
	v.serve()
	r := v.give("hostile-fill-time", "100", "AAPL")
	if at := v.await(r.ID, "executed", 20*time.Second).ExecutedAt; at.After(time.Now()) {
		t.Errorf("executed at %s, which is in the future", at)
	}
}

// A slow answer about one stock holds up no other stock.
func TestHostileSlowAnswer(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	const slow = 9 * time.Second
	var sent time.Time // the slow order
	v.broker.set(func() {
		v.broker.stall = func(symbol string) time.Duration {
			if symbol == "AAPL" {
				sent = time.Now()
				return slow
			}
			return 0
		}
	})
	v.serve()
	v.give("hostile-slow", "100", "AAPL")
	var began time.Time
	v.within("the slow order is on its way", 20*time.Second, func() bool {
		v.broker.set(func() { began = sent })
		return !began.IsZero()
	})
	r := v.give("hostile-quick", "100", "MSFT")
	v.await(r.ID, "executed", time.Until(began.Add(slow-time.Second)))
}

// An outcome that is unknown, again and again, buys once.
func TestHostileUnknownOutcomes(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	var answers int
	v.broker.set(func() {
		v.broker.refuse = func(string) (int, string) { // without accepting: nothing, a proxy's page, an overload
			answers++
			switch answers {
			case 1:
				return 504, `<html>gateway timeout</html>`
			case 2:
				return 500, `{"code":50010000,"message":"internal server error occurred"}`
			case 3:
				return 429, `{"code":42910000,"message":"rate limit exceeded"}`
			}
			return 0, ""
		}
	})
	v.serve()
	r := v.give("hostile-unknown", "100", "AAPL")
	v.await(r.ID, "executed", time.Minute)
	v.broker.set(func() {
		if len(v.broker.orders) != 1 {
			t.Errorf("%d orders were accepted, want one", len(v.broker.orders))
		}
		for _, id := range v.broker.sent {
			if id != v.broker.sent[0] {
				t.Errorf("one intent was sent as %s and as %s", v.broker.sent[0], id)
			}
		}
	})
	if quantity, _ := v.holding(); quantity != "1" {
		t.Errorf("the user holds %s, want 1", quantity)
	}
}
