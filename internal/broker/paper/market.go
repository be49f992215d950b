package paper

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"stockrewards/internal/money"
)

// market is what is traded, when and at which price. Only the changes by corporate
// actions are learned while the brokerage is open.
type market struct {
	timetable

	newYork *time.Location
	changes atomic.Pointer[changes]

	listings []*listing // by symbol
	bySymbol map[string]*listing
	byID     map[string]*listing
}

// listing is an asset with its price model.
type listing struct {
	Asset

	id   string
	walk walk
}

func newMarket(catalog []Asset, h Hours, seed uint64) (*market, error) {
	tt, err := newTimetable(h)
	if err != nil {
		return nil, err
	}
	newYork, err := time.LoadLocation(newYorkZone)
	if err != nil {
		return nil, fmt.Errorf("find New York's time: %w", err)
	}
	m := &market{
		timetable: tt, newYork: newYork,
		bySymbol: make(map[string]*listing, len(catalog)),
		byID:     make(map[string]*listing, len(catalog)),
	}
	for _, a := range catalog {
		if a.Symbol == "" || a.Price <= 0 || a.Price > maxReferencePrice {
			return nil, fmt.Errorf("catalog: %q has no symbol or an impossible price %s", a.Symbol, a.Price)
		}
		if m.bySymbol[a.Symbol] != nil {
			return nil, fmt.Errorf("catalog: %q stands twice", a.Symbol)
		}
		l := &listing{Asset: a, id: AssetID(a.Symbol), walk: newWalk(seed, a.Symbol, a.Price)}
		m.listings = append(m.listings, l)
		m.bySymbol[a.Symbol], m.byID[l.id] = l, l
	}
	slices.SortFunc(m.listings, func(a, b *listing) int { return strings.Compare(a.Symbol, b.Symbol) })
	return m, nil
}

// find is the listing with that symbol or asset id, or nil.
func (m *market) find(symbolOrID string) *listing {
	if l := m.bySymbol[symbolOrID]; l != nil {
		return l
	}
	return m.byID[symbolOrID]
}

// price is the stock's price at a moment: that of its last trade, in its units.
func (m *market) price(l *listing, at time.Time) money.Price {
	at = m.lastTraded(l, at)
	return m.rebased(l, l.walk.at(at), time.Time{}, at)
}

// moment is one instant of the market, as prices see it.
type moment struct {
	trade    time.Time // of the latest trade: the second just begun, or the last close
	today    session   // the session that the latest trade was in
	previous session   // the session before
	now      time.Time
	fault    string // the kind that strikes at a price, if one does
}

func (m *market) moment(now time.Time) moment {
	if s := m.at(now); s.contains(now) {
		trade := now.Truncate(time.Second)
		return moment{trade: trade, today: s, previous: m.before(s.open), now: now}
	}
	s := m.before(now)
	return moment{trade: s.close, today: s, previous: m.before(s.open), now: now}
}
