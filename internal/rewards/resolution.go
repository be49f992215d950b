package rewards

import (
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// Resolution is an operator's decision about an order: what was bought under it, from the
// broker's own records, or that nothing was.
type Resolution struct {
	FilledQty money.Shares // zero: nothing was bought
	Price     money.Price  // the average price of the fill
	FilledAt  time.Time    // when, as the broker tells; zero: it does not
	Reason    string
}

// Same tells whether two decisions come to the same, whatever the words.
func (r Resolution) Same(other Resolution) bool {
	return r.FilledQty == other.FilledQty && r.Price == other.Price
}

// resolvedStatus stands for the broker's status of an order that an operator
// decided: what is filled is booked, the rest goes into the next order.
const resolvedStatus = "canceled"

// Resolve applies a decision to a quarantined order, or the decision that nothing was
// bought to one that the broker refused each time. It fails with CodeConflict when the
// order is in another state, when it may have been bought, or when the decision cannot be
// (a fill without a price, more dollars than the notional).
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
		o.BrokerStatus = "filled" // all of it but the rounding of a price
	}
	return o, nil
}

// unresolvable is why a decision cannot be applied to the order; "" when it can.
func (o Order) unresolvable(r Resolution) string {
	switch {
	case o.State == OrderSubmitted && o.Ambiguous():
		return fmt.Sprintf("the outcome of an attempt is not known yet: repeat this in a minute; "+
			"an order that the broker still does not show after %s is quarantined",
			o.Deadline.UTC().Format(time.RFC3339))
	case o.State == OrderSubmitted && r.FilledQty > 0:
		return "the broker refused every attempt of this order, so that nothing was bought: " +
			"only --not-bought can be said of it"
	case o.State != OrderQuarantined && o.State != OrderSubmitted:
		return fmt.Sprintf("the order is %s, not quarantined", o.State)
	case r.FilledQty > 0 && r.Price <= 0:
		return "a fill needs a price"
	}
	if err := o.CheckCost(r.FilledQty, r.Price); err != nil {
		return err.Error()
	}
	return ""
}

// WithFillTime is the decision with the time that the broker tells of the fill.
func (r Resolution) WithFillTime(b BrokerOrder) Resolution {
	if r.FilledQty > 0 && b.FilledQty == r.FilledQty {
		r.FilledAt = b.FilledAt
	}
	return r
}

// ContradictedBy tells why the broker's own answer about the order o forbids a
// decision; "" when it does not. Shares of another stock are none of the order's.
func (r Resolution) ContradictedBy(o Order, b BrokerOrder) string {
	bought := b.FilledQty
	if !o.sameAsset(b) {
		bought = 0
	}
	switch {
	case PhaseOf(b.Status) == PhaseWorking:
		return fmt.Sprintf("the broker still works on the order (%s)", b.Status)
	case o.State == OrderSubmitted:
		return fmt.Sprintf("the broker has the order (%s): the running service follows it", b.Status)
	case b.Problem == "" && bought != r.FilledQty:
		return fmt.Sprintf("the broker tells of %s shares of %s filled", bought, o.Symbol)
	}
	return ""
}
