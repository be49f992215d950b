package brokercheck

import (
	"cmp"
	"slices"
	"time"

	"stockrewards/internal/audit/value"
	"stockrewards/internal/money"
)

// Severity is how much an item matters.
type Severity string

// The severities.
const (
	// SeverityBreak means that both sides differ, and that waiting will not help.
	SeverityBreak Severity = "break"
	// SeverityWarning means that the account holds assets that we never ordered.
	SeverityWarning Severity = "warning"
	// SeverityTiming means that it is under way; a later comparison will find it done.
	SeverityTiming Severity = "timing"
	// SeverityExplained means that an operator decided on the difference.
	SeverityExplained Severity = "explained"
)

// Item is a finding. Shares and dollars are exact decimals; a difference is the broker's less
// ours. Fields that do not apply are empty.
type Item struct {
	Code             string   `json:"code"` // stable; docs/backup.md has them all
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

// PositionRow compares the shares of an asset.
type PositionRow struct {
	Symbol        string `json:"symbol"`
	Holdings      string `json:"holdings"`      // of all users
	House         string `json:"house"`         // the operator's own
	Booked        string `json:"booked"`        // both, in the units of now
	Broker        string `json:"broker"`        // the broker's position
	Orders        string `json:"orders"`        // of all orders: filled at the broker less booked by us
	Unexplained   string `json:"unexplained"`   // what neither the store nor the orders account for
	DifferenceUSD string `json:"differenceUsd"` // Unexplained at our last price; "" without a price
}

// Totals counts a report.
type Totals struct {
	OurOrders      int    `json:"ourOrders"`    // sent
	BrokerOrders   int    `json:"brokerOrders"` // with our prefix
	Matched        int    `json:"matched"`
	Stocks         int    `json:"stocks"` // that we ordered
	Breaks         int    `json:"breaks"`
	Warnings       int    `json:"warnings"`
	Timing         int    `json:"timing"`
	Explained      int    `json:"explained"`
	BrokenUSD      string `json:"brokenUsd"`      // the sum of the breaks' absolute differences
	OrdersOfOthers int    `json:"ordersOfOthers"` // in the account, without our prefix
}

// Report is a comparison of a store with its broker.
type Report struct {
	Broker     string        `json:"broker"`
	Account    string        `json:"account"`
	Prefix     string        `json:"prefix"`
	ComparedAt string        `json:"comparedAt"` // RFC 3339
	Clean      bool          `json:"clean"`      // no breaks
	Totals     Totals        `json:"totals"`
	Items      []Item        `json:"items"`
	Positions  []PositionRow `json:"positions"`
}

// comparison builds a report.
type comparison struct {
	ours   *Ours
	listed map[string]reading // their orders with our prefix
	now    time.Time
	report Report
	stocks map[string]*stock
}

// Compare compares both sides at the time now.
func Compare(ours *Ours, theirs Theirs, now time.Time) Report {
	c := &comparison{
		ours: ours, listed: theirs.readings(ours.Prefix()), now: now, stocks: make(map[string]*stock),
		report: Report{
			Broker: ours.BrokerKind, Account: ours.BrokerAccount, Prefix: ours.Prefix(),
			ComparedAt: now.UTC().Format(time.RFC3339), Items: []Item{}, Positions: []PositionRow{},
		},
	}
	c.orders()
	c.positions(theirs.Positions)
	c.report.Totals.BrokerOrders = len(c.listed)
	c.report.Totals.OrdersOfOthers = others(theirs.First, ours.Prefix())
	c.report.finish()
	return c.report
}

// finish sorts and counts the items.
func (r *Report) finish() {
	rank := map[Severity]int{SeverityBreak: 0, SeverityWarning: 1, SeverityTiming: 2, SeverityExplained: 3}
	slices.SortStableFunc(r.Items, func(a, b Item) int {
		return cmp.Or(
			rank[a.Severity]-rank[b.Severity], cmp.Compare(a.Code, b.Code), cmp.Compare(a.Symbol, b.Symbol),
			cmp.Compare(a.Since, b.Since), cmp.Compare(a.ClientOrderID, b.ClientOrderID),
		)
	})
	t := &r.Totals
	t.Breaks, t.Warnings, t.Timing, t.Explained = 0, 0, 0, 0
	var broken value.Sum
	for _, i := range r.Items {
		switch i.Severity {
		case SeverityBreak:
			t.Breaks++
			if usd, err := money.ParseUSD(i.DifferenceUSD); err == nil {
				broken.Add(max(int64(usd), -int64(usd)))
			}
		case SeverityWarning:
			t.Warnings++
		case SeverityTiming:
			t.Timing++
		case SeverityExplained:
			t.Explained++
		}
	}
	t.BrokenUSD = broken.Format(plainUSD)
	r.Clean = t.Breaks == 0
}

// Confirmed returns the second of two comparisons. Its breaks that the first one does not have
// become timing items.
func Confirmed(first, second Report) Report {
	type name struct{ code, order, symbol string }
	seen := make(map[name]bool)
	for _, i := range first.Items {
		seen[name{i.Code, i.ClientOrderID, i.Symbol}] = i.Severity == SeverityBreak
	}
	second.Items = slices.Clone(second.Items)
	for n := range second.Items {
		i := &second.Items[n]
		if i.Severity == SeverityBreak && !seen[name{i.Code, i.ClientOrderID, i.Symbol}] {
			i.Severity, i.Next = SeverityTiming, compareAgain
		}
	}
	second.finish()
	return second
}

func plainUSD(n int64) string { return money.USD(n).String() }

func plainShares(n int64) string { return money.Shares(n).String() }
