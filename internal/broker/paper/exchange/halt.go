package exchange

import (
	"time"

	"stockrewards/internal/money"
)

// Change is what a corporate action does to a stock's trading: no trades from HaltFrom
// until At, then prices multiplied by OldRate and divided by NewRate.
type Change struct {
	HaltFrom, At     time.Time
	OldRate, NewRate int64 // 0 when the price does not change
	Moved            bool  // the price moved; the stock's units are the same
	Ends             bool  // the stock is never traded again
}

// halts reports whether the stock is not traded at a time.
func (c Change) halts(at time.Time) bool {
	return !at.Before(c.HaltFrom) && (c.Ends || at.Before(c.At))
}

// apply converts a price from before the change to after it.
func (c Change) apply(p money.Price) money.Price {
	if c.NewRate == 0 {
		return p
	}
	n, err := money.MulDiv(int64(p), c.OldRate, c.NewRate, money.Down)
	if err != nil {
		return p
	}
	return money.Price(n)
}

func (x *Exchange) changesOf(assetID string) []Change { return x.market.Load().changes[assetID] }

// Overnight returns when trading halts before a day on which a stock's units change,
// and when it resumes: 20:00 New York of the session before, and 02:30 of that day.
func (x *Exchange) Overnight(day time.Time) (halt, resume time.Time) {
	year, month, d := day.Date()
	resume = time.Date(year, month, d, 2, 30, 0, 0, x.newYork)
	before := x.Date(year, month, d-1)
	for _, open := x.SessionOn(before); !open; _, open = x.SessionOn(before) {
		before = before.AddDate(0, 0, -1)
	}
	year, month, d = before.Date()
	return time.Date(year, month, d, 20, 0, 0, 0, x.newYork), resume
}

// HaltedUntil returns when a stock that is halted at a time trades again, and the zero
// time when it is not halted. The stock must not be gone.
func (x *Exchange) HaltedUntil(l *Listing, at time.Time) (until time.Time) {
	for _, c := range x.changesOf(l.ID) {
		if c.halts(at) {
			at, until = c.At, c.At
		}
	}
	return until
}

// lastTraded returns the time of the stock's last trade: the one before the halt that it
// is in, or that time itself.
func (x *Exchange) lastTraded(l *Listing, at time.Time) time.Time {
	changes := x.changesOf(l.ID)
	for i := len(changes) - 1; i >= 0; i-- {
		if changes[i].halts(at) {
			at = x.Moment(changes[i].HaltFrom.Add(-time.Second)).Trade
		}
	}
	return at
}

// Adjusted converts a price from the stock's units of one time to those of a later one.
func (x *Exchange) Adjusted(l *Listing, p money.Price, from, to time.Time) money.Price {
	for _, c := range x.changesOf(l.ID) {
		if !c.Moved && from.Before(c.At) && !to.Before(c.At) {
			p = c.apply(p)
		}
	}
	return ticked(p)
}

// MomentOf returns the moment with the stock's own last trade: the one before its halt,
// or, while the market is closed, one at which its units changed.
func (x *Exchange) MomentOf(l *Listing, m Moment) Moment {
	if l.Since.After(m.Trade) && !l.Since.After(m.Now) {
		m.Trade = l.Since
	}
	for _, c := range x.changesOf(l.ID) {
		if c.NewRate > 0 && c.At.After(m.Trade) && !c.At.After(m.Now) {
			m.Trade = c.At
		}
	}
	m.Trade = x.lastTraded(l, m.Trade)
	return m
}
