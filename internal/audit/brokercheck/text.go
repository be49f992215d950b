package brokercheck

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"stockrewards/internal/audit/value"
)

// WriteText writes the report for people: the positions, the items with what to do, the totals.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "compared with the broker %q, account %s, at %s\n",
		r.Broker, value.Visible(r.Account), r.ComparedAt)
	if len(r.Positions) > 0 {
		const gap = 2
		t := tabwriter.NewWriter(&b, 0, 0, gap, ' ', 0)
		rows := "\nSTOCK\tHOLDINGS\tHOUSE\tBOOKED\tBROKER\tIN ORDERS\tUNEXPLAINED\tIN DOLLARS\n"
		for _, p := range r.Positions {
			rows += strings.Join([]string{
				value.Visible(p.Symbol), p.Holdings, p.House, p.Booked, p.Broker, p.Orders, p.Unexplained,
				orDash(p.DifferenceUSD),
			}, "\t") + "\n"
		}
		if _, err := io.WriteString(t, rows); err != nil {
			return err
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, i := range r.Items {
		i.write(&b)
	}
	t := r.Totals
	fmt.Fprintf(&b, "\norders: %d sent by us, %d at the broker, %d agree; %d of others in the account; stocks: %d\n",
		t.OurOrders, t.BrokerOrders, t.Matched, t.OrdersOfOthers, t.Stocks)
	fmt.Fprintf(&b, "breaks: %d ($%s); warnings: %d; under way: %d; explained: %d\n",
		t.Breaks, t.BrokenUSD, t.Warnings, t.Timing, t.Explained)
	_, err := io.WriteString(w, b.String())
	return err
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (i Item) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %s: %s\n", strings.ToUpper(string(i.Severity)), i.Code, value.Visible(i.Symbol))
	line := func(name, s string) {
		if s != "" {
			fmt.Fprintf(b, "  %-18s %s\n", name+":", value.Visible(s))
		}
	}
	line("client order id", i.ClientOrderID)
	line("order", i.OrderID)
	line("broker's id", i.BrokerOrderID)
	line("ours", i.Ours)
	line("theirs", i.Theirs)
	if i.DifferenceShares != "" {
		line("difference", i.DifferenceShares+" shares, "+orDash(i.DifferenceUSD)+" dollars")
	}
	if i.Since != "" {
		line("since", fmt.Sprintf("%s (%s ago)", i.Since, ago(i.AgeSeconds)))
	}
	line("next", i.Next)
}

// ago formats an age in its largest unit of which there are at least two.
func ago(seconds int64) string {
	const minute, hour, day = 60, 60 * 60, 24 * 60 * 60
	switch {
	case seconds >= 2*day:
		return fmt.Sprintf("%d days", seconds/day)
	case seconds >= 2*hour:
		return fmt.Sprintf("%d hours", seconds/hour)
	case seconds >= 2*minute:
		return fmt.Sprintf("%d minutes", seconds/minute)
	}
	return fmt.Sprintf("%d seconds", seconds)
}
