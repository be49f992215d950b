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

// Reading is what is made of a snapshot.
type Reading int

// The readings.
const (
	ReadBelieved Reading = iota // it is the latest word on the stock
	ReadFuture                  // its trade has not happened yet: ignored
	ReadDoubt                   // its price is too far from what is known: an operator must look
)

// Read takes the broker's snapshot of the stock into the quote. asked is when it was
// requested by our clock, present what the broker's clock showed then. A snapshot that
// is not believed changes nothing. The newest trade wins; a trade time of the future
// that an earlier version stored loses against any.
func (q Quote) Read(s Snapshot, asked, present time.Time) (Quote, Reading) {
	return q.read(s, asked, present, Plausible(s.Price, q.reference(s), q.Accepted))
}

// ReadHeld is Read of a stock that a corporate action holds: its price may be of other
// units, so it is compared with nothing. Such a price is not offered.
func (q Quote) ReadHeld(s Snapshot, asked, present time.Time) (Quote, Reading) {
	return q.read(s, asked, present, true)
}

func (q Quote) read(s Snapshot, asked, present time.Time, plausible bool) (Quote, Reading) {
	if FutureTrade(s.TradedAt, present) {
		return q, ReadFuture
	}
	if !plausible {
		return q, ReadDoubt
	}
	q.ConfirmedAt = asked
	if !s.TradedAt.Before(q.TradedAt) || FutureTrade(q.TradedAt, present) {
		q.Price, q.TradedAt = s.Price, s.TradedAt
	}
	return q, ReadBelieved
}

// reference is the level that a new price is compared with: the previous close or,
// when the broker does not report one, our own last price.
func (q Quote) reference(s Snapshot) money.Price {
	if s.PreviousClose > 0 {
		return s.PreviousClose
	}
	return q.Price
}

// FromFuture reports whether the quote was confirmed after the moment now of our own
// clock, by more than clocks differ: our clock was wrong then, so its age is not known.
func (q Quote) FromFuture(now time.Time) bool { return q.ConfirmedAt.After(now.Add(MaxClockSkew)) }
