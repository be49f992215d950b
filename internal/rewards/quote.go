package rewards

import (
	"time"

	"stockrewards/internal/money"
)

// maxTradeLead is how far a trade's time may be after the broker's clock: its hosts
// differ a little.
const maxTradeLead = 5 * time.Second

// FutureTrade reports whether a trade's time has not come yet by the broker's clock.
func FutureTrade(at, present time.Time) bool { return at.After(present.Add(maxTradeLead)) }

// PriceVerdict is what is made of a snapshot.
type PriceVerdict int

// The readings.
const (
	PriceAccepted   PriceVerdict = iota // it is the latest word on the stock
	PriceFromFuture                     // its trade has not happened yet: ignored
	PriceInDoubt                        // its price is too far from what is known: an operator must look
)

// Read takes the broker's snapshot of the stock into the quote. asked is when it was
// requested by our clock, present what the broker's clock showed then. A snapshot that
// is not believed changes nothing. The newest trade wins; a trade time of the future
// that an earlier version stored loses against any.
func (q Quote) Update(s BrokerPrice, asked, present time.Time) (Quote, PriceVerdict) {
	return q.read(s, asked, present, Plausible(s.Price, q.reference(s), q.Accepted))
}

// UpdateHeld is Read of a stock that a corporate action holds: its price may be of other
// units, so it is compared with nothing. Such a price is not offered.
func (q Quote) UpdateHeld(s BrokerPrice, asked, present time.Time) (Quote, PriceVerdict) {
	return q.read(s, asked, present, true)
}

func (q Quote) read(s BrokerPrice, asked, present time.Time, plausible bool) (Quote, PriceVerdict) {
	if FutureTrade(s.TradedAt, present) {
		return q, PriceFromFuture
	}
	if !plausible {
		return q, PriceInDoubt
	}
	q.ConfirmedAt = asked
	if !s.TradedAt.Before(q.TradedAt) || FutureTrade(q.TradedAt, present) {
		q.Price, q.TradedAt = s.Price, s.TradedAt
	}
	return q, PriceAccepted
}

// reference is the level that a new price is compared with: the previous close or,
// when the broker does not report one, our own last price.
func (q Quote) reference(s BrokerPrice) money.Price {
	if s.PreviousClose > 0 {
		return s.PreviousClose
	}
	return q.Price
}

// FromFuture reports whether the quote was confirmed after the moment now of our own
// clock, by more than clocks differ: our clock was wrong then, so its age is not known.
func (q Quote) FromFuture(now time.Time) bool { return q.ConfirmedAt.After(now.Add(MaxClockSkew)) }
