// Package exchange simulates the stock exchange of the paper brokerage: which stocks
// are listed, when they trade, and at which price. Everything follows from a seed and
// the time; the corporate actions and moved prices that it follows are in the books.
package exchange

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"stockrewards/internal/broker/paper/random"
	"stockrewards/internal/money"
)

// MaxPrice is the highest price of a catalog: a billion dollars. The model raises a
// price by less than half, so that every price fits its type.
const MaxPrice = 1_000_000_000 * dollar

// Asset is a stock of the catalog.
type Asset struct {
	Symbol   string      // upper case, "BRK.B"
	Name     string      // "Apple Inc. Common Stock"
	Exchange string      // as Alpaca names it: "NASDAQ"
	Price    money.Price // the reference that the model's prices move around: above 0, at most MaxPrice

	NotTradable     bool // orders for it are refused
	NotFractionable bool // orders for it must be for whole shares
}

// Listing is an asset that the exchange trades, or traded.
type Listing struct {
	Asset

	ID    string    // AssetID of its first symbol; a rename keeps it
	Gone  bool      // no longer listed; it is not tradable either
	Since time.Time // when it was first traded; zero: always

	model model
}

// Relisting is a listing that a corporate action created or changed.
type Relisting struct {
	Asset

	ID    string
	Model string // the first symbol, whose price model the stock follows
	Gone  bool
	Since time.Time
}

// AssetID returns the id of the asset with a symbol, the same in all brokerages.
func AssetID(symbol string) string { return random.UUID("asset " + symbol) }

// Exchange trades the stocks of a catalog. It is safe for concurrent use.
type Exchange struct {
	Timetable

	newYork *time.Location
	seed    uint64
	catalog []*Listing
	market  atomic.Pointer[market]
}

// market is what is listed, and what changed prices. It never changes.
type market struct {
	listings []*Listing // by symbol
	bySymbol map[string]*Listing
	byID     map[string]*Listing
	changes  map[string][]Change // by asset id, in order of time
	closures []Closure           // in order of time
}

// New opens an exchange. It fails when the catalog has an asset twice, or one without
// a symbol or with a price out of range, and when the hours are unknown.
func New(catalog []Asset, hours Hours, seed uint64) (*Exchange, error) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		return nil, fmt.Errorf("cannot load the time zone of New York: %w", err)
	}
	x := &Exchange{
		Timetable: Timetable{hours: hours, zone: newYork}, newYork: newYork, seed: seed,
	}
	switch hours {
	case AlwaysOpen:
		x.zone = time.UTC
	case USEquities:
	default:
		return nil, fmt.Errorf("unknown hours %d", hours)
	}
	seen := make(map[string]bool, len(catalog))
	for _, a := range catalog {
		if a.Symbol == "" || a.Price <= 0 || a.Price > MaxPrice {
			return nil, fmt.Errorf("catalog: %q needs a symbol and a price above 0, at most %s; it has the price %s",
				a.Symbol, MaxPrice, a.Price)
		}
		if seen[a.Symbol] {
			return nil, fmt.Errorf("catalog: %q is listed twice", a.Symbol)
		}
		seen[a.Symbol] = true
		x.catalog = append(x.catalog,
			&Listing{Asset: a, ID: AssetID(a.Symbol), model: newModel(seed, a.Symbol, a.Price)})
	}
	x.Update(nil, nil, nil)
	return x, nil
}

// Update replaces what the books know of the market: the listings that differ from the
// catalog, the changes of prices by asset id, and the closures; both in order of time.
func (x *Exchange) Update(relisted []Relisting, changes map[string][]Change, closures []Closure) {
	m := &market{
		bySymbol: make(map[string]*Listing, len(x.catalog)), byID: make(map[string]*Listing, len(x.catalog)),
		changes: changes, closures: closures,
	}
	for _, r := range relisted {
		l := &Listing{Asset: r.Asset, ID: r.ID, Gone: r.Gone, Since: r.Since, model: newModel(x.seed, r.Model, r.Price)}
		l.NotTradable = l.NotTradable || l.Gone
		m.add(l)
	}
	for _, l := range x.catalog {
		if m.byID[l.ID] == nil && m.bySymbol[l.Symbol] == nil {
			m.add(l)
		}
	}
	slices.SortFunc(m.listings, func(a, b *Listing) int { return strings.Compare(a.Symbol, b.Symbol) })
	x.market.Store(m)
}

func (m *market) add(l *Listing) {
	m.listings = append(m.listings, l)
	m.bySymbol[l.Symbol], m.byID[l.ID] = l, l
}

// Listings returns all listings in order of symbol. The caller must not change them.
func (x *Exchange) Listings() []*Listing { return x.market.Load().listings }

// BySymbol returns the listing with that symbol, or nil.
func (x *Exchange) BySymbol(symbol string) *Listing { return x.market.Load().bySymbol[symbol] }

// ByID returns the listing with that asset id, or nil.
func (x *Exchange) ByID(id string) *Listing { return x.market.Load().byID[id] }

// Find returns the listing with that symbol or asset id, or nil.
func (x *Exchange) Find(symbolOrID string) *Listing {
	return cmp.Or(x.BySymbol(symbolOrID), x.ByID(symbolOrID))
}

// NewYork returns a time on the clocks of New York.
func (x *Exchange) NewYork(t time.Time) time.Time { return t.In(x.newYork) }

// Price returns the stock's price at a time: that of its last trade, in the units of
// that trade's day.
func (x *Exchange) Price(l *Listing, at time.Time) money.Price {
	return ticked(x.exactPrice(l, x.lastTraded(l, at)))
}

// Unrounded returns the price before it is rounded to its tick. It is above 0.
func (x *Exchange) Unrounded(l *Listing, at time.Time) money.Price {
	return max(x.exactPrice(l, at), 1)
}

// exactPrice returns the price before it is rounded to its tick.
func (x *Exchange) exactPrice(l *Listing, at time.Time) money.Price {
	if at.Before(l.Since) {
		at = l.Since
	}
	p := l.model.price(at)
	for _, c := range x.changesOf(l.ID) {
		if !at.Before(c.At) {
			p = c.apply(p)
		}
	}
	return p
}

// Moment is an instant of the market, as prices depend on it.
type Moment struct {
	Now      time.Time
	Trade    time.Time // of the latest trade: the second just begun, or the last close
	Today    Session   // the session of the latest trade
	Previous Session   // the session before
}

// Moment returns the market's state at a time.
func (x *Exchange) Moment(now time.Time) Moment {
	s, trade := x.SessionAt(now), now.Truncate(time.Second)
	if !s.Contains(now) {
		s = x.sessionBefore(now)
		trade = s.Close
	}
	whole := x.Timetable.SessionAt(s.Open) // without closures
	return Moment{Now: now, Trade: trade, Today: s, Previous: x.Timetable.sessionBefore(whole.Open)}
}
