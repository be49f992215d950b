package rewards

import (
	"fmt"
	"time"

	"stockrewards/internal/money"
)

// Resolution is an operator's decision about a quarantined order: what was bought
// under it, from the broker's own records, or that nothing was.
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

// Resolve applies a decision to a quarantined order. It fails with CodeConflict
// when the order is not quarantined or the decision cannot be (a fill without a
// price, more dollars than the notional).
func (o Order) Resolve(r Resolution) (Order, error) {
	refuse := func(format string, args ...any) (Order, error) {
		return o, &Error{Code: CodeConflict, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case o.State != OrderQuarantined:
		return refuse("the order is %s, not quarantined", o.State)
	case r.FilledQty > 0 && r.Price <= 0:
		return refuse("a fill needs a price")
	}
	if err := o.CheckCost(r.FilledQty, r.Price); err != nil {
		return refuse("%v", err)
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

// ToldBy is the decision with the time that the broker tells of the fill.
func (r Resolution) ToldBy(b BrokerOrder) Resolution {
	if r.FilledQty > 0 && b.FilledQty == r.FilledQty {
		r.FilledAt = b.FilledAt
	}
	return r
}

// ContradictedBy tells why the broker's own answer about the order o forbids a
// decision; "" when it does not. Shares of another stock are none of the order's.
func (r Resolution) ContradictedBy(o Order, b BrokerOrder) string {
	bought := b.FilledQty
	if !o.concerns(b) {
		bought = 0
	}
	switch {
	case PhaseOf(b.Status) == PhaseWorking:
		return fmt.Sprintf("the broker still works on the order (%s)", b.Status)
	case b.Problem == "" && bought != r.FilledQty:
		return fmt.Sprintf("the broker tells of %s shares of %s filled", bought, o.Symbol)
	}
	return ""
}
