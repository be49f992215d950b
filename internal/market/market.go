// Package market keeps the latest prices and the market's hours. A price is the last trade
// that the broker reported. It is not usable when the broker has not confirmed it for a
// minute of open market, or when it jumped too far. The broker's answers are untrusted.
package market

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Broker reports prices and hours.
type Broker interface {
	// LatestPrices returns the latest price of each symbol, from one request. A symbol
	// without a usable price is missing in the result.
	LatestPrices(ctx context.Context, symbols []string) (map[string]rewards.BrokerPrice, error)
	// Clock reads the broker's clock and the market's hours.
	Clock(ctx context.Context) (rewards.MarketClock, error)
}

// Store keeps prices and hours, so that a process that starts during an outage of the broker
// can value portfolios.
type Store interface {
	// QuotedAssets lists the assets that need a price, and their stored quotes.
	QuotedAssets(ctx context.Context) ([]rewards.Asset, []rewards.Quote, error)
	// SaveQuotes stores prices.
	SaveQuotes(ctx context.Context, quotes []rewards.Quote) error
	// DoubtAsset stops ordering and valuing an asset because of a price in doubt.
	DoubtAsset(ctx context.Context, id rewards.AssetID, price money.Price) error
	// MarketHours returns the hours that SaveMarketHours stored; "" if none.
	MarketHours(ctx context.Context) (string, error)
	// SaveMarketHours stores the market's hours.
	SaveMarketHours(ctx context.Context, hours string) error
}

const (
	// maxAge is how long a price is usable without a confirmation, in open market.
	maxAge = time.Minute
	// confirmEvery is how often it is stored that the broker confirmed prices which did not change.
	confirmEvery = 15 * time.Second
	// clockEvery is how often the broker's clock is read.
	clockEvery = 5 * time.Second
	// clockLeast is how long a reading is valid whose hours have passed: a broker may show them for a moment.
	clockLeast = time.Second
)

// Market keeps the latest prices and hours. It is safe for concurrent use.
type Market struct {
	broker Broker
	store  Store
	now    func() time.Time
	log    *slog.Logger

	mu      sync.RWMutex
	quotes  map[rewards.AssetID]quote
	hours   sessions
	clock   rewards.MarketClock // the last trusted reading
	clockAt time.Time           // our time of that reading; zero: never
	saved   time.Time           // when all prices were stored last

	refused   error     // why the last reading was refused; nil if it was trusted
	refusedAt time.Time // our time of that reading
}

type quote struct {
	rewards.Quote
	symbol string
	doubt  bool
	future bool                  // the last reported trade was in the future
	seen   rewards.BrokerPrice   // as last reported, in whatever units
	seenAt time.Time             // our time of the last request that was answered with a price not of the future
	firsts []rewards.BrokerPrice // of the last days: see addFirst
}

// New returns a market without prices. Call Load or Refresh to get some.
func New(broker Broker, store Store, now func() time.Time, log *slog.Logger) *Market {
	return &Market{broker: broker, store: store, now: now, log: log, quotes: make(map[rewards.AssetID]quote)}
}

// Load reads the stored hours and prices. It must be called before the first Refresh.
func (m *Market) Load(ctx context.Context) error {
	text, err := m.store.MarketHours(ctx)
	if err != nil {
		return err
	}
	hours, err := decodeSessions(text)
	if err != nil {
		return fmt.Errorf("cannot read the stored market hours: %w", err)
	}
	m.mu.Lock()
	m.hours = hours
	m.mu.Unlock()
	return m.Reload(ctx)
}

// mergeStored merges stored quotes into memory. An operator's decisions and the units are newest
// in the store; prices may be newer in memory. A price whose units are not known is dropped, until
// the broker reports it again.
func (m *Market) mergeStored(assets []rewards.Asset, stored []rewards.Quote) {
	for i, s := range stored {
		q := m.quotes[assets[i].ID]
		newer := q.ConfirmedAt.Before(s.ConfirmedAt) && !s.FromFuture(m.now())
		if newer && q.Generation <= s.Generation || q.AssetID == 0 || q.Generation < s.Generation {
			q.Quote = s
		}
		if q.Foreign(assets[i].Hold.Units) {
			q.Price, q.TradedAt = 0, time.Time{}
		}
		q.Pending = assets[i].Hold.Units
		q.Accepted, q.doubt, q.symbol = s.Accepted, assets[i].Doubt.Exists(), assets[i].Symbol
		m.quotes[assets[i].ID] = q
	}
}

// Price implements rewards.Prices.
func (m *Market) Price(asset rewards.AssetID, generation int64) (money.Price, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	q := m.quotes[asset]
	if q.Generation != generation || !m.usable(&q, m.now()) {
		return 0, false
	}
	return q.Price, true
}

// Generation implements rewards.Prices.
func (m *Market) Generation(asset rewards.AssetID) int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.quotes[asset].Generation
}

// Reload implements rewards.Prices.
func (m *Market) Reload(ctx context.Context) error {
	assets, stored, err := m.store.QuotedAssets(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mergeStored(assets, stored)
	return nil
}

// usable reports whether the price may be used to value a holding. Its age is that of the wall clock, which goes on
// while the machine sleeps.
func (m *Market) usable(q *quote, now time.Time) bool {
	return q.Price > 0 && !q.doubt && !q.FromFuture(now) &&
		m.hours.openBetween(q.ConfirmedAt.Round(0), now.Round(0)) <= maxAge
}

// LastPrice returns the last price of an asset at any age; zero if unknown.
func (m *Market) LastPrice(asset rewards.AssetID) money.Price {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.quotes[asset].Price
}

// Levels returns the prices to compare a fill with, the newest last: the level that an
// operator confirmed, and the last price at any age. A price in doubt is not among them. It
// returns nil while no price is known.
func (m *Market) Levels(asset rewards.AssetID) []money.Price {
	m.mu.RLock()
	defer m.mu.RUnlock()
	q := m.quotes[asset]
	if q.Price <= 0 {
		return nil
	}
	return []money.Price{q.Accepted, q.Price}
}

// PricedAt returns our time when the broker was last asked for an asset's price and reported one, by whichever process
// asked. The price may be in doubt. It is zero when that is not known.
func (m *Market) PricedAt(asset rewards.AssetID) time.Time {
	m.mu.RLock()
	defer m.mu.RUnlock()
	q := m.quotes[asset]
	if q.ConfirmedAt.After(q.seenAt) && !q.FromFuture(m.now()) {
		return q.ConfirmedAt
	}
	return q.seenAt
}

// OpenSince returns how long the market was open since a moment of our time.
func (m *Market) OpenSince(moment time.Time) time.Duration {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.hours.openBetween(moment.Round(0), m.now().Round(0))
}

// Doubts returns the symbols whose price is in doubt, as last read from the store.
func (m *Market) Doubts() []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var symbols []string
	for _, q := range m.quotes {
		if q.doubt {
			symbols = append(symbols, q.symbol)
		}
	}
	return symbols
}

// Clock returns the market's hours in the broker's time; its Now is the broker's time at this
// moment. It reads the broker's clock again after clockEvery, and when the market has opened
// or closed. While the broker goes on showing the hours from before that, it reads them once in clockLeast. It fails
// when the broker does not answer, and as rewards.MarketClock.Trust does.
func (m *Market) Clock(ctx context.Context) (rewards.MarketClock, error) {
	m.mu.RLock()
	c, at, refused, refusedAt := m.clock, m.clockAt, m.refused, m.refusedAt
	m.mu.RUnlock()
	now := m.now().Round(0) // wall clock: the monotonic clock stops while a machine sleeps
	if age := now.Sub(at); recent(at, now) {
		passed := !c.Now.Before(c.NextChange()) // when it was read
		c.Now = c.Now.Add(age)
		if c.Now.Before(c.NextChange()) || passed && age < clockLeast {
			return c, nil
		}
	}
	if recent(refusedAt, now) {
		return rewards.MarketClock{}, refused
	}
	return m.readClock(ctx, now)
}

// ClockNow reads the broker's clock. It fails as Clock does.
func (m *Market) ClockNow(ctx context.Context) (rewards.MarketClock, error) {
	return m.readClock(ctx, m.now().Round(0))
}

// ClockRefused returns why the last reading of the broker's clock was refused, a
// rewards.ErrClockRefused; nil if it was trusted.
func (m *Market) ClockRefused() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.refused
}

// recent reports whether a reading of the broker's clock at the time at is still valid.
func recent(at, now time.Time) bool {
	age := now.Sub(at)
	return !at.IsZero() && age >= 0 && age < clockEvery
}

// readClock reads the broker's clock and keeps the reading if it is trusted.
func (m *Market) readClock(ctx context.Context, asked time.Time) (rewards.MarketClock, error) {
	c, err := m.broker.Clock(ctx)
	if err != nil {
		return rewards.MarketClock{}, err
	}
	if err := c.Trust(asked, m.now()); err != nil {
		m.mu.Lock()
		m.refused, m.refusedAt = err, asked
		m.mu.Unlock()
		return rewards.MarketClock{}, err
	}
	return c, m.setClock(ctx, c, asked)
}

// setClock keeps a reading. It converts the hours to our own time.
func (m *Market) setClock(ctx context.Context, c rewards.MarketClock, now time.Time) error {
	ahead := c.Now.Sub(now)
	local := rewards.MarketClock{
		Now: now, Open: c.Open, NextOpen: c.NextOpen.Add(-ahead), NextClose: c.NextClose.Add(-ahead),
	}
	m.mu.Lock()
	before := m.hours
	m.hours = m.hours.update(local)
	m.clock, m.clockAt = c, now
	m.refused, m.refusedAt = nil, time.Time{}
	after := m.hours
	m.mu.Unlock()
	if before.same(after) {
		return nil
	}
	text, err := json.Marshal(after)
	if err != nil {
		return err
	}
	return m.store.SaveMarketHours(ctx, string(text))
}

// save stores the prices that differ from the stored ones, and all of them every confirmEvery. A portfolio after a
// restart, or of another process of a fleet, must not show an older price than the one before.
func (m *Market) save(ctx context.Context, stored []rewards.Quote, now time.Time) error {
	m.mu.Lock()
	all := now.Sub(m.saved) >= confirmEvery
	if all {
		m.saved = now
	}
	var quotes []rewards.Quote
	for _, s := range stored {
		q := m.quotes[s.AssetID].Quote
		if q.Price > 0 && (all || q.Price != s.Price || q.Generation != s.Generation) {
			quotes = append(quotes, q)
		}
	}
	m.mu.Unlock()
	if len(quotes) == 0 {
		return nil
	}
	return m.store.SaveQuotes(ctx, quotes)
}

// PriceAge returns the age of the oldest confirmed price, and the number of assets that need
// a price and have no usable one.
func (m *Market) PriceAge() (oldest time.Duration, unusable int) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := m.now()
	for _, q := range m.quotes {
		if q.Price > 0 {
			oldest = max(oldest, now.Round(0).Sub(q.ConfirmedAt.Round(0)))
		}
		if !m.usable(&q, now) {
			unusable++
		}
	}
	return oldest, unusable
}
