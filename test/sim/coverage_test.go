package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"stockrewards/internal/rewards"
)

// The states in which faults strike: the columns of the coverage table.
const (
	rowNew         = "(new)"     // a request to give, before it is recorded
	rowAnswer      = "(answer)"  // the answer to a client
	rowRecorded    = "recorded"  // a reward, while its order is planned
	rowPlanned     = "planned"   // an order, as the following
	rowSubmitted   = "submitted" // first send
	rowAgain       = "sent again"
	rowOpen        = "open"
	rowQuarantined = "quarantined"
	rowResolved    = "resolved"
	rowFinal       = "final"
	rowLease       = "(lease)"
	rowCompared    = "(compared)" // the comparison of all orders
	rowMarket      = "(market)"   // hours, prices
	rowAction      = "(action)"   // corporate actions
)

func rowOf(o rewards.Order) string {
	switch {
	case o.State == rewards.OrderSubmitted && o.Attempts > 1:
		return rowAgain
	case o.State.Final():
		return rowFinal
	}
	return o.State.String()
}

type coverage struct{ hits map[[2]string]int }

func newCoverage() *coverage { return &coverage{hits: map[[2]string]int{}} }

func (c *coverage) hit(row, kind string) { c.hits[[2]string{row, kind}]++ }

func (c *coverage) add(other *coverage) {
	for cell, n := range other.hits {
		c.hits[cell] += n
	}
}

// String is the table: a line for each fault, a column for each state.
func (c *coverage) String() string {
	rows, kinds := map[string]bool{}, map[string]bool{}
	for cell := range c.hits {
		rows[cell[0]], kinds[cell[1]] = true, true
	}
	columns := slices.DeleteFunc(allRows(), func(row string) bool { return !rows[row] })
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s", "")
	for _, row := range columns {
		fmt.Fprintf(&b, " %11s", row)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		fmt.Fprintf(&b, "\n%-22s", kind)
		for _, row := range columns {
			text := "."
			if n := c.hits[[2]string{row, kind}]; n > 0 {
				text = fmt.Sprint(n)
			}
			fmt.Fprintf(&b, " %11s", text)
		}
	}
	return b.String()
}
