package audit_test

import (
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// The scales of the tests.
const (
	dollar = money.Dollar
	perUSD = money.Price(1_000_000_000)
)

// history writes a small history with everything that can happen to a reward.
func history(t *testing.T, in place) *world {
	t.Helper()
	w := newWorld(t, in)
	first, second := w.app("first"), w.app("second")
	ann, bob := w.user(first, "ann", "Ann@Example.com", ""), w.user(first, "bob", "bob@example.com", "bob")
	cy, dee := w.user(second, "cy", "ann@example.com", "bob"), w.user(second, "dee", "", "dee")

	// Filled at once, with the house up to the cent.
	w.give("ann-aapl", ann, "AAPL", 5_250_000, "signup", `{"b":1.50,"a":{"z":9007199254740993,"y":"é"}}`)
	w.give("cy-aapl", cy, "AAPL", 10*dollar, "", "")
	w.give("bob-aapl", bob, "AAPL", 333_333, "birthday", `{"campaign":"x"}`)
	w.fill("filled", "AAPL", 187*perUSD+310_000_000)

	// Partly filled and then canceled: bob's reward is split, dee's waits, and the
	// rest of both goes into a second order, on the next day.
	w.give("ann-msft", ann, "MSFT", 100*dollar, "", "")
	w.give("bob-msft", bob, "MSFT", 50*dollar, "", "")
	w.give("dee-msft", dee, "MSFT", 30*dollar, "", "")
	o := w.merge(w.send(w.plan("canceled", "MSFT")), "partially_filled", 200_000_000, 400*perUSD)
	o = w.merge(o, "canceled", 300_000_001, 400*perUSD+7)
	w.settle(o)
	w.now = w.now.Add(20 * time.Hour)
	w.fill("child", "MSFT", 410*perUSD+1)

	// Split again, and the rest waits.
	w.give("cy-msft", cy, "MSFT", 77*dollar, "", "")
	w.settle(w.merge(w.send(w.plan("expired", "MSFT")), "expired", 10_000_003, 399*perUSD))

	// Refused at once, rejected later, and canceled with nothing bought.
	w.give("bob-tsla", bob, "TSLA", 20*dollar, "", "")
	w.give("dee-tsla", dee, "TSLA", 21*dollar, "", "")
	w.refuse(w.send(w.plan("refused", "TSLA")), "asset_not_tradable: asset TSLA is not tradable")
	w.give("cy-tsla", cy, "TSLA", 22*dollar, "", "")
	w.settle(w.merge(w.send(w.plan("rejected", "TSLA")), "rejected", 0, 0))
	w.give("ann-xom", ann, "XOM", 9*dollar, "", "")
	w.settle(w.merge(w.send(w.plan("nothing", "XOM")), "canceled", 0, 0))
	w.fill("again", "XOM", 110*perUSD)

	// A small pool that the house tops up, and a reward that is too small.
	w.give("dee-nvda", dee, "NVDA", 100_000, "", "")
	w.fill("topped", "NVDA", 900*perUSD)
	w.give("ann-brk", ann, "BRK.A", 1, "", "")
	w.give("bob-brk", bob, "BRK.A", 900_000, "", "")
	w.fill("dust", "BRK.A", 700_000*perUSD)

	// Quarantined and decided by an operator: partly bought, and not bought.
	w.give("cy-ko", cy, "KO", 60*dollar, "", "")
	w.give("dee-ko", dee, "KO", 40*dollar, "", "")
	o = w.quarantine(w.send(w.plan("resolved", "KO")), "not found at the broker after the close of the session")
	w.resolve(o, 1_000_000_000, 70*perUSD)
	w.now = w.now.Add(24 * time.Hour)
	w.give("cy-waits", cy, "KO", 8*dollar, "", "")
	o = w.quarantine(w.merge(w.send(w.plan("unbought", "KO")), "new", 0, 0), "the broker contradicts the order")
	w.resolve(o, 0, 0)

	// A crumb, for less than a millionth of a dollar: the house's, and all wait on.
	w.settle(w.merge(w.send(w.plan("crumb", "KO")), "canceled", 5, 70*perUSD))

	// Under way: one of each.
	w.give("ann-planned", ann, "TSLA", 3*dollar, "", "")
	w.plan("planned", "TSLA")
	w.give("ann-submitted", ann, "AAPL", 4*dollar, "", "")
	w.send(w.plan("submitted", "AAPL"))
	w.give("bob-open", bob, "NVDA", 5*dollar, "", "")
	w.merge(w.send(w.plan("open", "NVDA")), "partially_filled", 1_000, 900*perUSD)
	w.give("bob-quarantined", bob, "XOM", 6*dollar, "", "")
	w.quarantine(w.send(w.plan("quarantined", "XOM")), "the broker contradicts the order: symbol")
	w.give("cy-recorded", cy, "BRK.A", 7*dollar, "", "")
	w.check(w.SaveQuotes(t.Context(), []rewards.Quote{{AssetID: w.assets["AAPL"].ID, Price: 187 * perUSD, TradedAt: w.now}}))
	return w
}
