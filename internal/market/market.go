// Package market knows the latest prices, with their age and their sanity. It
// promises that a price is the last trade the broker told of, that it is not
// offered when the broker has not stood by it for a minute of open market or when
// it jumped too far, and that what the broker says is treated as untrusted input.
package market

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Broker tells prices and hours.
type Broker interface {
	// LatestPrices tells the latest of each symbol in one request. A symbol without a
	// usable price is missing in the answer.
	LatestPrices(ctx context.Context, symbols []string) (map[string]rewards.BrokerPrice, error)
	// Clock tells the market's hours.
	Clock(ctx context.Context) (rewards.MarketClock, error)
}

// Store keeps prices and hours, so that a restart in an outage still answers.
type Store interface {
	// QuotedAssets lists the assets whose prices are needed and what is stored of them.
	QuotedAssets(ctx context.Context) ([]rewards.Asset, []rewards.Quote, error)
	// SaveQuotes stores prices.
	SaveQuotes(ctx context.Context, quotes []rewards.Quote) error
	// DoubtAsset stops ordering and valuing an asset because of a price.
	DoubtAsset(ctx context.Context, id rewards.AssetID, price money.Price) error
	// MarketHours reads what SaveMarketHours stored; "" when nothing.
	MarketHours(ctx context.Context) (string, error)
	// SaveMarketHours stores the market's hours.
	SaveMarketHours(ctx context.Context, hours string) error
}

const (
	// maxAge is how long, counted in open market, a price holds that the broker has
	// not confirmed.
	maxAge = time.Minute
	// saveEvery is how often the prices are stored.
	saveEvery = 15 * time.Second
	// clockEvery is how often the broker's clock is read.
	clockEvery = 5 * time.Second
)

// Market is the latest prices. It is safe for concurrent use.
type Market struct {
	broker Broker
	store  Store
	now    func() time.Time
	log    *slog.Logger

	mu       sync.RWMutex
	quotes   map[rewards.AssetID]quote
	hours    sessions
	clock    rewards.MarketClock // the last reading
	clockAt  time.Time           // ours, when it was read; zero: never
	refused  error               // why the reading at refusedAt is not trusted
	lastSave time.Time

	refusedAt time.Time // ours; zero: never
}

type quote struct {
	rewards.Quote
	symbol string
	doubt  bool
	future bool // the last snapshot's trade was in the future
	hold   rewards.ActionHold
}

// held tells whether a corporate action holds the stock: it has begun by the broker's
// clock, or the last trade is of the new units.
func (q quote) held(brokerNow time.Time) bool {
	return q.hold.InForce(brokerNow) || q.hold.InForce(q.TradedAt)
}

// New makes a market that knows no price before its first Refresh.
func New(broker Broker, store Store, now func() time.Time, log *slog.Logger) *Market {
	return &Market{broker: broker, store: store, now: now, log: log, quotes: make(map[rewards.AssetID]quote)}
}

// Load takes over what is stored; call it before the first Refresh.
func (m *Market) Load(ctx context.Context) error {
	text, err := m.store.MarketHours(ctx)
	if err != nil {
		return err
	}
	hours, err := decodeSessions(text)
	if err != nil {
		return fmt.Errorf("market: stored hours: %w", err)
	}
	assets, quotes, err := m.store.QuotedAssets(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hours = hours
	m.take(assets, quotes)
	return nil
}

// take merges what is stored into what is known: the operator's words are in the
// store, the newest price is in memory.
func (m *Market) take(assets []rewards.Asset, stored []rewards.Quote) {
	for i, s := range stored {
		q := m.quotes[assets[i].ID]
		newer := q.ConfirmedAt.Before(s.ConfirmedAt) && !s.FromFuture(m.now())
		if newer || q.AssetID == 0 {
			q.Quote = s
		}
		q.Accepted, q.doubt, q.symbol = s.Accepted, assets[i].Doubt.Exists(), assets[i].Symbol
		q.hold = assets[i].Hold
		m.quotes[assets[i].ID] = q
	}
}

// Price implements rewards.Prices.
func (m *Market) Price(asset rewards.AssetID) (money.Price, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	q := m.quotes[asset]
	if !m.usable(q, m.now()) {
		return 0, false
	}
	return q.Price, true
}

// usable tells whether a price may be used to value a holding.
func (m *Market) usable(q quote, now time.Time) bool {
	if q.held(m.brokerNow(now)) {
		return false
	}
	return q.Price > 0 && !q.doubt && !q.FromFuture(now) && m.hours.openBetween(q.ConfirmedAt, now) <= maxAge
}

// brokerNow is the broker's time at a moment of ours, as far as is known.
func (m *Market) brokerNow(now time.Time) time.Time {
	if m.clockAt.IsZero() {
		return now
	}
	return m.clock.Now.Add(now.Round(0).Sub(m.clockAt))
}

// LastPrice is the last price of an asset whatever its age; zero when none is known.
func (m *Market) LastPrice(asset rewards.AssetID) money.Price {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.quotes[asset].Price
}

// Levels are what a fill's price is compared with, the newest last: the level that an
// operator confirmed and the last price, whatever its age. A price in doubt is not
// among them. There are none while no price is known.
func (m *Market) Levels(asset rewards.AssetID) []money.Price {
	m.mu.RLock()
	defer m.mu.RUnlock()
	q := m.quotes[asset]
	if q.Price <= 0 {
		return nil
	}
	return []money.Price{q.Accepted, q.Price}
}

// Doubts lists the symbols whose price is in doubt, as last read from the store.
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

// Clock is the market's hours in the broker's own time, from a reading that is at
// most a few seconds old and not from before the session's turn. Now is the
// broker's time at this moment. It fails when the broker does not tell, and with
// rewards.ErrClockRefused when its clock is too far from ours.
func (m *Market) Clock(ctx context.Context) (rewards.MarketClock, error) {
	m.mu.RLock()
	c, at, refused, refusedAt := m.clock, m.clockAt, m.refused, m.refusedAt
	m.mu.RUnlock()
	now := m.now().Round(0) // the wall clock: the monotonic one stops while a machine sleeps
	if age := now.Sub(at); recent(at, now) {
		c.Now = c.Now.Add(age)
		if turn := c.NextChange(); c.Now.Before(turn) {
			return c, nil
		}
	}
	if recent(refusedAt, now) {
		return rewards.MarketClock{}, refused
	}
	return m.readClock(ctx, now)
}

// ClockRefused is why the last reading of the broker's clock was refused, an error that
// is rewards.ErrClockRefused; nil when it was not.
func (m *Market) ClockRefused() error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.refused
}

// recent reports whether a reading of the broker's clock made at a moment still counts.
func recent(at, now time.Time) bool {
	age := now.Sub(at)
	return !at.IsZero() && age >= 0 && age < clockEvery
}

// readClock asks the broker and takes its answer over when it can be trusted.
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

// setClock remembers a reading; the hours are kept in our own time.
func (m *Market) setClock(ctx context.Context, c rewards.MarketClock, now time.Time) error {
	ahead := c.Now.Sub(now)
	local := rewards.MarketClock{
		Now: now, Open: c.Open, NextOpen: c.NextOpen.Add(-ahead), NextClose: c.NextClose.Add(-ahead),
	}
	m.mu.Lock()
	before := m.hours
	m.hours = m.hours.learn(local)
	m.clock, m.clockAt = c, now
	m.refused, m.refusedAt = nil, time.Time{}
	after := m.hours
	m.mu.Unlock()
	if before.near(after) {
		return nil
	}
	text, err := after.encode()
	if err != nil {
		return err
	}
	return m.store.SaveMarketHours(ctx, text)
}

// save stores the prices from time to time, and at once when an asset got its first
// one, or its first one of new units: a restart in an outage still answers, and an
// operator who resumes accepts what is stored.
func (m *Market) save(ctx context.Context, fresh bool, now time.Time) error {
	m.mu.Lock()
	if !fresh && now.Sub(m.lastSave) < saveEvery {
		m.mu.Unlock()
		return nil
	}
	m.lastSave = now
	quotes := make([]rewards.Quote, 0, len(m.quotes))
	for _, q := range m.quotes {
		if q.Price > 0 {
			quotes = append(quotes, q.Quote)
		}
	}
	m.mu.Unlock()
	return m.store.SaveQuotes(ctx, quotes)
}

// PriceAge is the age of the oldest price that the broker has confirmed, and how
// many assets have a price that is needed but cannot be used now.
func (m *Market) PriceAge() (oldest time.Duration, unusable int) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := m.now()
	for _, q := range m.quotes {
		if q.Price > 0 {
			oldest = max(oldest, now.Sub(q.ConfirmedAt))
		}
		if !m.usable(q, now) {
			unusable++
		}
	}
	return oldest, unusable
}
