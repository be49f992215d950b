package rewards

import (
	"fmt"
	"time"
)

// Pricing is how old the price is that a fill is compared with.
type Pricing struct {
	At     time.Time     // our time when the broker was asked for it last and reported one; zero: never
	Asked  bool          // it was asked for once more because of this fill
	Since  time.Time     // our time when the fill was first seen to be far from the price
	Waited time.Duration // of open market since then
}

// MaxPriceWait is how long, in open market, a fill waits for a price. Then an operator must decide. Another process
// that takes over waits as long again.
const MaxPriceWait = time.Minute

// waitsForPrice is the reason of an order whose fill waits for a price.
const waitsForPrice = "its fill is far from the last price, and the price cannot be read now"

// farFilled judges a fill far from every known level. Only a price that was asked for after the fill was seen decides.
func (o Order) farFilled(e Evidence, far error) Step {
	switch {
	case !e.Priced.At.Before(e.Priced.Since):
		return o.quarantine(far.Error())
	case !e.Priced.Asked:
		return Step{Kind: StepReadPrice}
	case e.Priced.Waited >= MaxPriceWait:
		return o.quarantine(fmt.Sprintf("%s, and no price could be read for %s of open market", far, MaxPriceWait))
	case o.AwaitsPrice() && e.Source != FromLookUp:
		return Step{}
	}
	o.NextAttemptAt, o.Reason = e.Now.Add(o.unchangedPause(e.Now)), waitsForPrice
	return Step{Kind: StepSave, Order: o}
}

// AwaitsPrice reports whether the order has a fill that only a newer price of its stock can judge.
func (o Order) AwaitsPrice() bool {
	return (o.State == OrderSubmitted || o.State == OrderOpen) && o.Reason == waitsForPrice
}

// Brakes reports whether the order must be decided about before other orders of its stock are planned.
func (o Order) Brakes() bool { return o.State == OrderQuarantined || o.AwaitsPrice() }

// Stops reports whether other must not be sent because of the order. An order that was sent before may be sent again
// beside a quarantined one: its dollars are spent perhaps.
func (o Order) Stops(other Order) bool {
	return o.AssetID == other.AssetID && (o.AwaitsPrice() || o.State == OrderQuarantined && other.State == OrderPlanned)
}
