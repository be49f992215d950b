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

// Update returns the quote after the broker's price s, in the quote's units. asked is our time of
// the request, present the broker's time then. Only an accepted price changes the quote. The newest
// trade wins, except over a stored trade time in the future, which an earlier version accepted.
func (q Quote) Update(s BrokerPrice, asked, present time.Time) (Quote, PriceVerdict) {
	if FutureTrade(s.TradedAt, present) {
		return q, PriceFromFuture
	}
	if !Plausible(s.Price, q.reference(s), s.EarlierClose, s.LaterClose, q.Accepted) || q.contradicts(s) {
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

// contradicts reports whether a price in units that are not certain is far from the last one. What was announced may
// never happen, such as the repetition of an action: then the converted price is off by its ratio, and so is the
// previous close.
func (q Quote) contradicts(s BrokerPrice) bool {
	uncertain := s.EarlierClose > 0 || s.LaterClose > 0
	return uncertain && q.Price > 0 && !Plausible(s.Price, q.Price, q.Accepted)
}

// FromFuture reports whether the quote was confirmed more than MaxClockSkew after our time
// now. Our clock was wrong then, so the quote's age is unknown.
func (q Quote) FromFuture(now time.Time) bool { return q.ConfirmedAt.After(now.Add(MaxClockSkew)) }

// otherCloseFor is how long after a change of units the broker's previous close may be in the
// units before or after.
const otherCloseFor = 5 * 24 * time.Hour

// InUnitsOf returns the broker's price in the asset's units. ok is false when they are not known:
// after an action that has no ratio, or that an operator must decide about.
func (s BrokerPrice) InUnitsOf(a Asset) (converted BrokerPrice, ok bool) {
	pending, ratio := a.Hold.Units, Ratio{1, 1}
	if !a.Units.From.IsZero() && s.TradedAt.Sub(a.Units.From) < otherCloseFor {
		s.EarlierClose = a.Units.Ratio.PriceOrNone(s.PreviousClose)
	}
	switch {
	case pending.apply(s.TradedAt): // in units that the store does not have yet
		ratio = pending.Ratio.Inverse()
		s.LaterClose = ratio.PriceOrNone(s.PreviousClose)
	case !a.Units.From.IsZero() && !s.TradedAt.After(a.Units.From): // halted since before
		ratio = a.Units.Ratio
	}
	s.Price = ratio.PriceOrNone(s.Price)
	return s, s.Price > 0
}

// apply reports whether a trade at the time at is in these units: it was traded after From.
func (u Units) apply(at time.Time) bool { return !u.From.IsZero() && at.After(u.From) }

// Foreign reports whether the quote's trade is in units that are pending since after it was
// taken, so that its price is in unknown units.
func (q Quote) Foreign(pending Units) bool {
	return q.Pending != pending && pending.apply(q.TradedAt)
}
