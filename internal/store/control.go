package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// Control returns what stops ordering, if anything.
func (s *Store) Control(ctx context.Context) (rewards.Control, error) {
	return read(ctx, s, control)
}

func control(ctx context.Context, tx Tx) (c rewards.Control, err error) {
	if c.Paused, err = setting(ctx, tx, settingPaused); err != nil {
		return c, err
	}
	_, err = fetchValues(ctx, tx, []any{&c.Conflicts},
		`SELECT count(*) FROM broker_conflicts WHERE acknowledged_at = 0`)
	return c, err
}

// SetPaused stops planning and sending orders until the reason is set to "". Orders at the
// broker are still polled and booked.
func (o *Operator) SetPaused(ctx context.Context, reason string) error {
	why := reason
	if why == "" {
		why = o.by.Reason
	}
	return o.changeFor(ctx, why, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		before, err := setting(ctx, tx, settingPaused)
		if err != nil {
			return nil, err
		}
		return []rewards.Change{{
			Object: rewards.ObjectOrdering, Before: rewards.PausedState(before), After: rewards.PausedState(reason),
		}}, setSetting(ctx, tx, settingPaused, reason)
	})
}

// Alarms lists the raised alarms by name.
func (s *Store) Alarms(ctx context.Context) ([]rewards.Alarm, error) {
	return readAll(ctx, s, func(row Row) (a rewards.Alarm, err error) {
		err = row.Scan(&a.Name, &a.Message, toTime{&a.Since})
		return a, err
	}, `SELECT name, message, since FROM alarms ORDER BY name`)
}

const (
	raiseAlarm = `INSERT INTO alarms (name, message, since) VALUES (?1, ?2, ?3)
		ON CONFLICT (name) DO UPDATE SET message = excluded.message`
	clearAlarm = `DELETE FROM alarms WHERE name = ?1`
)

// RaiseAlarm stores an alarm. An alarm of that name gets the new message and keeps its time.
func (s *Store) RaiseAlarm(ctx context.Context, name, message string) error {
	return s.exec(ctx, raiseAlarm, name, message, micros(s.now()))
}

// ClearAlarm ends an alarm, if it is raised.
func (s *Store) ClearAlarm(ctx context.Context, name string) error {
	return s.exec(ctx, clearAlarm, name)
}

// SaveAlarms raises alarms of the leader as RaiseAlarm does, and ends others. It fails with ErrLostLease.
func (s *Store) SaveAlarms(ctx context.Context, l rewards.Lease, raised []rewards.Alarm, ended []string) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		for _, a := range raised {
			if _, err := tx.Exec(ctx, raiseAlarm, a.Name, a.Message, micros(s.now())); err != nil {
				return err
			}
		}
		for _, name := range ended {
			if _, err := tx.Exec(ctx, clearAlarm, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Conflicts lists the broker's orders that contradict the store, oldest first, acknowledged
// ones included.
func (s *Store) Conflicts(ctx context.Context) ([]rewards.BrokerConflict, error) {
	return readAll(ctx, s, scanConflict, `SELECT `+conflictColumns+` FROM broker_conflicts
		ORDER BY found_at, client_order_id`)
}

const conflictColumns = `client_order_id, symbol, filled_qty, detail, found_at, acknowledged_at, reason`

func scanConflict(row Row) (c rewards.BrokerConflict, err error) {
	err = row.Scan(&c.ClientOrderID, &c.Symbol, (*int64)(&c.FilledQty), &c.Detail, toTime{&c.FoundAt},
		toTime{&c.AcknowledgedAt}, &c.Reason)
	return c, err
}

// SaveReconciliation stores the conflicts between the broker's orders and the store, and the
// moment up to which orders were compared. A conflict that was acknowledged with the same
// filled quantity stays acknowledged. It fails with ErrLostLease: since then another leader may have booked
// what this one found missing.
func (s *Store) SaveReconciliation(
	ctx context.Context, l rewards.Lease, found []rewards.BrokerConflict, until time.Time,
) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		for _, c := range found {
			before, err := conflictOf(ctx, tx, c.ClientOrderID)
			if err == nil && !before.AcknowledgedAt.IsZero() && before.FilledQty != c.FilledQty {
				err = acceptShares(ctx, tx, before, -1)
			}
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `INSERT INTO broker_conflicts
				(client_order_id, symbol, filled_qty, detail, found_at) VALUES (?1, ?2, ?3, ?4, ?5)
				ON CONFLICT (client_order_id) DO UPDATE SET filled_qty = excluded.filled_qty,
				detail = excluded.detail, found_at = excluded.found_at, acknowledged_at = 0, reason = ''
				WHERE broker_conflicts.filled_qty <> excluded.filled_qty`,
				c.ClientOrderID, c.Symbol, int64(c.FilledQty), c.Detail, micros(s.now())); err != nil {
				return err
			}
		}
		return setSetting(ctx, tx, settingReconciled, until.UTC().Format(time.RFC3339Nano))
	})
}

// ReconciledUntil is the moment up to which the broker's orders were compared with the
// store; zero when they never were.
func (s *Store) ReconciledUntil(ctx context.Context) (time.Time, error) {
	value, err := s.readSetting(ctx, settingReconciled)
	if err != nil || value == "" {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339Nano, value)
}

// AcknowledgeConflict records that an operator has dealt with a conflict: the broker's position may differ from
// ours by what was bought. It fails with CodeNotFound.
func (o *Operator) AcknowledgeConflict(ctx context.Context, clientOrderID, reason string) error {
	return o.changeFor(ctx, reason, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		c, err := conflictOf(ctx, tx, clientOrderID)
		if err == nil && c.AcknowledgedAt.IsZero() {
			err = acceptShares(ctx, tx, c, 1)
		}
		if err != nil {
			return nil, err
		}
		acknowledged := rewards.ConflictAcknowledged(clientOrderID)
		return []rewards.Change{acknowledged}, acknowledge(ctx, tx, clientOrderID, reason, o.now())
	})
}

// conflictOf returns the conflict of an order; the zero value without one.
func conflictOf(ctx context.Context, tx Tx, clientOrderID string) (rewards.BrokerConflict, error) {
	c, _, err := fetchOne(ctx, tx, scanConflict, `SELECT `+conflictColumns+` FROM broker_conflicts
		WHERE client_order_id = ?1`, clientOrderID)
	return c, err
}

// acceptShares adds to the difference that is accepted between the broker's position and ours what the broker bought by
// an order beyond what is booked, or takes it back (sign -1).
func acceptShares(ctx context.Context, tx Tx, c rewards.BrokerConflict, sign int64) error {
	known, _, err := fetchOne(ctx, tx, scanOrder,
		`SELECT `+orderColumns+` FROM orders WHERE client_order_id = ?1`, c.ClientOrderID)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO positions (asset_id, booked, differs, accepted)
		SELECT id, 0, 0, ?2 FROM assets WHERE symbol = ?1
		ON CONFLICT (asset_id) DO UPDATE SET accepted = positions.accepted + excluded.accepted`,
		c.Symbol, sign*int64(c.FilledQty-known.Corrected))
	return err
}

func acknowledge(ctx context.Context, tx Tx, clientOrderID, reason string, now time.Time) error {
	n, err := tx.Exec(ctx, `UPDATE broker_conflicts SET acknowledged_at = ?2, reason = ?3
		WHERE client_order_id = ?1`, clientOrderID, micros(now), reason)
	if err == nil && n == 0 {
		err = notFound("no conflict with that client order id")
	}
	return err
}

// MarketHours returns what SaveMarketHours stored last, or "".
func (s *Store) MarketHours(ctx context.Context) (string, error) {
	return s.readSetting(ctx, settingMarketHours)
}

// SaveMarketHours stores the market's hours as package market encodes them.
func (s *Store) SaveMarketHours(ctx context.Context, hours string) error {
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		return setSetting(ctx, tx, settingMarketHours, hours)
	})
}
