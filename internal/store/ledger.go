package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// LedgerReader reads the whole of the books as they were at one moment, row by row.
// It is good only while the function runs that it was given to.
type LedgerReader struct{ tx Tx }

// ReadLedger runs read over one snapshot of the books. Others go on writing, but what
// they write is kept beside the database until read returns.
func (s *Store) ReadLedger(ctx context.Context, read func(context.Context, LedgerReader) error) error {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	return s.engine.Read(ctx, func(ctx context.Context, tx Tx) error { return read(ctx, LedgerReader{tx}) })
}

// ledgerTimeout is how long all of the books may be read.
const ledgerTimeout = 24 * time.Hour

// Apps lists every app, oldest first.
func (s LedgerReader) Apps(ctx context.Context) ([]rewards.App, error) { return queryApps(ctx, s.tx) }

// Assets lists the catalog, stocks that are disabled too.
func (s LedgerReader) Assets(ctx context.Context) ([]rewards.Asset, error) {
	return queryAssets(ctx, s.tx)
}

// Fills tells of every order how much of it was filled.
func (s LedgerReader) Fills(ctx context.Context, each func(rewards.Fill) error) error {
	var first rewards.OrderID
	return s.tx.Query(ctx, func(row Row) error {
		var f rewards.Fill
		err := row.Scan((*int64)(&f.AssetID), (*int)(&f.State), (*int64)(&f.Filled), toTime{&f.SettledAt})
		if err != nil {
			return err
		}
		return each(f)
	}, `SELECT asset_id, state, filled_qty, settled_at FROM orders WHERE id >= ?1`, first[:])
}

// bookingsPage is how many orders are in memory at once.
const bookingsPage = 100

// Bookings tells every settled order with its parts, oldest first.
func (s LedgerReader) Bookings(ctx context.Context, each func(rewards.Booking) error) error {
	var last rewards.OrderID
	for {
		orders, err := queryOrders(ctx, s.tx, `SELECT `+orderColumns+` FROM orders
			WHERE id > ?1 AND state = 6 ORDER BY id LIMIT ?2`, last[:], bookingsPage)
		if err != nil {
			return err
		}
		for _, o := range orders {
			last = o.ID
			parts, err := s.parts(ctx, o.ID)
			if err != nil {
				return err
			}
			if err := each(rewards.Booking{Order: o, Lots: parts}); err != nil {
				return err
			}
		}
		if len(orders) < bookingsPage {
			return nil
		}
	}
}

func (s LedgerReader) parts(ctx context.Context, id rewards.OrderID) (parts []rewards.Lot, err error) {
	err = s.tx.Query(ctx, func(row Row) error {
		var p rewards.Lot
		err := row.Scan(toID(&p.AppID), toID(&p.RewardID), toID(&p.UserID), &p.Failed,
			(*int64)(&p.Bought.Amount), (*int64)(&p.Bought.Shares))
		parts = append(parts, p)
		return err
	}, `SELECT a.app_id, a.reward_id, r.user_id, r.status = 4, a.amount, a.shares
		FROM order_rewards m
		JOIN allocations a ON a.app_id = m.app_id AND a.reward_id = m.reward_id AND a.order_id = m.order_id
		JOIN rewards r ON r.app_id = m.app_id AND r.id = m.reward_id
		WHERE m.order_id = ?1 ORDER BY m.position`, id[:])
	return parts, err
}

// Holdings tells every holding, those of one user together.
func (s LedgerReader) Holdings(ctx context.Context, each func(rewards.UserHolding) error) error {
	return s.eachApp(ctx, func(app rewards.App) error {
		return s.tx.Query(ctx, func(row Row) error {
			h := rewards.UserHolding{AppID: app.ID}
			err := row.Scan(toID(&h.UserID), (*int64)(&h.AssetID), (*int64)(&h.Quantity), (*int64)(&h.CostBasis))
			if err != nil {
				return err
			}
			return each(h)
		}, `SELECT user_id, asset_id, quantity, cost_basis FROM holdings
			WHERE app_id = ?1 ORDER BY user_id, asset_id`, app.ID[:])
	})
}

// Pending tells every reward that is recorded or executing.
func (s LedgerReader) Pending(ctx context.Context, each func(rewards.PendingReward) error) error {
	return s.eachApp(ctx, func(app rewards.App) error {
		for _, status := range []rewards.Status{rewards.Recorded, rewards.Executing} {
			err := s.tx.Query(ctx, func(row Row) error {
				r := rewards.PendingReward{AppID: app.ID, Status: status}
				err := row.Scan(toID(&r.UserID), (*int64)(&r.AssetID), (*int64)(&r.Amount), (*int64)(&r.Booked))
				if err != nil {
					return err
				}
				return each(r)
			}, `SELECT r.user_id, r.asset_id, r.amount, r.booked FROM open_rewards o
				JOIN rewards r ON r.app_id = o.app_id AND r.id = o.id WHERE o.app_id = ?1 AND o.status = ?2`,
				app.ID[:], int(status))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s LedgerReader) eachApp(ctx context.Context, each func(rewards.App) error) error {
	apps, err := s.Apps(ctx)
	if err != nil {
		return err
	}
	for _, app := range apps {
		if err := each(app); err != nil {
			return err
		}
	}
	return nil
}

// Acknowledged lists the orders at the broker that the books do not know and that
// an operator has acknowledged: their shares are the house's. Oldest first.
func (s LedgerReader) Acknowledged(ctx context.Context) ([]rewards.BrokerConflict, error) {
	return queryConflicts(ctx, s.tx, `SELECT `+conflictColumns+` FROM broker_conflicts
		WHERE acknowledged_at > 0 AND filled_qty > 0
		AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.client_order_id = broker_conflicts.client_order_id)
		ORDER BY acknowledged_at, client_order_id`)
}
