package ledger

import (
	"context"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// writeEntries writes a transaction per settled order that bought something, and one per
// acknowledged order.
func writeEntries(ctx context.Context, j *journal, source Source, t *totals, r *Report) error {
	err := source.Bookings(ctx, func(b rewards.Booking) error {
		e, err := newEntry(b)
		if err != nil || e.empty() {
			return err
		}
		r.Orders++
		r.Lots += len(b.Lots)
		e.write(j, t.symbols[b.Order.AssetID])
		t.addHouseCost(e)
		t.note(e.at)
		return nil
	})
	for _, o := range t.acknowledged {
		writeAcknowledged(j, o)
		t.note(o.AcknowledgedAt)
	}
	return err
}

// addHouseCost keeps what the house's shares of an order cost.
func (t *totals) addHouseCost(e entry) {
	o := e.Order
	if e.houseCost == 0 || o.HouseShares == 0 {
		return
	}
	t.costOf(o.AssetID)[o.Generation] += e.houseCost
}

// costOf returns what the house's shares of a stock cost.
func (t *totals) costOf(asset rewards.AssetID) generationCost {
	if t.houseCost[asset] == nil {
		t.houseCost[asset] = make(generationCost)
	}
	return t.houseCost[asset]
}

// note keeps the time of the latest transaction.
func (t *totals) note(at time.Time) {
	if at.After(t.last) {
		t.last = at
	}
}

// entry is the transaction of an order. Shares and cost are sums over the lots and the
// house, not the order's own figures. closing.go asserts the order's filled quantity, and
// the transaction does not balance unless the cost equals the dollars spent.
type entry struct {
	rewards.Booking
	at        time.Time
	bought    money.Shares
	cost      money.USD // of the shares bought
	spent     money.USD // by the order's fill
	housePaid money.USD // the top-up; negative: what the house's own shares paid for
	houseCost money.USD // of the house's shares
}

func newEntry(b rewards.Booking) (e entry, err error) {
	e = entry{Booking: b, at: b.Order.FilledAt, bought: b.Order.HouseShares}
	if e.at.IsZero() { // the broker sent none
		e.at = b.Order.SettledAt
	}
	if e.spent, err = b.Order.Carried(); err != nil {
		return e, err
	}
	if e.housePaid, err = b.HouseCarried(); err != nil {
		return e, err
	}
	e.cost, e.houseCost = e.housePaid, e.housePaid
	for _, p := range b.Lots {
		if e.bought, err = money.AddShares(e.bought, p.Bought.Shares); err != nil {
			return e, err
		}
		if e.cost, err = money.AddUSD(e.cost, p.Bought.Amount); err != nil {
			return e, err
		}
		if p.Bought.Shares == 0 { // rounding left its shares to the house
			e.houseCost += p.Bought.Amount
		}
	}
	// Dollars that are too few for a share to change hands are posted without any.
	if e.housePaid < 0 && (b.Order.HouseShares < 0) != (e.houseCost < 0) {
		e.housePaid, e.houseCost = e.housePaid-e.houseCost, 0
	}
	return e, nil
}

// empty reports whether the order bought nothing.
func (e entry) empty() bool { return e.bought == 0 && e.cost == 0 && e.spent == 0 }

func (e entry) write(j *journal, symbol string) {
	o := e.Order
	j.header(e.at, o.ClientOrderID, "buy "+symbol)
	j.tag("order", o.ID.String())
	j.tag("broker-order", o.BrokerID)
	j.tag("price", o.FilledAvgPrice.String())
	j.posting(custody, atCost(e.bought, symbol, e.cost))
	j.posting(cash, dollars(-e.spent))
	for _, p := range e.Lots {
		e.writeLot(j, p, symbol)
	}
	e.writeHouse(j, symbol)
}

// writeHouse books the house's shares, and what it paid for them or got for its own.
func (e entry) writeHouse(j *journal, symbol string) {
	if got := e.Order.HouseShares; got != 0 || e.houseCost != 0 {
		j.posting(house, atCost(-got, symbol, max(e.houseCost, -e.houseCost)))
	}
	switch {
	case e.housePaid > 0:
		j.posting(topUp, dollars(e.housePaid))
	case e.housePaid < 0:
		j.posting(sold, dollars(e.housePaid))
	}
}

// writeLot books shares to the user and dollars to the app. The first posting has the
// reward's id as a tag.
func (e entry) writeLot(j *journal, p rewards.Lot, symbol string) {
	tag := "  ; reward: " + p.RewardID.String()
	if p.Bought.Shares != 0 {
		j.posting(userAccount(p.AppID, p.UserID), atCost(-p.Bought.Shares, symbol, p.Bought.Amount)+tag)
		tag = ""
	}
	payer := receivableFor(p.AppID, p.UserID, symbol)
	if p.Failed {
		payer = tooSmall
	}
	j.posting(payer, dollars(p.Bought.Amount)+tag)
}
