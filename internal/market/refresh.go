package market

import (
	"context"
	"log/slog"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Refresh reads the prices of all assets that need one, in one request to the broker, and
// stores them.
func (m *Market) Refresh(ctx context.Context) error {
	assets, stored, err := m.store.QuotedAssets(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.mergeStored(assets, stored)
	m.mu.Unlock()
	if len(assets) == 0 {
		return nil
	}
	symbols := make([]string, len(assets))
	for i, a := range assets {
		symbols[i] = a.Symbol
	}
	asked := m.now()
	prices, err := m.broker.LatestPrices(ctx, symbols)
	if err != nil {
		return err
	}
	doubted := m.merge(ctx, assets, prices, asked, m.present(ctx, prices))
	for id, price := range doubted {
		m.log.WarnContext(ctx, "a price is in doubt", slog.Int64("asset", int64(id)),
			slog.String("price", price.String()))
		if err := m.store.DoubtAsset(ctx, id, price); err != nil {
			return err
		}
	}
	return m.save(ctx, stored, asked)
}

// present returns the broker's time for judging trades: the last trusted reading plus the
// time since, or our time without one. A simulated clock may run at any speed, so it is read
// again before a trade counts as in the future.
func (m *Market) present(ctx context.Context, prices map[string]rewards.BrokerPrice) time.Time {
	m.mu.RLock()
	c, at, refused := m.clock, m.clockAt, m.refused
	m.mu.RUnlock()
	now := m.now().Round(0)
	if at.IsZero() || refused != nil {
		return now
	}
	present := c.Now.Add(now.Sub(at))
	if !c.Simulated || !anyFuture(prices, present) {
		return present
	}
	if c, err := m.readClock(ctx, now); err == nil {
		return c.Now
	}
	return present
}

func anyFuture(prices map[string]rewards.BrokerPrice, present time.Time) bool {
	for _, s := range prices {
		if rewards.FutureTrade(s.TradedAt, present) {
			return true
		}
	}
	return false
}

// merge merges the broker's prices into memory, each in its asset's units. It returns which prices are in doubt.
func (m *Market) merge(
	ctx context.Context, assets []rewards.Asset, prices map[string]rewards.BrokerPrice, asked, present time.Time,
) (doubted map[rewards.AssetID]money.Price) {
	m.mu.Lock()
	defer m.mu.Unlock()
	doubted = make(map[rewards.AssetID]money.Price)
	opened := rewards.DateOf(present).Open()
	for _, a := range assets {
		s, found := prices[a.Symbol]
		q := m.quotes[a.ID]
		if !found {
			continue
		}
		q.seen, q.firsts = s, addFirst(q.firsts, s, opened, present)
		if !rewards.FutureTrade(s.TradedAt, present) {
			q.seenAt = asked
		}
		m.quotes[a.ID] = q
		converted, known := s.InUnitsOf(a)
		if s = converted; !known || q.doubt || q.Generation != a.Generation || q.Pending != a.Hold.Units {
			continue
		}
		updated, verdict := q.Update(s, asked, present)
		if verdict == rewards.PriceInDoubt {
			doubted[a.ID] = s.Price
		}
		if verdict == rewards.PriceFromFuture && !q.future {
			m.log.WarnContext(ctx, "ignoring a trade in the future", slog.String("symbol", a.Symbol),
				slog.Time("trade", s.TradedAt), slog.Time("broker", present))
		}
		q.Quote, q.doubt, q.future = updated, verdict == rewards.PriceInDoubt, verdict == rewards.PriceFromFuture
		m.quotes[a.ID] = q
	}
	return doubted
}
