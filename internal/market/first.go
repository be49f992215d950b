package market

import (
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// firstTradesKept is the number of days of which the first trade of a stock is kept. A later trade divides a spin-off
// that waits longer.
const firstTradesKept = 10

// addFirst adds a reported trade to the first trades of days, oldest first, if it is the first one since opened, when
// the regular trading of its day began. It leaves the list that it gets as it is: others may read it.
func addFirst(list []rewards.BrokerPrice, s rewards.BrokerPrice, opened, present time.Time) []rewards.BrokerPrice {
	known := len(list) > 0 && !list[len(list)-1].TradedAt.Before(opened)
	if known || s.TradedAt.Before(opened) || rewards.FutureTrade(s.TradedAt, present) {
		return list
	}
	return append(list[max(0, len(list)+1-firstTradesKept):len(list):len(list)], s)
}

// FirstTrade returns the price of the first trade at the broker's time from or later that this process has seen, in the
// broker's units, and its time; otherwise 0. It is the first one of its day that was reported after 09:30 New York, or
// the last one, reported before this process began.
func (m *Market) FirstTrade(asset rewards.AssetID, from time.Time) (money.Price, time.Time) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	q := m.quotes[asset]
	for _, s := range append(q.firsts[:len(q.firsts):len(q.firsts)], q.seen) {
		if !s.TradedAt.Before(from) {
			return s.Price, s.TradedAt
		}
	}
	return 0, time.Time{}
}
