package market

import (
	"context"
	"log/slog"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Refresh asks the broker for the prices of all assets that need one, in one
// request, and stores what changed.
func (m *Market) Refresh(ctx context.Context) error {
	assets, stored, err := m.store.QuotedAssets(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.take(assets, stored)
	m.mu.Unlock()
	if len(assets) == 0 {
		return nil
	}
	symbols := make([]string, len(assets))
	for i, a := range assets {
		symbols[i] = a.Symbol
	}
	asked := m.now()
	snapshots, err := m.broker.LatestPrices(ctx, symbols)
	if err != nil {
		return err
	}
	fresh, doubted := m.merge(ctx, assets, snapshots, asked, m.present(ctx, snapshots))
	for id, price := range doubted {
		m.log.WarnContext(ctx, "a price is in doubt", slog.Int64("asset", int64(id)),
			slog.String("price", price.String()))
		if err := m.store.DoubtAsset(ctx, id, price); err != nil {
			return err
		}
	}
	return m.save(ctx, fresh, asked)
}

// present is the broker's time by which trades are judged: its last reading that was
// trusted, carried on by our own clock; our own clock without one. A clock that was set
// on purpose may run at any pace, so it is read again before a trade is ignored by it.
func (m *Market) present(ctx context.Context, snapshots map[string]rewards.BrokerPrice) time.Time {
	m.mu.RLock()
	c, at, refused := m.clock, m.clockAt, m.refused
	m.mu.RUnlock()
	now := m.now().Round(0)
	if at.IsZero() || refused != nil {
		return now
	}
	present := c.Now.Add(now.Sub(at))
	if !c.Simulated || !anyFuture(snapshots, present) {
		return present
	}
	if c, err := m.readClock(ctx, now); err == nil {
		return c.Now
	}
	return present
}

func anyFuture(snapshots map[string]rewards.BrokerPrice, present time.Time) bool {
	for _, s := range snapshots {
		if rewards.FutureTrade(s.TradedAt, present) {
			return true
		}
	}
	return false
}

// merge takes the broker's prices. It returns whether an asset got its first one, and
// the prices that cannot be believed.
func (m *Market) merge(
	ctx context.Context, assets []rewards.Asset, snapshots map[string]rewards.BrokerPrice, asked, present time.Time,
) (fresh bool, doubted map[rewards.AssetID]money.Price) {
	m.mu.Lock()
	defer m.mu.Unlock()
	doubted = make(map[rewards.AssetID]money.Price)
	for _, a := range assets {
		s, told := snapshots[a.Symbol]
		q := m.quotes[a.ID]
		if !told || q.doubt {
			continue
		}
		turned := q.hold.InForce(s.TradedAt) // it is of the new units
		take := q.Update
		if turned || q.held(present) {
			take = q.UpdateHeld
		}
		read, verdict := take(s, asked, present)
		fresh = fresh || q.Price == 0 && read.Price != 0 || turned && !q.hold.InForce(q.TradedAt)
		if verdict == rewards.PriceInDoubt {
			doubted[a.ID] = s.Price
		}
		if verdict == rewards.PriceFromFuture && !q.future {
			m.log.WarnContext(ctx, "ignoring a trade of the future", slog.String("symbol", a.Symbol),
				slog.Time("trade", s.TradedAt), slog.Time("broker", present))
		}
		q.Quote, q.doubt, q.future = read, verdict == rewards.PriceInDoubt, verdict == rewards.PriceFromFuture
		m.quotes[a.ID] = q
	}
	return fresh, doubted
}
