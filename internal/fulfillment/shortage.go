package fulfillment

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// watchShortages raises the alarm for shares that the house owes, and notes since when.
func (w *Worker) watchShortages(ctx context.Context, clock rewards.MarketClock, known bool) error {
	for i, s := range w.actions.shortages {
		w.alarms.raise(rewards.AlarmHouseOwes+s.Asset.Symbol, "the house owes "+s.Owed.String()+" shares of "+
			s.Asset.Symbol+" to users; it buys them with the next order of the stock, or alone after a session")
		if !known || !s.Since.IsZero() {
			continue
		}
		w.actions.shortages[i].Since = clock.Now
		if err := w.store.MarkShort(ctx, w.lease, s.Asset.ID, clock.Now); err != nil {
			return err
		}
	}
	return nil
}

// planHouse orders the shares that the house owes for longer than a session, of stocks without an
// award that waits.
func (w *Worker) planHouse(
	ctx context.Context, pools []rewards.Pool, live []rewards.Order, clock rewards.MarketClock,
) error {
	for _, s := range w.actions.shortages {
		busy := !s.Alone(clock.Now) || w.actions.sweeps(s.Asset.ID) || s.Asset.HoldAt(clock.Now) != rewards.NoHold
		for _, p := range pools {
			busy = busy || p.Asset.ID == s.Asset.ID
		}
		for _, o := range live {
			busy = busy || o.AssetID == s.Asset.ID
		}
		if busy || !w.ready() {
			continue
		}
		if _, err := w.planOne(ctx, rewards.Pool{Asset: s.Asset, HouseAlone: true}, clock); err != nil {
			return err
		}
		w.actions.openAt = time.Time{}
	}
	return nil
}
