package rewards

import (
	"time"

	"stockrewards/internal/money"
)

// maxTradeLead is how far a trade may be ahead of the broker's clock, because the clocks of
// the broker's hosts differ.
const maxTradeLead = 5 * time.Second

// FutureTrade reports whether a trade at the time at is in the future of the broker's clock,
// which shows present.
func FutureTrade(at, present time.Time) bool { return at.After(present.Add(maxTradeLead)) }

// PriceVerdict is the judgment on a broker's price.
type PriceVerdict int

// The verdicts.
const (
	PriceAccepted   PriceVerdict = iota // it confirms or replaces the quote
	PriceFromFuture                     // its trade is in the future: ignored
	PriceInDoubt                        // too far from the known prices: an operator must decide
)

// Update returns the quote after the broker's price s. asked is our time of the request,
// present the broker's time then. Only an accepted price changes the quote. The newest trade
// wins, except over a stored trade time in the future, which an earlier version accepted.
func (q Quote) Update(s BrokerPrice, asked, present time.Time) (Quote, PriceVerdict) {
	return q.update(s, asked, present, Plausible(s.Price, q.reference(s), q.Accepted))
}

// UpdateHeld is Update for a stock that a corporate action holds. Its price may be in new
// units, so it is not compared. It must not be used to value a holding.
func (q Quote) UpdateHeld(s BrokerPrice, asked, present time.Time) (Quote, PriceVerdict) {
	return q.update(s, asked, present, true)
}

func (q Quote) update(s BrokerPrice, asked, present time.Time, plausible bool) (Quote, PriceVerdict) {
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

// reference returns the level to compare a new price with: the previous close, or the last
// price when the broker does not report one.
func (q Quote) reference(s BrokerPrice) money.Price {
	if s.PreviousClose > 0 {
		return s.PreviousClose
	}
	return q.Price
}

// FromFuture reports whether the quote was confirmed more than MaxClockSkew after our time
// now. Our clock was wrong then, so the quote's age is unknown.
func (q Quote) FromFuture(now time.Time) bool { return q.ConfirmedAt.After(now.Add(MaxClockSkew)) }
