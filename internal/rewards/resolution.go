package rewards

import (
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// Resolution is an operator's decision about an order: what it bought, by the broker's own
// records, or that it bought nothing.
type Resolution struct {
	FilledQty money.Shares // zero: nothing was bought
	Price     money.Price  // average price of the fill
	FilledAt  time.Time    // as the broker reports it; zero if unknown
	Reason    string
}

// Same reports whether both decisions have the same fill; their reasons may differ.
func (r Resolution) Same(other Resolution) bool {
	return r.FilledQty == other.FilledQty && r.Price == other.Price
}

// resolvedStatus replaces the broker's status of a resolved order: its fill is booked, and
// the rest goes into the next order.
const resolvedStatus = statusCanceled

// Resolve applies a decision to a quarantined order. An order that the broker refused at
// every attempt can be resolved too, as not bought. Resolve fails with CodeConflict when the
// order is in another state, when it is ambiguous, or when the decision is invalid: a fill
// without a price, or one that costs more than the notional.
func (o Order) Resolve(r Resolution) (Order, error) {
	if why := o.unresolvable(r); why != "" {
		return o, &Error{Code: CodeConflict, Message: why}
	}
	o.State, o.BrokerStatus = OrderResolved, resolvedStatus
	o.FilledQty, o.FilledAvgPrice = r.FilledQty, r.Price
	if !r.FilledAt.IsZero() {
		o.FilledAt = r.FilledAt
	}
	if r.FilledQty > 0 && o.whole(r.FilledQty, r.Price) {
		o.BrokerStatus = statusFilled // up to the rounding of the price
	}
	return o, nil
}

// unresolvable returns why r cannot be applied to the order; "" when it can.
func (o Order) unresolvable(r Resolution) string {
	switch {
	case o.State == OrderSubmitted && o.Ambiguous():
		return fmt.Sprintf("the outcome of an attempt is not known yet: repeat this in a minute; "+
			"if the broker does not show the order by %s, it is quarantined",
			o.Deadline.UTC().Format(time.RFC3339))
	case o.AwaitsPrice():
		return fmt.Sprintf("its fill is far from the last price: a newer price decides; without one the order is "+
			"quarantined after %s of open market; repeat this then", MaxPriceWait)
	case o.allRefused() && r.FilledQty > 0:
		return "the broker refused every attempt of this order, so nothing was bought: use --not-bought"
	case o.State != OrderQuarantined && o.State != OrderSubmitted:
		return fmt.Sprintf("the order is %s, not quarantined", o.State)
	case r.FilledQty > 0 && r.Price <= 0:
		return "a fill needs a price"
	}
	if err := o.checkCost(r.FilledQty, r.Price); err != nil {
		return err.Error()
	}
	return ""
}

// allRefused reports whether the broker refused every attempt of an order that is submitted or quarantined.
func (o Order) allRefused() bool {
	sent := o.State == OrderSubmitted || o.State == OrderQuarantined && !o.FirstAttemptAt.IsZero()
	return sent && o.BrokerID == "" && !o.Ambiguous()
}

// WithFillTime returns the decision with the fill time that the broker reports for the same
// quantity.
func (r Resolution) WithFillTime(b BrokerOrder) Resolution {
	if r.FilledQty > 0 && b.FilledQty == r.FilledQty {
		r.FilledAt = b.FilledAt
	}
	return r
}

// ContradictedBy returns why the broker's report b of the order o forbids the decision; ""
// when it does not. Shares of another stock do not count. The price must be near the reported one or one of the levels,
// which are other known prices of the stock: the report may be what is wrong.
func (r Resolution) ContradictedBy(o Order, b BrokerOrder, levels ...money.Price) string {
	bought := b.FilledQty
	if !o.sameAsset(b) {
		bought = 0
	}
	switch {
	case PhaseOf(b.Status) == PhaseWorking:
		return fmt.Sprintf("the broker still works on the order (%s)", b.Status)
	case o.State == OrderSubmitted:
		return fmt.Sprintf("the broker has the order (%s): the running service polls it", b.Status)
	case b.Problem == "" && bought != r.FilledQty:
		return fmt.Sprintf("the broker reports %s shares of %s filled", bought, o.Symbol)
	case r.FilledQty == 0 && b.Status == statusFilled && o.sameAsset(b):
		return "the broker reports the order as filled, with a quantity that cannot be read: " +
			"take it from the broker's statement"
	case r.FilledQty > 0 && b.FilledAvgPrice > 0 && !Plausible(r.Price, append(levels, b.FilledAvgPrice)...):
		return fmt.Sprintf("the broker reports the price %s, and %s is not near that or another known price of %s",
			b.FilledAvgPrice, r.Price, o.Symbol)
	}
	return ""
}

// Supersede applies a decision when before, if not nil, was decided earlier. The same
// decision again changes nothing and returns false, unless the earlier one could not be
// booked, so that the order is quarantined again. It fails with CodeConflict when the order
// was decided differently, or when Resolve refuses the decision.
func (o Order) Supersede(before *Resolution, r Resolution) (resolved Order, changed bool, err error) {
	if before != nil && o.State != OrderQuarantined {
		if before.Same(r) {
			return o, false, nil
		}
		return o, false, &Error{Code: CodeConflict, Message: "the order already has a different resolution"}
	}
	resolved, err = o.Resolve(r)
	return resolved, err == nil, err
}
