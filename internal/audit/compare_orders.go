package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/money"
)

// patience is how long an order may be under way at one side only.
const patience = 15 * time.Minute

// pair is an order at both sides, or at one of them.
type pair struct {
	ours   *sentOrder // nil: not ours
	told   reading
	theirs BrokerOrder // its newest reading; zero when the broker does not tell it
}

// orders compares every order.
func (c *comparison) orders() {
	for _, id := range slices.Sorted(maps.Keys(c.told)) {
		if c.books.orders[id] == nil {
			c.unknown(pair{told: c.told[id], theirs: c.told[id].now()})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.books.orders)) {
		p := pair{ours: c.books.orders[id], told: c.told[id], theirs: c.told[id].now()}
		before := len(c.report.Items)
		if p.ours.attempts > 0 {
			c.report.Totals.OurOrders++
		}
		c.compare(p)
		if p.ours.attempts > 0 && len(c.report.Items) == before {
			c.report.Totals.Matched++
		}
		c.adopted(p, before)
	}
}

// compare compares an order of ours with the broker's.
func (c *comparison) compare(p pair) {
	o := p.ours
	switch {
	case o.state == planned:
		if p.told.inFirst {
			c.add(codeNotSent, SeverityBreak, p, unsentAtBroker)
		}
	case o.state == quarantined:
		c.add(codeUndecided, SeverityBreak, p, decide)
	case o.state == refused:
		if p.told.known() && (p.theirs.Status != "rejected" || p.theirs.FilledQty != 0) {
			c.add(codeRefusedKnown, SeverityBreak, p, askTheBroker)
		}
	case !p.told.known():
		c.missing(p)
	case p.theirs.Problem != "":
		c.add(codeUnreadable, SeverityBreak, p, askTheBroker)
	default:
		c.identity(p)
		if o.state == settled {
			c.settled(p)
		} else {
			c.live(p)
		}
	}
}

// unknown is an order with our prefix that the books do not have.
func (c *comparison) unknown(p pair) {
	conflict, noted := c.books.conflicts[p.theirs.ClientOrderID]
	switch {
	case noted && conflict.ackAt != 0 && conflict.filledQty == int64(p.theirs.FilledQty):
		c.add(codeAcknowledged, SeverityExplained, p, "nothing: acknowledged: "+conflict.acknowledgementReason)
	case !p.told.inFirst:
		c.add(codeInFlight, SeverityTiming, p, nothing)
	default:
		c.add(codeUnknown, SeverityBreak, p, acknowledgeOrAdopt)
	}
}

// missing is an order of ours that the broker does not tell of.
func (c *comparison) missing(p pair) {
	o := p.ours
	switch {
	case o.resolved:
		c.add(codeResolved, SeverityExplained, p, "nothing: an operator decided it")
	case o.state != settled && c.age(o.firstAttemptAt) < patience:
		c.add(codeInFlight, SeverityTiming, p, nothing)
	case o.state == submitted && !o.ambiguous():
		c.add(codeWaits, SeverityTiming, p, seeAlarms)
	case o.state == submitted:
		c.add(codeMissing, SeverityBreak, p, startServe)
	default:
		c.add(codeMissing, SeverityBreak, p, askTheBroker)
	}
}

// identity compares what never changes.
func (c *comparison) identity(p pair) {
	o, b := p.ours, p.theirs
	switch {
	case o.brokerID != "" && b.BrokerID != o.brokerID:
		c.add(codeBrokerID, SeverityBreak, p, askTheBroker)
	case !c.sameStock(o, b):
		c.add(codeSymbol, SeverityBreak, p, askTheBroker)
	case b.Side != "buy":
		c.add(codeSide, SeverityBreak, p, askTheBroker)
	case int64(b.Notional) != o.notional:
		c.add(codeNotional, SeverityBreak, p, askTheBroker)
	}
}

// sameStock tells whether both are about one stock: by the broker's identifier of it,
// since symbols are renamed; by the symbol when one side does not know it.
func (c *comparison) sameStock(o *sentOrder, b BrokerOrder) bool {
	if id := c.books.asset(o.asset).brokerID; id != "" && b.AssetID != "" {
		return id == b.AssetID
	}
	return o.symbol == b.Symbol
}

// settled compares what was booked. The broker was read after the books, so nothing
// of it is under way.
func (c *comparison) settled(p pair) {
	o, b := p.ours, p.theirs
	conflict, noted := c.books.conflicts[o.clientID]
	filled := int64(b.FilledQty) == o.filledQty
	switch {
	case o.resolved && filled:
	case o.resolved:
		c.add(codeResolved, SeverityExplained, p, "nothing: an operator decided it")
	case !filled && noted && conflict.ackAt != 0 && conflict.filledQty == int64(b.FilledQty):
		c.add(codeAcknowledged, SeverityExplained, p, "nothing: acknowledged: "+conflict.acknowledgementReason)
	case !filled:
		c.add(codeFilled, SeverityBreak, p, askTheBroker+"; "+lookAtAudit)
	case b.Status != o.brokerStatus:
		c.add(codeStatus, SeverityBreak, p, askTheBroker)
	case int64(b.AveragePrice) != o.price:
		c.add(codePrice, SeverityBreak, p, askTheBroker+"; "+lookAtAudit)
	}
}

// live compares an order that is not final in the books.
func (c *comparison) live(p pair) {
	o, b := p.ours, p.theirs
	late := c.age(c.since(p)) >= patience
	switch {
	case o.state == resolved && late:
		c.add(codeUnbooked, SeverityBreak, p, startServe)
	case o.state == resolved:
		c.add(codeUnbooked, SeverityTiming, p, nothing)
	case int64(b.FilledQty) < o.filledQty:
		c.add(codeFilled, SeverityBreak, p, askTheBroker)
	case finalStatus(b.Status) && late:
		c.add(codeUnbooked, SeverityBreak, p, startServe)
	case finalStatus(b.Status):
		c.add(codeUnbooked, SeverityTiming, p, nothing)
	case o.state == submitted && late:
		c.add(codeUnnoticed, SeverityBreak, p, startServe)
	case o.state == submitted:
		c.add(codeInFlight, SeverityTiming, p, nothing)
	case b.FilledQty > 0:
		c.add(codePartly, SeverityTiming, p, nothing)
	}
}

// adopted tells of an order whose conflict an operator has dealt with, when nothing
// else was to be said of it.
func (c *comparison) adopted(p pair, items int) {
	conflict, noted := c.books.conflicts[p.ours.clientID]
	if noted && conflict.ackAt != 0 && len(c.report.Items) == items {
		c.add(codeAcknowledged, SeverityExplained, p, "nothing: acknowledged: "+conflict.acknowledgementReason)
	}
}

// since is when what is told of an order began: its end at the broker, or its send.
func (c *comparison) since(p pair) int64 {
	switch {
	case p.ours == nil:
		return stored(p.theirs.SubmittedAt)
	case p.ours.state == settled:
		return p.ours.settledAt
	case finalStatus(p.theirs.Status) && !p.theirs.FilledAt.IsZero():
		return stored(p.theirs.FilledAt)
	case p.ours.terminalSince != 0:
		return p.ours.terminalSince
	}
	return p.ours.firstAttemptAt
}

func stored(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// age is how long ago a stored time was; of none it is for ever.
func (c *comparison) age(micros int64) time.Duration {
	const forEver = time.Duration(1<<63 - 1)
	if micros == 0 {
		return forEver
	}
	return max(c.now.Sub(time.UnixMicro(micros)), 0)
}

// add notes an item about an order.
func (c *comparison) add(code string, severity Severity, p pair, next string) {
	i := Item{
		Code: code, Severity: severity, ClientOrderID: p.theirs.ClientOrderID, BrokerOrderID: p.theirs.BrokerID,
		Symbol: p.theirs.Symbol, Ours: "no such order", Theirs: "no such order", Next: next,
	}
	var qty, cost wide
	if p.told.known() {
		i.Theirs = theirStory(p.theirs)
		filled := int64(p.theirs.FilledQty)
		qty, cost = wideOf(filled), spentDollars(filled, int64(p.theirs.AveragePrice))
	}
	if o := p.ours; o != nil {
		i.ClientOrderID, i.OrderID, i.Symbol, i.Ours = o.clientID, uuid(o.id), o.symbol, o.tale()
		if i.BrokerOrderID == "" {
			i.BrokerOrderID = o.brokerID
		}
		if o.state == settled {
			qty, cost = qty.minus(wideOf(o.filledQty)), cost.minus(spentDollars(o.filledQty, o.price))
		}
	}
	if qty.sign() != 0 || cost.sign() != 0 {
		i.DifferenceShares, i.DifferenceUSD = qty.text(plainShares), cost.text(plainUSD)
	}
	if at := c.since(p); at != 0 {
		i.Since = time.UnixMicro(at).UTC().Format(time.RFC3339)
		i.AgeSeconds = int64(c.age(at) / time.Second)
	}
	c.report.Items = append(c.report.Items, i)
}

// spentDollars is what a fill cost, rounded down; nothing when that is no amount.
func spentDollars(qty, price int64) wide {
	n, _ := cost(qty, price)
	return wideOf(n)
}

// tale is how the order stands in the books.
func (o *sentOrder) tale() string {
	text := stateName(o.state)
	if o.brokerStatus != "" {
		text += fmt.Sprintf(" (%s)", o.brokerStatus)
	}
	text += fmt.Sprintf(": buy %s of %s", usd(o.notional), o.symbol)
	if o.filledQty != 0 {
		text += fmt.Sprintf(", %s at %s", shares(o.filledQty), price(o.price))
	}
	if o.reason != "" {
		text += ", " + o.reason
	}
	return text
}

// theirStory is how the order stands at the broker.
func theirStory(b BrokerOrder) string {
	text := fmt.Sprintf("%s: %s %s of %s", b.Status, b.Side, usd(int64(b.Notional)), b.Symbol)
	if b.FilledQty != 0 {
		text += fmt.Sprintf(", %s at %s", shares(int64(b.FilledQty)), price(int64(b.AveragePrice)))
	}
	if b.Problem != "" {
		text += ", unreadable: " + b.Problem
	}
	return text
}

// others counts the orders without our prefix.
func others(list []BrokerOrder, prefix string) int {
	n := 0
	for _, o := range list {
		if !strings.HasPrefix(o.ClientOrderID, prefix) {
			n++
		}
	}
	return n
}

// dollars is what shares are worth at a price, toward zero.
func dollars(qty wide, at int64) (money.USD, bool) {
	n, fits := qty.fits()
	if !fits || at <= 0 {
		return 0, false
	}
	worth, ok := cost(max(n, -n), at)
	if n < 0 {
		worth = -worth
	}
	return money.USD(worth), ok
}
