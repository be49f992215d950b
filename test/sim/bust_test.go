package sim

import (
	"slices"
	"strings"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// bust is a fill that the exchange corrects after the order has ended.
type bust struct {
	id                   string // the order's client order id
	stock                string
	wasBooked, corrected money.Shares
	at                   time.Time
	sent                 time.Time       // the order
	booked               bool            // by the service
	compared             map[string]span // comparisons of all orders since then
}

// compared is how far back a comparison of all orders reaches at least.
const compared = 5 * 24 * time.Hour

// span is the first of several comparisons, and how many there were.
type span struct {
	first time.Time
	count int
}

// An order can be busted once no fault hides it any more, and while the hourly comparison
// still reads it.
const (
	bustAfter  = 11 * time.Minute
	bustBefore = 30 * time.Hour
	bustLeast  = 10 * money.Dollar // so that the house can buy a part
	bustKeep   = 24
	comparedIn = time.Hour + time.Minute
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
		if s := l.firms.of(l.stock(o.Symbol)); s != nil && (s.gone || s.event != nil || s.changed.After(o.at)) {
			continue // its shares are others now
		}
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
	b := &bust{
		id: o.ClientOrderID, stock: l.stock(o.Symbol), wasBooked: o.FilledQty, corrected: o.FilledQty + change,
		at: time.Now(), sent: o.FirstAttemptAt, compared: map[string]span{},
	}
	l.check(l.brokerage.Bust(l.t.Context(), b.id, b.corrected))
	l.busts = append(l.busts, b)
	l.cover.hit(rowFinal, event)
	l.note("the exchange: the fill of order %s is %s after all, not %s", b.id, b.corrected, b.wasBooked)
}

func (b *bust) event() string {
	if b.corrected < b.wasBooked {
		return byBustLess
	}
	return byBustMore
}

// sawCompared notes the saved result of a comparison. Two that show the same corrected fill, some
// time apart, book it. A poll that finds a conflict saves it as well, but reads fewer orders.
func (l *lab) sawCompared(p *process, all bool) {
	if p.compared = true; !all {
		return
	}
	for _, b := range l.busts {
		if b.booked || !b.at.Before(p.began) || p.began.Sub(b.sent) > compared {
			continue
		}
		seen := b.compared[p.name]
		seen.count++
		if seen.count == 1 {
			seen.first = p.began
		}
		b.compared[p.name] = seen
		if seen.count > 2 && p.began.Sub(seen.first) > 2*rewards.TerminalWait {
			l.violate("comparisons book a fill that changed", b.id, "was %s, now %s, compared %d times since %s",
				b.wasBooked, b.corrected, seen.count, seen.first)
		}
	}
}

// sawCorrected checks a correction that was booked. The broker's faults may have shown a fill that
// is not true: its shares are in the account, and not in our books.
func (l *lab) sawCorrected(p *process, before, o rewards.Order) {
	l.filled[l.stock(o.Symbol)] += o.Corrected - before.Corrected
	l.note("%s: the fill of order %s is corrected to %s", p.name, o.ClientOrderID, o.Corrected)
	for _, b := range l.busts {
		if b.id == o.ClientOrderID {
			if o.Corrected != b.corrected || o.FilledQty != b.wasBooked {
				l.violate("a corrected fill is booked as it is", b.id, "%s of %s, now %s", o.Corrected, b.wasBooked, b.corrected)
			}
			b.booked = true
			l.cover.hit(rowCompared, b.event())
			return
		}
	}
	if r, _ := l.record(o.ClientOrderID); !strings.HasPrefix(r.Fault, "shrinking-fill") {
		l.violate("only a corrected fill is corrected", o.ClientOrderID, "to %s, bought %s (%s)", o.Corrected, r.FilledQty, r.Fault)
	}
	l.excess = append(l.excess, o)
}

// overdue reports a process that plans an order before its first comparison, and busts that
// it should have seen. The step in which a comparison fails stores its alarm when it ends.
func (l *lab) overdue(p *process) {
	if !p.compared {
		l.violate("orders are compared before the first is planned", p.name, "it has never compared")
	}
	for _, b := range l.busts {
		if b.booked || len(b.compared) > 0 || p.beganBefore.Sub(b.at) < comparedIn {
			continue
		}
		if !l.alarmed("broker_orders_not_compared") {
			l.violate("orders are compared within the hour", b.id, "%s plans, the bust was at %s", p.name, b.at)
		}
	}
}

// unbooked is how many busts the service has not booked.
func (l *lab) unbooked() (n int) {
	for _, b := range l.busts {
		if !b.booked {
			n++
		}
	}
	return n
}

// bustIn reports whether the service has not booked a bust of a stock.
func (l *lab) bustIn(symbol string) bool {
	return slices.ContainsFunc(l.busts, func(b *bust) bool { return !b.booked && b.stock == l.stock(symbol) })
}

// verifyBusts checks that busts have changed no allocation, and that the difference is booked.
func (l *lab) verifyBusts() {
	for _, b := range l.busts {
		o, _ := l.order(b.id)
		r, _ := l.record(b.id)
		if !b.booked || o.FilledQty != b.wasBooked || o.Corrected != b.corrected || r.FilledQty != b.corrected {
			l.violate("a bust changes the house's shares only", b.id, "%+v: booked %s, now %s, at the brokerage %s",
				*b, o.FilledQty, o.Corrected, r.FilledQty)
		}
	}
}
