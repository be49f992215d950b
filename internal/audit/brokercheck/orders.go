package brokercheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/audit/value"
)

// patience is how long an order may be under way at one side only.
const patience = 15 * time.Minute

// pair is an order at one side or at both.
type pair struct {
	ours    *order // nil: the store does not have it
	reading reading
	theirs  Order // the newest reading; zero when the broker does not have it
}

// orders compares all orders.
func (c *comparison) orders() {
	for _, id := range slices.Sorted(maps.Keys(c.listed)) {
		if c.ours.orders[id] == nil {
			c.unknown(pair{reading: c.listed[id], theirs: c.listed[id].newest()})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.ours.orders)) {
		p := pair{ours: c.ours.orders[id], reading: c.listed[id], theirs: c.listed[id].newest()}
		before := len(c.report.Items)
		if p.ours.attempts > 0 {
			c.report.Totals.OurOrders++
		}
		c.compare(p)
		if len(c.report.Items) > before {
			continue
		}
		if p.ours.attempts > 0 {
			c.report.Totals.Matched++
		}
		if conflict := c.ours.conflicts[id]; conflict.acknowledgedAt != 0 {
			c.add(codeAcknowledged, SeverityExplained, p, acknowledged+conflict.reason)
		}
	}
}

// compare compares our order with the broker's.
func (c *comparison) compare(p pair) {
	o := p.ours
	switch {
	case o.state == value.Planned:
		if p.reading.inFirst {
			c.add(codeNotSent, SeverityBreak, p, stopCopy)
		}
	case o.state == value.Quarantined:
		c.add(codeUndecided, SeverityBreak, p, resolve)
	case o.state == value.Refused:
		if p.reading.known() && (p.theirs.Status != "rejected" || p.theirs.FilledQty != 0) {
			c.add(codeRefusedKnown, SeverityBreak, p, askBroker)
		}
	case !p.reading.known():
		c.missing(p)
	case p.theirs.Problem != "":
		c.add(codeUnreadable, SeverityBreak, p, askBroker)
	default:
		c.identity(p)
		if o.state == value.Settled {
			c.settled(p)
		} else {
			c.live(p)
		}
	}
}

// acknowledged returns the acknowledgment of the broker's fill of an order, if there is one.
func (c *comparison) acknowledged(p pair) (reason string, ok bool) {
	conflict := c.ours.conflicts[p.theirs.ClientOrderID]
	return conflict.reason, conflict.acknowledgedAt != 0 && conflict.filledQty == int64(p.theirs.FilledQty)
}

// unknown reports an order with our prefix that the store does not have.
func (c *comparison) unknown(p pair) {
	reason, ok := c.acknowledged(p)
	switch {
	case ok:
		c.add(codeAcknowledged, SeverityExplained, p, acknowledged+reason)
	case !p.reading.inFirst:
		c.add(codeInFlight, SeverityTiming, p, nothing)
	default:
		c.add(codeUnknown, SeverityBreak, p, adoptOrAcknowledge)
	}
}

// missing reports our order that the broker does not have.
func (c *comparison) missing(p pair) {
	o := p.ours
	switch {
	case o.resolved:
		c.add(codeResolved, SeverityExplained, p, operatorResolved)
	case o.state != value.Settled && c.age(o.firstAttemptAt) < patience:
		c.add(codeInFlight, SeverityTiming, p, nothing)
	case o.state == value.Submitted && !o.ambiguous():
		c.add(codeWaits, SeverityTiming, p, seeAlarms)
	case o.state == value.Submitted:
		c.add(codeMissing, SeverityBreak, p, checkServe)
	default:
		c.add(codeMissing, SeverityBreak, p, askBroker)
	}
}

// identity compares the fields that never change.
func (c *comparison) identity(p pair) {
	o, b := p.ours, p.theirs
	switch {
	case o.brokerID != "" && b.BrokerID != o.brokerID:
		c.add(codeBrokerID, SeverityBreak, p, askBroker)
	case !c.sameAsset(o, b):
		c.add(codeSymbol, SeverityBreak, p, askBroker)
	case b.Side != "buy":
		c.add(codeSide, SeverityBreak, p, askBroker)
	case int64(b.Notional) != o.notional:
		c.add(codeNotional, SeverityBreak, p, askBroker)
	}
}

// sameAsset compares the broker's ids of the asset, since symbols are renamed; if one side does
// not have the id, it compares the symbols. With a rename the broker may give another id: orders from before that
// action have the symbol and the id of then.
func (c *comparison) sameAsset(o *order, b Order) bool {
	stock := c.ours.asset(o.asset)
	if stock.brokerID == "" || b.AssetID == "" {
		return o.symbol == b.Symbol
	}
	renamed := stock.symbol != o.symbol && o.firstAttemptAt < stock.switched
	return stock.brokerID == b.AssetID || renamed && b.Symbol == o.symbol
}

// settled compares what was booked. Last was read after the store, so nothing is under way.
func (c *comparison) settled(p pair) {
	o, b := p.ours, p.theirs
	reason, ok := c.acknowledged(p)
	filled := int64(b.FilledQty) == o.corrected
	switch {
	case o.resolved && filled:
	case o.resolved:
		c.add(codeResolved, SeverityExplained, p, operatorResolved)
	case !filled && ok:
		c.add(codeAcknowledged, SeverityExplained, p, acknowledged+reason)
	case !filled:
		c.add(codeFilled, SeverityBreak, p, askBroker+"; "+runAudit)
	case b.Status != o.brokerStatus:
		c.add(codeStatus, SeverityBreak, p, askBroker)
	case int64(b.AveragePrice) != o.price && o.corrected == o.filledQty:
		c.add(codePrice, SeverityBreak, p, askBroker+"; "+runAudit)
	}
}

// live compares an order that is not settled.
func (c *comparison) live(p pair) {
	o, b := p.ours, p.theirs
	late := c.age(c.since(p)) >= patience
	ended := value.EndedAtBroker(b.Status)
	switch {
	case o.state != value.Resolved && int64(b.FilledQty) < o.filledQty:
		c.add(codeFilled, SeverityBreak, p, askBroker)
	case (o.state == value.Resolved || ended) && late:
		c.add(codeUnbooked, SeverityBreak, p, checkServe)
	case o.state == value.Resolved || ended:
		c.add(codeUnbooked, SeverityTiming, p, nothing)
	case o.state == value.Submitted && late:
		c.add(codeUnnoticed, SeverityBreak, p, checkServe)
	case o.state == value.Submitted:
		c.add(codeInFlight, SeverityTiming, p, nothing)
	case b.FilledQty > 0:
		c.add(codePartly, SeverityTiming, p, nothing)
	}
}

// since returns when an order was settled, ended at the broker, or was sent, in microseconds; 0 if
// unknown.
func (c *comparison) since(p pair) int64 {
	switch {
	case p.ours == nil:
		return micros(p.theirs.SubmittedAt)
	case p.ours.state == value.Settled:
		return p.ours.settledAt
	case value.EndedAtBroker(p.theirs.Status) && !p.theirs.FilledAt.IsZero():
		return micros(p.theirs.FilledAt)
	case p.ours.terminalSince != 0:
		return p.ours.terminalSince
	}
	return p.ours.firstAttemptAt
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// age returns the age of a stored time; the zero time is infinitely old.
func (c *comparison) age(micros int64) time.Duration {
	const infinite = time.Duration(1<<63 - 1)
	if micros == 0 {
		return infinite
	}
	return max(c.now.Sub(time.UnixMicro(micros)), 0)
}

// add adds an item about an order.
func (c *comparison) add(code string, severity Severity, p pair, next string) {
	i := Item{
		Code: code, Severity: severity, ClientOrderID: p.theirs.ClientOrderID, BrokerOrderID: p.theirs.BrokerID,
		Symbol: p.theirs.Symbol, Ours: "no such order", Theirs: "no such order", Next: next,
	}
	var qty, cost value.Sum
	if p.reading.known() {
		i.Theirs = p.theirs.describe()
		filled := int64(p.theirs.FilledQty)
		qty, cost = value.SumOf(filled), costOf(filled, int64(p.theirs.AveragePrice))
	}
	if o := p.ours; o != nil {
		i.ClientOrderID, i.OrderID, i.Symbol, i.Ours = o.clientID, value.UUID(o.id), o.symbol, o.describe()
		if i.BrokerOrderID == "" {
			i.BrokerOrderID = o.brokerID
		}
		if o.state == value.Settled {
			qty, cost = qty.Minus(value.SumOf(o.filledQty)), cost.Minus(costOf(o.filledQty, o.price))
		}
	}
	if qty.Sign() != 0 || cost.Sign() != 0 {
		i.DifferenceShares, i.DifferenceUSD = qty.Format(plainShares), cost.Format(plainUSD)
	}
	if at := c.since(p); at != 0 {
		i.Since = time.UnixMicro(at).UTC().Format(time.RFC3339)
		i.AgeSeconds = int64(c.age(at) / time.Second)
	}
	c.report.Items = append(c.report.Items, i)
}

// costOf returns the dollars that a fill cost, rounded down; 0 when they are not an amount.
func costOf(qty, price int64) value.Sum {
	n, _ := value.Cost(qty, price)
	return value.SumOf(n)
}

// describe summarizes an order.
func (o Order) describe() string {
	text := fmt.Sprintf("%s: %s %s of %s", o.Status, o.Side, value.USD(int64(o.Notional)), o.Symbol)
	if o.FilledQty != 0 {
		text += fmt.Sprintf(", %s at %s", value.Shares(int64(o.FilledQty)), value.Price(int64(o.AveragePrice)))
	}
	if o.Problem != "" {
		text += ", unreadable: " + o.Problem
	}
	return text
}

// others counts the orders without our prefix.
func others(list []Order, prefix string) int {
	n := 0
	for _, o := range list {
		if !strings.HasPrefix(o.ClientOrderID, prefix) {
			n++
		}
	}
	return n
}
