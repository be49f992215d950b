package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// LedgerReader reads the whole store as of one moment, row by row. It is valid only inside
// the function that it is passed to.
type LedgerReader struct{ tx Tx }

// ReadLedger runs f over one snapshot of the store. Writes go on meanwhile; the database keeps
// the old rows beside them until f returns.
func (s *Store) ReadLedger(ctx context.Context, f func(context.Context, LedgerReader) error) error {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	return s.engine.Read(ctx, func(ctx context.Context, tx Tx) error { return f(ctx, LedgerReader{tx}) })
}

// ledgerTimeout bounds ReadLedger.
const ledgerTimeout = 24 * time.Hour

// Apps lists every app, oldest first.
func (l LedgerReader) Apps(ctx context.Context) ([]rewards.App, error) { return queryApps(ctx, l.tx) }

// Assets lists the catalog, disabled assets included.
func (l LedgerReader) Assets(ctx context.Context) ([]rewards.Asset, error) {
	return queryAssets(ctx, l.tx)
}

// Fills calls each with the fill of every order.
func (l LedgerReader) Fills(ctx context.Context, each func(rewards.Fill) error) error {
	var first rewards.OrderID
	return fetchEach(ctx, l.tx, func(row Row) (f rewards.Fill, err error) {
		err = row.Scan((*int64)(&f.AssetID), (*int)(&f.State), (*int64)(&f.Filled), toTime{&f.SettledAt})
		return f, err
	}, each, `SELECT asset_id, state, filled_qty, settled_at FROM orders WHERE id >= ?1`, first[:])
}

// bookingsPage is how many orders Bookings holds in memory.
const bookingsPage = 100

// Bookings calls each with every settled order and its lots, oldest first.
func (l LedgerReader) Bookings(ctx context.Context, each func(rewards.Booking) error) error {
	var last rewards.OrderID
	for {
		orders, err := fetchAll(ctx, l.tx, scanOrder, `SELECT `+orderColumns+` FROM orders
			WHERE id > ?1 AND state = `+settled+` ORDER BY id LIMIT ?2 + 0`, last[:], bookingsPage)
		if err != nil {
			return err
		}
		for _, o := range orders {
			last = o.ID
			lots, err := l.lots(ctx, o.ID)
			if err != nil {
				return err
			}
			if err := each(rewards.Booking{Order: o, Lots: lots}); err != nil {
				return err
			}
		}
		if len(orders) < bookingsPage {
			return nil
		}
	}
}

func (l LedgerReader) lots(ctx context.Context, id rewards.OrderID) ([]rewards.Lot, error) {
	return fetchAll(ctx, l.tx, func(row Row) (lot rewards.Lot, err error) {
		err = row.Scan(toID(&lot.AppID), toID(&lot.RewardID), toID(&lot.UserID), &lot.Failed,
			(*int64)(&lot.Bought.Amount), (*int64)(&lot.Bought.Shares))
		return lot, err
	}, `SELECT app_id, reward_id, user_id, status = `+failed+`, bought, shares FROM order_members
		WHERE order_id = ?1 AND bought > 0 ORDER BY position`, id[:])
}

// Holdings calls each with every holding, those of one user together.
func (l LedgerReader) Holdings(ctx context.Context, each func(rewards.UserHolding) error) error {
	return l.eachApp(ctx, func(app rewards.App) error {
		return fetchEach(ctx, l.tx, func(row Row) (rewards.UserHolding, error) {
			h := rewards.UserHolding{AppID: app.ID}
			err := row.Scan(toID(&h.UserID), (*int64)(&h.AssetID), (*int64)(&h.Quantity), (*int64)(&h.CostBasis),
				(*int64)(&h.Moved))
			return h, err
		}, each, `SELECT h.user_id, h.asset_id, h.quantity, h.cost_basis, coalesce(m.moved, 0) - coalesce(k.basis, 0)
			FROM holdings h
			LEFT JOIN (SELECT e.user_id, e.asset_id, CAST(sum(e.basis_after - e.basis_before) AS bigint) AS moved
				FROM effects e WHERE e.app_id = ?1 AND e.switch IN (SELECT number FROM switches
					WHERE target_id <> 0 OR basis_ends = 1 OR undoes <> 0)
				GROUP BY e.user_id, e.asset_id) m ON m.user_id = h.user_id AND m.asset_id = h.asset_id
			LEFT JOIN (SELECT v.user_id, t.asset_id, CAST(sum(t.basis) AS bigint) AS basis FROM takings t
				JOIN reversals v ON v.app_id = t.app_id AND v.id = t.reversal_id WHERE t.app_id = ?1
				GROUP BY v.user_id, t.asset_id) k ON k.user_id = h.user_id AND k.asset_id = h.asset_id
			WHERE h.app_id = ?1 ORDER BY h.user_id, h.asset_id`, app.ID[:])
	})
}

// Takings calls each with what reversals took, by app and reversal.
func (l LedgerReader) Takings(ctx context.Context, each func(rewards.UserTaking) error) error {
	return l.eachApp(ctx, func(app rewards.App) error {
		return fetchEach(ctx, l.tx, func(row Row) (rewards.UserTaking, error) {
			k := rewards.UserTaking{AppID: app.ID}
			err := row.Scan(toID(&k.UserID), toID(&k.ReversalID), &k.After, toTime{&k.At}, (*int64)(&k.AssetID),
				(*int64)(&k.Quantity), (*int64)(&k.Basis))
			return k, err
		}, each, `SELECT v.user_id, v.id, v.after_switch, v.completed_at, t.asset_id, t.quantity, t.basis
			FROM takings t CROSS JOIN reversals v WHERE t.app_id = ?1 AND v.app_id = t.app_id AND v.id = t.reversal_id
			ORDER BY t.app_id, t.reversal_id, t.asset_id`, app.ID[:])
	})
}

// Pending calls each with every reward that is recorded or executing.
func (l LedgerReader) Pending(ctx context.Context, each func(rewards.PendingReward) error) error {
	return l.eachApp(ctx, func(app rewards.App) error {
		for _, status := range []rewards.Status{rewards.Recorded, rewards.Executing} {
			err := fetchEach(ctx, l.tx, func(row Row) (rewards.PendingReward, error) {
				r := rewards.PendingReward{AppID: app.ID, Status: status}
				err := row.Scan(toID(&r.UserID), (*int64)(&r.AssetID), (*int64)(&r.Amount), (*int64)(&r.Booked))
				return r, err
			}, each, `SELECT r.user_id, r.asset_id, r.amount, r.booked FROM open_rewards o
				JOIN rewards r ON r.app_id = o.app_id AND r.id = o.id WHERE o.app_id = ?1 AND o.status = ?2
				UNION ALL SELECT r.user_id, r.asset_id, r.amount, r.booked FROM arrivals o
				JOIN rewards r ON r.app_id = o.app_id AND r.id = o.id WHERE o.app_id = ?1 AND o.status = ?2`,
				app.ID[:], int(status))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (l LedgerReader) eachApp(ctx context.Context, each func(rewards.App) error) error {
	apps, err := l.Apps(ctx)
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

// Acknowledged lists the acknowledged conflicts over filled orders that the store does not
// know, oldest first. Their shares belong to the house.
func (l LedgerReader) Acknowledged(ctx context.Context) ([]rewards.AcknowledgedOrder, error) {
	// The stock may have another symbol now: then an action changed it since.
	const asset = `coalesce((SELECT w.asset_id FROM actions a JOIN switches w ON w.action_id = a.id
		WHERE a.symbol = broker_conflicts.symbol AND w.at >= acknowledged_at ORDER BY w.number LIMIT 1),
		(SELECT s.id FROM assets s WHERE s.symbol = broker_conflicts.symbol), 0)`
	return fetchAll(ctx, l.tx, func(row Row) (o rewards.AcknowledgedOrder, err error) {
		o.BrokerConflict, err = scanConflict(suffixed{row, []any{(*int64)(&o.AssetID)}})
		return o, err
	}, `SELECT `+conflictColumns+`, `+asset+` FROM broker_conflicts
		WHERE acknowledged_at > 0 AND filled_qty > 0
		AND NOT EXISTS (SELECT 1 FROM orders o WHERE o.client_order_id = broker_conflicts.client_order_id)
		ORDER BY acknowledged_at, client_order_id`)
}
