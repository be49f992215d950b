package paper

import (
	"time"

	"stockrewards/internal/money"
)

// An order's fate is the fault that struck it when it was accepted. Some fates are
// its true life: the books show what happened. Others are what is told of it: the
// books stay true, and the words are wrong (see disguise).

// openEndedLife is what takes the place of the time to the close where there is none.
const openEndedLife = time.Second

// firstDue is how long after the market got the order something happens to it,
// when a fill would take that long; zero when that is at the close.
func (f Fault) firstDue(fill time.Duration, closes bool) time.Duration {
	switch f.Kind {
	case rejectLater, cancelOrder:
		return f.By
	case expireOrder:
		if f.By == 0 && !closes {
			return openEndedLife
		}
		return f.By
	case fillAfterCancel:
		return fill + f.By
	}
	return fill
}

// partial tells whether the order is filled in two steps, or only in part.
func (f Fault) partial() bool {
	switch f.Kind {
	case partialThenFilled, partialThenCanceled, partialThenExpired, shrinkingFill:
		return true
	}
	return false
}

// ending tells how an order ends without a further fill when it falls due again;
// false when it is filled.
func (o *order) ending() (state, bool) {
	switch {
	case o.fate.Kind == rejectLater:
		return stateRejected, true
	case o.fate.Kind == cancelOrder:
		return stateCanceled, true
	case o.fate.Kind == expireOrder:
		return stateExpired, true
	case o.filledQty == 0:
		return "", false
	case o.fate.Kind == partialThenCanceled, o.fate.Kind == shrinkingFill:
		return stateCanceled, true
	case o.fate.Kind == partialThenExpired:
		return stateExpired, true
	}
	return "", false
}

// portion is how much of the rest is filled when the order falls due, in percent.
func (o *order) portion() int64 {
	const whole = 100
	if o.fate.partial() && o.filledQty == 0 {
		return o.fate.Share
	}
	return whole
}

// nextDue is when something happens after a fill; zero when the order is complete.
func (o *order) nextDue() time.Time {
	if !o.fate.partial() || o.filledQty > 0 {
		return time.Time{}
	}
	next := o.dueAt.Add(o.fate.By)
	switch {
	case o.fate.Kind == partialThenExpired && o.fate.By == 0 && !o.expiresAt.IsZero():
		return o.expiresAt
	case o.fate.Kind == partialThenExpired && o.fate.By == 0:
		return o.dueAt.Add(openEndedLife)
	case !o.expiresAt.IsZero() && next.After(o.expiresAt):
		return o.expiresAt
	}
	return next
}

// absurdity is by how much an absurd price is too high.
const absurdity = 1_000

// disguise makes of the truth about an order what its fate tells.
func (b *Brokerage) disguise(o *order, w wireOrder, now time.Time) wireOrder {
	switch o.fate.Kind {
	case fillAfterCancel:
		canceled := o.dueAt.Add(-o.fate.By)
		if o.state == stateOpen && !now.Before(canceled) {
			w.Status, w.CanceledAt = string(stateCanceled), optionalTimestamp(canceled)
		}
	case shrinkingFill:
		if o.state == stateCanceled {
			w.FilledQty = (o.filledQty / 2).String() //nolint:mnd // half of it
		}
	case wrongSymbol:
		w.Symbol, w.AssetID = b.otherSymbol(o.symbol)
	case wrongSide:
		if w.Side = sideSell; o.side == sideSell {
			w.Side = sideBuy
		}
	case wrongNotional:
		w.Notional = optionalText(o.notional + money.Cent)
	case unknownStatus:
		w.Status = "hibernating"
	case zeroPrice:
		if zero := "0"; o.filledQty > 0 {
			w.FilledAvgPrice = &zero
		}
	case absurdPrice:
		w.FilledAvgPrice = optionalText(min(o.filledPrice, maxReferencePrice/absurdity) * absurdity)
	}
	return w
}

// otherSymbol is a listed stock that is not this one.
func (b *Brokerage) otherSymbol(symbol string) (other, assetID string) {
	for _, l := range b.market.listings {
		if l.Symbol != symbol {
			return l.Symbol, l.id
		}
	}
	return "WRONG", AssetID("WRONG")
}
