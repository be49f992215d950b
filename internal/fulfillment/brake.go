package fulfillment

import (
	"time"

	"stockrewards/internal/rewards"
)

// brake is an order that must be decided about before others of its stock are planned.
type brake struct {
	order rewards.Order
	since time.Time // our time when this process first saw it so
}

// readBrakes notes the orders of a step that brake their stocks.
func (w *Worker) readBrakes(live []rewards.Order) {
	before := w.brakes
	w.brakes = make(map[rewards.OrderID]brake)
	for _, o := range live {
		if b, known := before[o.ID]; known {
			w.brakes[o.ID] = b
		}
		w.noteBrake(o)
	}
}

// noteBrake notes whether an order brakes its stock now.
func (w *Worker) noteBrake(o rewards.Order) {
	if !o.Brakes() {
		delete(w.brakes, o.ID)
		return
	}
	b, known := w.brakes[o.ID]
	if b.order = o; !known {
		b.since = w.now()
	}
	w.brakes[o.ID] = b
}

// farSince is since when the fill of an order has been known to be far from the last price, and for how long the market
// was open since. A fill that was not known before is known from now on.
func (w *Worker) farSince(o rewards.Order, now time.Time) (time.Time, time.Duration) {
	b, known := w.brakes[o.ID]
	if !known {
		return now, 0
	}
	if b.since.Round(0).After(now.Round(0)) { // the clock was set back: the wait begins again
		b.since = now
		w.brakes[o.ID] = b
	}
	return b.since, w.market.OpenSince(b.since)
}

// awaitsPrice reports whether a fill of a stock waits for a price.
func (w *Worker) awaitsPrice(id rewards.AssetID) bool {
	for _, b := range w.brakes {
		if b.order.AssetID == id && b.order.AwaitsPrice() {
			return true
		}
	}
	return false
}

// decidedBy is the broker's time when the wait of a stock's fills for a price ends, if the market stays open.
func (w *Worker) decidedBy(id rewards.AssetID, clock rewards.MarketClock) (last time.Time) {
	for _, b := range w.brakes {
		if end := b.since.Add(clock.Now.Sub(w.now()) + rewards.MaxPriceWait); b.order.AssetID == id && end.After(last) {
			last = end
		}
	}
	return last
}

// stops reports whether another order forbids to send an order.
func (w *Worker) stops(o rewards.Order) bool {
	for _, b := range w.brakes {
		if b.order.Stops(o) {
			return true
		}
	}
	return false
}
