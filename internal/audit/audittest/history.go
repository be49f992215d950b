package audittest

import (
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// PerUSD is a price of one dollar.
const PerUSD = money.Price(1_000_000_000)

const dollar = money.Dollar

// History returns a store in which everything has happened that can happen to a reward.
func History(tb testing.TB, in Place) *World {
	tb.Helper()
	w := NewWorld(tb, in)
	w.history()
	w.Seal()
	return w
}

// Seal seals all full segments. Over PostgreSQL it makes their filters.
func (w *World) Seal() {
	for more := true; more; {
		var err error
		more, err = w.SealSegment(w.tb.Context())
		w.Check(err)
	}
}

func (w *World) history() {
	first, second := w.App("first"), w.App("second")
	ann, bob := w.User(first, "ann", "Ann@Example.com", ""), w.User(first, "bob", "bob@example.com", "bob")
	cy, dee := w.User(second, "cy", "ann@example.com", "bob"), w.User(second, "dee", "", "dee")

	// Filled at once; the house rounds up to the cent.
	w.Give("ann-aapl", ann, "AAPL", 5_250_000, "signup", `{"b":1.50,"a":{"z":9007199254740993,"y":"é"}}`)
	w.Give("cy-aapl", cy, "AAPL", 10*dollar, "", "")
	w.Give("bob-aapl", bob, "AAPL", 333_333, "birthday", `{"campaign":"x"}`)
	w.Fill("filled", "AAPL", 187*PerUSD+310_000_000)

	// Partly filled, then canceled: bob's reward is split and dee's waits. Both go into a second
	// order on the next day.
	w.Give("ann-msft", ann, "MSFT", 100*dollar, "", "")
	w.Give("bob-msft", bob, "MSFT", 50*dollar, "", "")
	w.Give("dee-msft", dee, "MSFT", 30*dollar, "", "")
	o := w.Merge(w.Send(w.Plan("canceled", "MSFT")), "partially_filled", 200_000_000, 400*PerUSD)
	o = w.Merge(o, "canceled", 300_000_001, 400*PerUSD+7)
	w.Settle(o)
	w.Back("back-waits", "second", "dee-msft", 3*dollar) // until the order of the next day
	w.Now = w.Now.Add(20 * time.Hour)
	w.Fill("child", "MSFT", 410*PerUSD+1)

	// Split again, and the rest waits.
	w.Give("cy-msft", cy, "MSFT", 77*dollar, "", "")
	w.Settle(w.Merge(w.Send(w.Plan("expired", "MSFT")), "expired", 10_000_003, 399*PerUSD))

	// Refused at once, rejected later, and canceled with nothing bought.
	w.Give("bob-tsla", bob, "TSLA", 20*dollar, "", "")
	w.Give("dee-tsla", dee, "TSLA", 21*dollar, "", "")
	o = w.Plan("refused", "TSLA")
	w.Back("back-refused", "second", "dee-tsla", dollar)
	w.Refuse(w.Send(o), "asset_not_tradable: asset TSLA is not tradable")
	w.Give("cy-tsla", cy, "TSLA", 22*dollar, "", "")
	w.Settle(w.Merge(w.Send(w.Plan("rejected", "TSLA")), "rejected", 0, 0))
	w.Give("ann-xom", ann, "XOM", 9*dollar, "", "")
	w.Settle(w.Merge(w.Send(w.Plan("nothing", "XOM")), "canceled", 0, 0))
	w.Fill("again", "XOM", 110*PerUSD)
	w.pastLots("again", "ann", "ann-xom")
	w.earlier(dee)

	// What the house's shares pay for, and a reward too small for a share.
	w.offered(cy)
	w.Give("ann-brk", ann, "BRK.A", 1, "", "")
	w.Give("bob-brk", bob, "BRK.A", 900_000, "", "")
	w.Fill("dust", "BRK.A", 700_000*PerUSD)

	// Quarantined and resolved by an operator: partly bought, and not bought.
	w.Give("cy-ko", cy, "KO", 60*dollar, "", "")
	w.Give("dee-ko", dee, "KO", 40*dollar, "", "")
	o = w.Quarantine(w.Send(w.Plan("resolved", "KO")), "not found at the broker after the close of the session")
	w.Resolve(o, 1_000_000_000, 70*PerUSD)
	w.Now = w.Now.Add(24 * time.Hour)
	w.Give("cy-waits", cy, "KO", 8*dollar, "", "")
	o = w.Quarantine(w.Merge(w.Send(w.Plan("unbought", "KO")), "new", 0, 0), "the broker contradicts the order")
	w.Resolve(o, 0, 0)

	// A fill for less than a millionth of a dollar: the house gets it, and the rewards still wait.
	w.Settle(w.Merge(w.Send(w.Plan("crumb", "KO")), "canceled", 5, 70*PerUSD))
	w.unsealed(cy)

	w.Back("back-part", "first", "ann-aapl", 1_000_001)
	w.decisions()
	w.actions(ann)
	w.Begin(w.Announce("split-of-msft", rewards.Terms{Type: "forward_split", Symbol: "MSFT", OldRate: "2", NewRate: "3"}), "", "0", 0)

	w.underWay(ann, bob, cy)
	w.standstill("XOM")
	w.webhooks(first)
}

// unsealed books orders whose lots are in no segment yet.
func (w *World) unsealed(u rewards.User) {
	for _, name := range []string{"late", "later"} {
		w.Give("cy-"+name, u, "BRK.A", 5*dollar, "", "")
		w.Fill(name, "BRK.A", 700_000*PerUSD)
	}
}

// earlier has a small pool that the house tops up, in an order that an earlier version has booked.
func (w *World) earlier(u rewards.User) {
	w.Give("dee-nvda", u, "NVDA", 100_000, "", "")
	w.Fill("topped", "NVDA", 900*PerUSD)
	w.past("topped", "dee-nvda")
}

// offered lets the house's shares pay for a part of an award. They are worth less when the order is
// filled, so that a rest of the award waits for the next order.
func (w *World) offered(u rewards.User) {
	w.Give("cy-nvda", u, "NVDA", 2*dollar, "", "")
	l := w.limits()
	l.UseHouse, l.Price = true, 900*PerUSD
	w.settleFilled(w.planWith("offered", "NVDA", l), 500*PerUSD)
	w.Fill("after-offered", "NVDA", 900*PerUSD)
}

// underWay leaves one order in each state.
func (w *World) underWay(ann, bob, cy rewards.User) {
	w.Give("ann-planned", ann, "TSLA", 3*dollar, "", "")
	w.Plan("planned", "TSLA")
	w.Give("ann-submitted", ann, "AAPL", 4*dollar, "", "")
	w.Send(w.Plan("submitted", "AAPL"))
	w.Give("bob-open", bob, "NVDA", 5*dollar, "", "")
	w.Merge(w.Send(w.Plan("open", "NVDA")), "partially_filled", 1_000, 900*PerUSD)
	w.Give("bob-quarantined", bob, "XOM", 6*dollar, "", "")
	w.Quarantine(w.Send(w.Plan("quarantined", "XOM")), "the broker contradicts the order: symbol")
	w.Give("cy-recorded", cy, "BRK.A", 7*dollar, "", "")
	w.Back("back-open", "second", "cy-recorded", dollar)
	w.Give("ann-canceled", ann, "BRK.A", 2*dollar, "", "")
	w.Back("back-first", "first", "ann-canceled", dollar)
	w.Back("back-rest", "first", "ann-canceled", 0)
	w.Back("back-after", "first", "ann-aapl", 1_500_000)
	w.Back("back-more", "first", "ann-aapl", 700_000)
	w.Back("back-all", "first", "bob-aapl", 0)
	w.order("back-ordered", "cy-ko", dollar)
	w.Check(w.SaveQuotes(w.tb.Context(), []rewards.Quote{{AssetID: w.Catalog["AAPL"].ID, Price: 187 * PerUSD, TradedAt: w.Now, Generation: 3}}))
}
