package sim

import (
	"slices"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// bust is a fill that the exchange corrects after the order has ended.
type bust struct {
	id                string // the order's client order id
	stock             string
	booked, corrected money.Shares
	at                time.Time
	noticed           bool // by the service, which has stopped ordering
	settled           bool // by the operator
}

// An order can be busted once no fault hides it any more, and while the hourly comparison
// still reads it.
const (
	bustAfter  = 11 * time.Minute
	bustBefore = 30 * time.Hour
	bustLeast  = 10 * money.Dollar // so that the operator can trade a part
	bustKeep   = 24
	noticedIn  = time.Hour + time.Minute
)

type endedOrder struct {
	rewards.Order

	at time.Time
}

// sawEnded keeps an order that could be busted.
func (l *lab) sawEnded(o rewards.Order, fault string) {
	if o.FilledQty == 0 || o.Notional < bustLeast || fault != "" {
		return
	}
	l.recent = append(l.recent, endedOrder{o, time.Now()})
	l.recent = l.recent[max(0, len(l.recent)-bustKeep):]
}

// bustOne corrects the fill of a booked order, downwards or upwards.
func (l *lab) bustOne() {
	var able []int
	for i, o := range l.recent {
		if time.Since(o.at) > bustAfter && time.Since(o.FirstAttemptAt) < bustBefore {
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		return
	}
	i := able[l.random.IntN(len(able))]
	o := l.recent[i]
	l.recent = slices.Delete(l.recent, i, i+1)
	event, change := byBustLess, -o.FilledQty/money.Shares(2+l.random.IntN(3))
	if l.random.IntN(2) == 0 {
		event, change = byBustMore, -change
	}
	b := &bust{id: o.ClientOrderID, stock: l.stock(o.Symbol), booked: o.FilledQty, corrected: o.FilledQty + change, at: time.Now()}
	l.check(l.brokerage.Bust(l.t.Context(), b.id, b.corrected))
	l.busts = append(l.busts, b)
	l.cover.hit(rowFinal, event)
	l.note("the exchange: the fill of order %s is %s after all, not %s", b.id, b.corrected, b.booked)
}

func (b *bust) event() string {
	if b.corrected < b.booked {
		return byBustLess
	}
	return byBustMore
}

// sawCompared checks the saved result of a comparison: it has all earlier busts. A poll that finds
// a conflict saves it as well, but reads fewer orders.
func (l *lab) sawCompared(p *process, found []rewards.BrokerConflict, all bool) {
	if p.compared = true; !all {
		return
	}
	for _, b := range l.busts {
		if b.noticed || !b.at.Before(p.began) {
			continue
		}
		b.noticed = slices.ContainsFunc(found, func(c rewards.BrokerConflict) bool {
			return c.ClientOrderID == b.id && c.FilledQty == b.corrected
		})
		if !b.noticed {
			l.violate("a comparison finds a fill that changed", b.id, "booked %s, now %s, found %+v", b.booked, b.corrected, found)
			continue
		}
		l.cover.hit(rowCompared, b.event())
		l.note("%s: notices the bust of %s", p.name, b.id)
	}
}

// overdue reports a process that plans an order before its first comparison, and busts that
// it should have noticed.
func (l *lab) overdue(p *process) {
	if !p.compared {
		l.violate("orders are compared before the first is planned", p.name, "it has never compared")
	}
	for _, b := range l.busts {
		if b.noticed || p.began.Sub(b.at) < noticedIn {
			continue
		}
		if !l.alarmed("broker_orders_not_compared") {
			l.violate("orders are compared within the hour", b.id, "%s plans, the bust was at %s", p.name, b.at)
		}
	}
}

// settleBusts marks the busts whose conflict the operator has acknowledged.
func (l *lab) settleBusts() {
	if l.unsettled() == 0 {
		return
	}
	conflicts := l.conflicts()
	for _, b := range l.busts {
		b.settled = b.settled || slices.ContainsFunc(conflicts, func(c rewards.BrokerConflict) bool {
			return c.ClientOrderID == b.id && c.FilledQty == b.corrected && !c.AcknowledgedAt.IsZero()
		})
	}
}

func (l *lab) unsettled() (n int) {
	for _, b := range l.busts {
		if !b.settled {
			n++
		}
	}
	return n
}

// verifyBusts checks that busts have not changed bookings and that each conflict is settled.
func (l *lab) verifyBusts() {
	for _, b := range l.busts {
		o, _ := l.order(b.id)
		r, _ := l.record(b.id)
		if !b.settled || o.FilledQty != b.booked || r.FilledQty != b.corrected {
			l.violate("a bust changes no holding", b.id, "%+v: now booked %s, at the brokerage %s", *b, o.FilledQty, r.FilledQty)
		}
	}
}
