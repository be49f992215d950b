package paper

import (
	"context"
	"time"

	"stockrewards/internal/money"
)

// change is what a corporate action does to a stock's trading: none from dark until
// at, then prices x old/new.
type change struct {
	dark, at         time.Time
	oldRate, newRate int64 // 0: the price does not change
}

// changes are those of all stocks, by symbol and in order of time.
type changes map[string][]change

// learnChanges reads what was announced: another process may have the books open.
func (b *Brokerage) learnChanges(ctx context.Context) error {
	list, err := scanActions(b.books.reader.QueryContext(ctx,
		`SELECT `+actionColumns+` FROM actions WHERE state <> 'withdrawn' ORDER BY happens_at, seq`))
	if err != nil {
		return err
	}
	known := make(changes)
	for _, a := range list {
		c := change{dark: a.darkFrom, at: a.happensAt}
		if a.splits() {
			c.oldRate, c.newRate = a.oldRate, a.newRate
		}
		known[a.symbol] = append(known[a.symbol], c)
	}
	b.market.changes.Store(&known)
	return nil
}

// of are the changes of a stock.
func (m *market) changesOf(l *listing) []change {
	if known := m.changes.Load(); known != nil {
		return (*known)[l.Symbol]
	}
	return nil
}

// dark tells until when the stock is not traded; the zero time when it is.
func (m *market) dark(symbol string, at time.Time) time.Time {
	known := m.changes.Load()
	if known == nil {
		return time.Time{}
	}
	var until time.Time
	for _, c := range (*known)[symbol] {
		if !at.Before(c.dark) && at.Before(c.at) {
			at, until = c.at, c.at
		}
	}
	return until
}

// lastTraded is the moment of the stock's last trade at a moment of the market's:
// before the dark, or that moment itself.
func (m *market) lastTraded(l *listing, at time.Time) time.Time {
	list := m.changesOf(l)
	for i := len(list) - 1; i >= 0; i-- {
		if c := list[i]; !at.Before(c.dark) && at.Before(c.at) {
			at = c.dark.Add(-time.Second)
		}
	}
	return at
}

// rebased is a price of the moment from in the units of the moment to.
func (m *market) rebased(l *listing, p money.Price, from, to time.Time) money.Price {
	for _, c := range m.changesOf(l) {
		if c.newRate == 0 || !from.Before(c.at) || to.Before(c.at) {
			continue
		}
		if n, err := money.MulDiv(int64(p), c.oldRate, c.newRate, money.Down); err == nil {
			p = money.Price(n)
		}
	}
	return tick(p)
}

// of is the moment as the stock has it: its last trade is from before the dark, or,
// while the market is closed, from when its units changed.
func (mo moment) of(m *market, l *listing) moment {
	for _, c := range m.changesOf(l) {
		if c.newRate > 0 && c.at.After(mo.trade) && !c.at.After(mo.now) {
			mo.trade = c.at
		}
	}
	mo.trade = m.lastTraded(l, mo.trade)
	return mo
}
