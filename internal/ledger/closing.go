package ledger

import (
	"context"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// writeClosing asserts the final balances. hledger processes transactions by date, and by
// their position within a day. So these come last and have the date of the latest
// transaction, or of the request to the broker.
func writeClosing(ctx context.Context, j *journal, source Source, t *totals) error {
	j.line("")
	j.line("; Closing: what other rows of the books say that the balances are.")
	if t.positions != nil {
		t.note(t.positions.Asked)
	}
	var last holder
	err := source.Holdings(ctx, func(h rewards.UserHolding) error {
		if user := (holder{app: h.AppID, user: h.UserID}); user != last {
			j.header(t.last, "", "closing: a user's holdings")
			last = user
		}
		symbol := t.symbols[h.AssetID]
		j.assert(userAccount(h.AppID, h.UserID), "=", symbol, -h.Quantity)
		key := holder{h.AppID, h.UserID, h.AssetID}
		cost, err := money.AddUSD(h.CostBasis-h.Moved, t.partly[key])
		j.assertDollars(t.accountOf(key), "=", cost)
		return err
	})
	if err != nil {
		return err
	}
	if uncounted := t.sortedUncounted(); len(uncounted) > 0 {
		j.header(t.last, "", "closing: bought in part without shares yet")
		for _, h := range uncounted {
			j.assertDollars(t.accountOf(h), "=", t.uncounted[h])
		}
	}
	if len(t.stocks) > 0 {
		t.writeSums(j)
	}
	return t.writePositions(j)
}

// writeSums asserts the sums over all users and orders, which also finds a missing holding
// or order.
func (t *totals) writeSums(j *journal) {
	j.header(t.last, "", "closing: the sum of all holdings")
	j.assertDollars(receivable, "=*", t.due)
	for _, s := range t.sortedStocks() {
		j.assert(users, "=*", s.symbol, -s.held)
	}
	j.header(t.last, "", "closing: the filled quantities of the orders, and what corporate actions changed")
	for _, s := range t.sortedStocks() {
		j.assert(custody, "=", s.symbol, s.filled)
	}
	j.header(t.last, "", "closing: the booked shares and the house's")
	for _, s := range t.sortedStocks() {
		j.assert(custody, "=", s.symbol, s.booked)
		j.assert(house, "=", s.symbol, -s.house)
	}
}

// writePositions asserts the broker's positions.
func (t *totals) writePositions(j *journal) error {
	if t.positions == nil {
		return nil
	}
	expected, err := t.expectedPositions()
	if err != nil {
		return err
	}
	j.header(t.last, "", "closing: the positions at the broker")
	j.line("    ; asked: %s", t.positions.Asked.UTC().Format(time.RFC3339))
	for _, symbol := range t.notCompared {
		j.line("    ; %s is not asserted, an order of it is under way", commodity(symbol))
		delete(expected, symbol)
	}
	for _, symbol := range t.commodities() {
		if quantity, ok := expected[symbol]; ok {
			j.assert(custody, "=*", symbol, quantity)
		}
	}
	return nil
}

// expectedPositions returns the broker's quantity of every stock in the journal.
func (t *totals) expectedPositions() (map[string]money.Shares, error) {
	expected := map[string]money.Shares{}
	for _, symbol := range t.commodities() {
		expected[symbol] = 0
	}
	for _, p := range t.positions.List {
		sum, err := money.AddShares(expected[p.Symbol], p.Qty)
		if err != nil {
			return nil, err
		}
		expected[p.Symbol] = sum
	}
	return expected, nil
}

// assert writes a posting of zero with a balance assertion: "=" of the account, "=*" of the
// account and its subaccounts.
func (j *journal) assert(account, operator, symbol string, want money.Shares) {
	j.posting(account, shares(0, symbol)+" "+operator+" "+shares(want, symbol))
}

func (j *journal) assertDollars(account, operator string, want money.USD) {
	j.posting(account, dollars(0)+" "+operator+" "+dollars(want))
}
