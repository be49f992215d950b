package audit

import (
	"cmp"
	"slices"
	"time"

	"stockrewards/internal/money"
)

// Severity says how much an item of a breaks report matters.
type Severity string

// The severities.
const (
	// SeverityBreak: our books and the broker's differ, and it does not pass.
	SeverityBreak Severity = "break"
	// SeverityWarning: nothing of ours, but worth knowing.
	SeverityWarning Severity = "warning"
	// SeverityTiming: it is under way; the next comparison finds it done.
	SeverityTiming Severity = "timing"
	// SeverityExplained: a difference that an operator has decided on.
	SeverityExplained Severity = "explained"
)

// Item is one line of a breaks report. Shares and dollars are exact decimals; a
// difference is the broker's less ours. What does not apply is empty.
type Item struct {
	Code             string   `json:"code"` // stable
	Severity         Severity `json:"severity"`
	ClientOrderID    string   `json:"clientOrderId,omitempty"`
	BrokerOrderID    string   `json:"brokerOrderId,omitempty"`
	OrderID          string   `json:"orderId,omitempty"` // ours
	Symbol           string   `json:"symbol"`
	Ours             string   `json:"ours"`
	Theirs           string   `json:"theirs"`
	DifferenceShares string   `json:"differenceShares,omitempty"`
	DifferenceUSD    string   `json:"differenceUsd,omitempty"`
	Since            string   `json:"since,omitempty"` // RFC 3339
	AgeSeconds       int64    `json:"ageSeconds,omitempty"`
	Next             string   `json:"next"` // what to do
}

// PositionRow is one stock of ours: what our books hold of it, what the broker does.
type PositionRow struct {
	Symbol        string `json:"symbol"`
	Holdings      string `json:"holdings"`      // of all users
	House         string `json:"house"`         // the operator's own
	Broker        string `json:"broker"`        // the broker's position
	Orders        string `json:"orders"`        // filled at the broker less booked by us, of all orders
	Unexplained   string `json:"unexplained"`   // what neither the books nor the orders account for
	DifferenceUSD string `json:"differenceUsd"` // of the unexplained, at our last price; "" when there is none
}

// BreakTotals count a report.
type BreakTotals struct {
	OurOrders      int    `json:"ourOrders"`      // that were sent
	BrokerOrders   int    `json:"brokerOrders"`   // with our prefix
	Matched        int    `json:"matched"`        // that agree
	Stocks         int    `json:"stocks"`         // of ours
	Breaks         int    `json:"breaks"`         //
	Warnings       int    `json:"warnings"`       //
	Timing         int    `json:"timing"`         //
	Explained      int    `json:"explained"`      //
	BrokenUSD      string `json:"brokenUsd"`      // the sum of the breaks' differences, without their signs
	OrdersOfOthers int    `json:"ordersOfOthers"` // in the account, without our prefix
}

// BreaksReport is the comparison of our books with a broker's.
type BreaksReport struct {
	Broker     string        `json:"broker"`
	Account    string        `json:"account"`
	Prefix     string        `json:"prefix"`
	ComparedAt string        `json:"comparedAt"` // RFC 3339
	Clean      bool          `json:"clean"`      // no breaks
	Totals     BreakTotals   `json:"totals"`
	Items      []Item        `json:"items"`
	Positions  []PositionRow `json:"positions"`
}

// comparison is a report in the making.
type comparison struct {
	books  *BrokerBooks
	told   map[string]reading
	now    time.Time
	report BreaksReport
	stocks map[string]*stock
}

// Compare compares the books with the broker's side at the moment now. It is pure.
func Compare(books *BrokerBooks, side BrokerSide, now time.Time) BreaksReport {
	c := &comparison{
		books: books, told: side.readings(books.Prefix()), now: now, stocks: make(map[string]*stock),
		report: BreaksReport{
			Broker: books.BrokerKind, Account: books.BrokerAccount, Prefix: books.Prefix(),
			ComparedAt: now.UTC().Format(time.RFC3339), Items: []Item{}, Positions: []PositionRow{},
		},
	}
	c.orders()
	c.positions(side.Positions)
	c.report.Totals.BrokerOrders = len(c.told)
	c.report.Totals.OrdersOfOthers = others(side.First, books.Prefix())
	c.finish()
	return c.report
}

// finish sorts and counts.
func (c *comparison) finish() {
	r := &c.report
	rank := map[Severity]int{SeverityBreak: 0, SeverityWarning: 1, SeverityTiming: 2, SeverityExplained: 3}
	slices.SortStableFunc(r.Items, func(a, b Item) int {
		return cmp.Or(
			rank[a.Severity]-rank[b.Severity], cmp.Compare(a.Code, b.Code), cmp.Compare(a.Symbol, b.Symbol),
			cmp.Compare(a.Since, b.Since), cmp.Compare(a.ClientOrderID, b.ClientOrderID),
		)
	})
	t := &r.Totals
	t.Breaks, t.Warnings, t.Timing, t.Explained = 0, 0, 0, 0
	var broken wide
	for _, i := range r.Items {
		switch i.Severity {
		case SeverityBreak:
			t.Breaks++
			if usd, err := money.ParseUSD(i.DifferenceUSD); err == nil {
				broken.add(max(int64(usd), -int64(usd)))
			}
		case SeverityWarning:
			t.Warnings++
		case SeverityTiming:
			t.Timing++
		case SeverityExplained:
			t.Explained++
		}
	}
	t.BrokenUSD = broken.text(plainUSD)
	r.Clean = t.Breaks == 0
}

// Confirmed is the second of two comparisons: a break that the first one did not
// have was under way, and is told as such.
func Confirmed(first, second BreaksReport) BreaksReport {
	type name struct{ code, order, symbol string }
	seen := make(map[name]bool)
	for _, i := range first.Items {
		seen[name{i.Code, i.ClientOrderID, i.Symbol}] = i.Severity == SeverityBreak
	}
	second.Items = slices.Clone(second.Items)
	for n := range second.Items {
		i := &second.Items[n]
		if i.Severity == SeverityBreak && !seen[name{i.Code, i.ClientOrderID, i.Symbol}] {
			i.Severity, i.Next = SeverityTiming, "it was seen in one of two readings; compare again"
		}
	}
	c := comparison{report: second}
	c.finish()
	return c.report
}

func plainUSD(n int64) string { return money.USD(n).String() }

func plainShares(n int64) string { return money.Shares(n).String() }
