package audit

import (
	"slices"
	"strings"
	"time"

	"stockrewards/internal/money"
)

// BrokerOrder is an order as the broker tells of it.
type BrokerOrder struct {
	ClientOrderID string
	BrokerID      string
	AssetID       string // the broker's identifier of the stock; "" when not told
	Symbol        string
	Side          string // "buy" or "sell"
	Status        string // the broker's word
	Notional      money.USD
	FilledQty     money.Shares
	AveragePrice  money.Price
	SubmittedAt   time.Time // zero when not told
	FilledAt      time.Time // zero when not told
	Problem       string    // what in the answer cannot be read; "" when all can
}

// BrokerPosition is what the broker holds of a stock for the account.
type BrokerPosition struct {
	AssetID string
	Symbol  string
	Qty     money.Shares
}

// BrokerSide is the broker's word, read in this order: First, Positions, then our
// books, then Last. So an order in First must be in the books, what the books have
// booked must be in Last, and what happened in between can be told apart.
type BrokerSide struct {
	First     []BrokerOrder // all orders
	Positions []BrokerPosition
	Last      []BrokerOrder // those that may have changed since (see LastSince), and those looked up
}

// lastSlack covers orders that the broker lists out of turn.
const lastSlack = time.Minute

// LastSince is from when on Last must be listed: the first order that was still
// open, or the newest one. It goes by the broker's times alone.
func LastSince(first []BrokerOrder) time.Time {
	var newest, oldestOpen time.Time
	for _, o := range first {
		if o.SubmittedAt.After(newest) {
			newest = o.SubmittedAt
		}
		if !finalStatus(o.Status) && (oldestOpen.IsZero() || o.SubmittedAt.Before(oldestOpen)) {
			oldestOpen = o.SubmittedAt
		}
	}
	since := newest
	if !oldestOpen.IsZero() && oldestOpen.Before(newest) {
		since = oldestOpen
	}
	if since.IsZero() {
		return since
	}
	return since.Add(-lastSlack)
}

func finalStatus(status string) bool {
	switch status {
	case "filled", "canceled", "expired", "rejected":
		return true
	}
	return false
}

// reading is what the broker told of one order.
type reading struct {
	first, last     BrokerOrder
	inFirst, inLast bool
}

// now is the newest reading.
func (r reading) now() BrokerOrder {
	if r.inLast {
		return r.last
	}
	return r.first
}

func (r reading) known() bool { return r.inFirst || r.inLast }

// filled are the quantities between which the fill was when the positions were read.
func (r reading) filled() (least, most int64) {
	least, most = int64(r.first.FilledQty), int64(r.now().FilledQty)
	return min(least, most), max(least, most)
}

// readings gathers what was told of the orders with our prefix.
func (s BrokerSide) readings(prefix string) map[string]reading {
	all := make(map[string]reading)
	for _, o := range s.First {
		if strings.HasPrefix(o.ClientOrderID, prefix) {
			all[o.ClientOrderID] = reading{first: o, inFirst: true}
		}
	}
	for _, o := range s.Last {
		if strings.HasPrefix(o.ClientOrderID, prefix) {
			r := all[o.ClientOrderID]
			r.last, r.inLast = o, true
			all[o.ClientOrderID] = r
		}
	}
	return all
}

// Missing are the client order ids, in order, of orders of ours that were sent and
// that none of the lists shows: they must be looked up one by one. A refused order
// is not expected at the broker.
func (b *BrokerBooks) Missing(s BrokerSide) []string {
	told := s.readings(b.Prefix())
	var missing []string
	for id, o := range b.orders {
		if o.attempts > 0 && o.state != refused && !told[id].known() {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	return missing
}
