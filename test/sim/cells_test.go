package sim

import (
	"fmt"
	"slices"

	"stockrewards/internal/broker/paper/faults"
)

// need says whether a run must reach a cell of the coverage table.
type need int

const (
	may   need = iota // it needs a coincidence
	must              // without it, the run proves too little
	never             // it is impossible
)

// The families of faults.
func processFaults() []string { return []string{killBefore, killAfter, freeze} }

func storeErrors() []string { return []string{storeBefore, storeLost, storeAfter, storeDies} }

func requestFaults() []string {
	return []string{
		"cut-answer", "empty-body", "error", "html-body", "late-answer", "late-request", "lost-answer",
		"lost-request", "outage", "rate-limit",
	}
}

func submitFaults() []string { return []string{"duplicate", "no-buying-power"} }

// endings strike an order that the broker has accepted, lies at once, fillPrices with a fill.
func endings() []string {
	return []string{
		"cancel", "expire", "reject-later", "partial-then-canceled", "partial-then-expired",
		"partial-then-filled", "fill-after-cancel", "shrinking-fill",
	}
}

func lies() []string {
	return []string{"unknown-status", "wrong-notional", "wrong-side", "wrong-symbol"}
}

func fillPrices() []string { return []string{"zero-price", "absurd-price"} }

// actionFaults strike a corporate action when it is announced.
func actionFaults() []string {
	return []string{
		"late-announcement", "wrong-ratio", "reversed-ratio", "duplicate-announcement", "revised",
		"late-position", "cash-in-lieu", "fraction-reversed", "round-up", "wrong-direction", "new-asset-id",
	}
}

// otherFaults strike requests, orders and prices.
func otherFaults() []string {
	return slices.DeleteFunc(faults.Kinds(), func(kind string) bool { return slices.Contains(actionFaults(), kind) })
}

func quotes() []string { return []string{"absurd-quote", "missing-quote", "stale-quote", "zero-quote"} }

// allRows are the states of rewards and orders (docs/states.md), and what concerns neither.
func allRows() []string {
	return []string{
		rowNew, rowAnswer, rowRecorded, rowPlanned, rowSubmitted, rowAgain, rowOpen, rowQuarantined, rowResolved,
		rowFinal, rowLease, rowCompared, rowMarket, rowAction,
	}
}

func allKinds() []string {
	return slices.Concat(otherFaults(), processFaults(), storeErrors(), events())
}

// expected says whether a fault must strike in a state, or why it cannot.
func expected(row, kind string) (need, string) {
	if slices.Contains(events(), kind) {
		return expectedOfEvent(row, kind)
	}
	in := func(families ...[]string) bool { return slices.Contains(slices.Concat(families...), kind) }
	if row == rowAction && in(actionFaults(), processFaults(), storeErrors()) {
		return may, ""
	}
	if in(actionFaults()) {
		return never, "it happens to a corporate action"
	}
	own := in(processFaults(), storeErrors())
	switch row {
	case rowNew, rowRecorded, rowPlanned, rowLease:
		if own {
			return must, ""
		}
		return never, "nothing is asked of the broker then"
	case rowAnswer:
		if kind == "lost-answer" {
			return must, ""
		}
		return never, "it is on its way to the client"
	case rowSubmitted, rowAgain:
		return expectedOfSubmit(row, kind, in)
	case rowOpen:
		switch {
		case own, kind != "outage" && in(requestFaults()), in(endings()), kind == "reject":
			return must, ""
		case in(requestFaults(), fillPrices()):
			return may, ""
		case in(lies()):
			return never, "the first reading quarantines the order"
		}
		return never, "it happens to an order when it is sent, or to a price"
	case rowResolved:
		if own || in(lies(), fillPrices(), endings()) || kind == "reject" {
			return may, ""
		}
		return never, "it is booked without a question to the broker"
	case rowFinal:
		if own {
			return may, "" // the broker corrected its fill
		}
	case rowCompared:
		if own || in(requestFaults()) {
			return may, ""
		}
		return never, "it is one list"
	case rowMarket:
		if in(quotes(), requestFaults(), processFaults()) {
			return must, ""
		}
		return never, "it is a question about hours or prices; what is kept of them is asked for again"
	case rowQuarantined:
		if in(requestFaults(), processFaults()) {
			return may, "" // of a process that was frozen while another one quarantined it
		}
		return never, "the worker neither asks nor writes about it before an operator decides"
	}
	return never, "it is final: nothing is asked or written about it"
}

func expectedOfSubmit(row, kind string, in func(...[]string) bool) (need, string) {
	switch {
	case in(quotes()):
		return never, "it happens to a price"
	case in(processFaults(), submitFaults()), kind != "outage" && in(requestFaults()):
		return must, ""
	case row == rowSubmitted && kind != "outage", in(storeErrors()):
		return must, ""
	}
	return may, ""
}

// expectedOfEvent is expected for what operators and the exchange do.
func expectedOfEvent(row, kind string) (need, string) {
	switch kind {
	case byBustLess, byBustMore:
		if row == rowFinal || row == rowCompared {
			return must, ""
		}
		return never, "it changes what was booked, and a comparison finds it"
	case byNewKey:
		if row == rowNew || row == rowAnswer {
			return must, ""
		}
		return never, "it is about who asks"
	case byRevocation:
		if row == rowNew {
			return must, ""
		}
		return never, "it is about who asks"
	}
	switch row {
	case rowRecorded:
		if kind == byRelist {
			return may, ""
		}
		return must, ""
	case rowPlanned, rowSubmitted, rowAgain, rowOpen, rowQuarantined, rowResolved:
		return may, ""
	case rowFinal:
		if kind == byRename || kind == byDelist || kind == byRelist {
			return must, ""
		}
		return never, "ordering is over"
	case rowNew:
		if kind != byResume {
			return must, ""
		}
		return never, "nobody gives at that instant"
	case rowAnswer:
		if kind == byRename || kind == byDelist {
			return must, ""
		}
	}
	return never, "it concerns neither"
}

// missing lists the required cells that were not reached, and the impossible ones that were.
func (c *coverage) missing() (list []string) {
	for _, row := range allRows() {
		for _, kind := range allKinds() {
			need, why := expected(row, kind)
			n := c.hits[[2]string{row, kind}]
			switch {
			case need == must && n == 0:
				list = append(list, fmt.Sprintf("%s never struck at %s", kind, row))
			case need == never && n > 0:
				list = append(list, fmt.Sprintf("%s struck at %s, which cannot be: %s", kind, row, why))
			}
		}
	}
	return list
}
