package ledger

import (
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// acknowledgedOrder is an acknowledged order. Its shares are at the broker and not in the books, until a corporate
// action of their stock books all that the broker has.
type acknowledgedOrder struct {
	rewards.AcknowledgedOrder

	bookedBy int64 // the number of the switch that did; 0: none
}

// bookAcknowledged finds the switches that booked the shares of acknowledged orders. It fails with money.ErrOverflow.
func (t *totals) bookAcknowledged() error {
	for _, w := range t.switches {
		waiting := t.waitingFor(w)
		if len(waiting) == 0 {
			continue
		}
		found, err := foundBy(w, waiting)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		for _, o := range waiting {
			o.bookedBy = w.Number
		}
	}
	return nil
}

// foundBy reports whether the broker had most of the shares of acknowledged orders besides what was booked, as the
// action of a switch leaves both.
func foundBy(w rewards.Switch, waiting []*acknowledgedOrder) (found bool, err error) {
	var shares money.Shares
	for _, o := range waiting {
		if shares, err = money.AddShares(shares, o.FilledQty); err != nil {
			return false, err
		}
	}
	booked, err := w.Keep.Of(w.Booked)
	if err != nil {
		return false, err
	}
	theirs, err := w.Keep.Of(shares)
	return w.Position-booked >= theirs-theirs/2, err
}

// waitingFor lists the orders that were acknowledged before a switch, whose shares it may have booked.
func (t *totals) waitingFor(w rewards.Switch) (waiting []*acknowledgedOrder) {
	for i := range t.acknowledged {
		o := &t.acknowledged[i]
		if o.AssetID == w.AssetID && o.bookedBy == 0 && !o.AcknowledgedAt.After(w.At) && !w.IsUndo() {
			waiting = append(waiting, o)
		}
	}
	return waiting
}

// writeAcknowledged writes the shares of an order that the store does not have. Their cost is unknown.
func writeAcknowledged(j *journal, o acknowledgedOrder) {
	j.header(o.AcknowledgedAt, o.ClientOrderID, "acknowledged: the house's")
	j.posting(acknowledged, shares(o.FilledQty, o.Symbol))
	j.posting(house, shares(-o.FilledQty, o.Symbol))
}

// writeBooked takes back what writeAcknowledged wrote of the shares that a switch booked: its own transaction has them.
func writeBooked(j *journal, t *totals, w rewards.Switch) {
	for _, o := range t.acknowledged {
		if o.bookedBy != w.Number {
			continue
		}
		j.header(w.At, o.ClientOrderID, "acknowledged: booked by the corporate action "+clean(w.ActionID))
		j.posting(acknowledged, shares(-o.FilledQty, o.Symbol))
		j.posting(house, shares(o.FilledQty, o.Symbol))
		t.note(w.At)
	}
}
