// Package brokercheck compares the orders and positions of a store with the broker's. Compare is
// pure: the caller reads both sides, in the order that Theirs gives, so that orders under way are
// not taken for breaks.
package brokercheck

import (
	"slices"
	"strings"
	"time"

	"stockrewards/internal/audit/value"
	"stockrewards/internal/money"
)

// Order is an order as the broker reports it.
type Order struct {
	ClientOrderID string
	BrokerID      string
	AssetID       string // the broker's id of the asset; "" if unknown
	Symbol        string
	Side          string // "buy" or "sell"
	Status        string // as the broker reports it
	Notional      money.USD
	FilledQty     money.Shares
	AveragePrice  money.Price
	SubmittedAt   time.Time // zero if unknown
	FilledAt      time.Time // zero if unknown
	Problem       string    // the invalid fields; "" if all are valid
}

// Position is the account's position in an asset.
type Position struct {
	AssetID string
	Symbol  string
	Qty     money.Shares
}

// Theirs is the broker's side. Read First, then Positions, then our side, then Last. Then every
// order in First must be in the store, and every settled order must be in Last.
type Theirs struct {
	First     []Order // all orders
	Positions []Position
	Last      []Order // those since LastSince, and those of Missing
}

// lastOverlap covers orders that the broker lists out of order.
const lastOverlap = time.Minute

// LastSince returns the time from which Last must be listed, by the broker's clock: the
// submission of the oldest open order in First, or of the newest order.
func LastSince(first []Order) time.Time {
	var newest, oldestOpen time.Time
	for _, o := range first {
		if o.SubmittedAt.After(newest) {
			newest = o.SubmittedAt
		}
		if !value.EndedAtBroker(o.Status) && (oldestOpen.IsZero() || o.SubmittedAt.Before(oldestOpen)) {
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
	return since.Add(-lastOverlap)
}

// reading is an order in the broker's lists.
type reading struct {
	first, last     Order
	inFirst, inLast bool
}

// newest returns the newest state of the order.
func (r reading) newest() Order {
	if r.inLast {
		return r.last
	}
	return r.first
}

func (r reading) known() bool { return r.inFirst || r.inLast }

// filled returns the bounds of the fill at the time the positions were read.
func (r reading) filled() (least, most int64) {
	least, most = int64(r.first.FilledQty), int64(r.newest().FilledQty)
	return min(least, most), max(least, most)
}

// readings returns the orders with our prefix by client order id.
func (t Theirs) readings(prefix string) map[string]reading {
	all := make(map[string]reading)
	for _, o := range t.First {
		if strings.HasPrefix(o.ClientOrderID, prefix) {
			all[o.ClientOrderID] = reading{first: o, inFirst: true}
		}
	}
	for _, o := range t.Last {
		if strings.HasPrefix(o.ClientOrderID, prefix) {
			r := all[o.ClientOrderID]
			r.last, r.inLast = o, true
			all[o.ClientOrderID] = r
		}
	}
	return all
}

// Missing returns the client order ids, sorted, of our sent orders that no list has. The caller
// must look them up one by one. Refused orders are not expected at the broker.
func (o *Ours) Missing(t Theirs) []string {
	listed := t.readings(o.Prefix())
	var missing []string
	for id, sent := range o.orders {
		if sent.attempts > 0 && sent.state != value.Refused && !listed[id].known() {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	return missing
}
