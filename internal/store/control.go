package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// Control reads whether ordering is stopped, and why.
func (s *Store) Control(ctx context.Context) (rewards.Control, error) {
	var c rewards.Control
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) (err error) {
		if c.Paused, err = setting(ctx, tx, settingPaused); err != nil {
			return err
		}
		_, err = one(ctx, tx, []any{&c.Conflicts}, `SELECT count(*) FROM broker_conflicts WHERE acknowledged_at = 0`)
		return err
	})
	return c, err
}

// SetPaused stops ordering until it is set to "": nothing is planned and nothing
// is sent. What the broker has is still followed and booked.
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

// Alarms lists what an operator should look at, by name.
func (s *Store) Alarms(ctx context.Context) ([]rewards.Alarm, error) {
	var alarms []rewards.Alarm
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		return tx.Query(ctx, func(row Row) error {
			var a rewards.Alarm
			err := row.Scan(&a.Name, &a.Message, toTime{&a.Since})
			alarms = append(alarms, a)
			return err
		}, `SELECT name, message, since FROM alarms ORDER BY name`)
	})
	return alarms, err
}

// RaiseAlarm stores an alarm; one of that name keeps the time since when it stands.
func (s *Store) RaiseAlarm(ctx context.Context, name, message string) error {
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO alarms (name, message, since) VALUES (?1, ?2, ?3)
			ON CONFLICT (name) DO UPDATE SET message = excluded.message`, name, message, micros(s.now()))
		return err
	})
}

// ClearAlarm ends an alarm; one that does not stand is no error.
func (s *Store) ClearAlarm(ctx context.Context, name string) error {
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM alarms WHERE name = ?1`, name)
		return err
	})
}

// Conflicts lists the orders at the broker that contradict our books, oldest
// first, acknowledged ones included.
func (s *Store) Conflicts(ctx context.Context) (list []rewards.BrokerConflict, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		list, err = queryConflicts(ctx, tx, `SELECT `+conflictColumns+` FROM broker_conflicts
			ORDER BY found_at, client_order_id`)
		return err
	})
	return list, err
}

const conflictColumns = `client_order_id, symbol, filled_qty, detail, found_at, acknowledged_at, reason`

func queryConflicts(ctx context.Context, tx Tx, query string) (list []rewards.BrokerConflict, err error) {
	err = tx.Query(ctx, func(row Row) error {
		var c rewards.BrokerConflict
		err := row.Scan(&c.ClientOrderID, &c.Symbol, (*int64)(&c.FilledQty), &c.Detail, toTime{&c.FoundAt},
			toTime{&c.AcknowledgedAt}, &c.Reason)
		list = append(list, c)
		return err
	}, query)
	return list, err
}

// SaveReconciliation stores the outcome of comparing the broker's orders with our
// books: the conflicts found, and the moment up to which all were compared. A
// conflict that was acknowledged with the same quantity stays acknowledged.
func (s *Store) SaveReconciliation(ctx context.Context, found []rewards.BrokerConflict, until time.Time) error {
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		for _, c := range found {
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

// ReconciledUntil is the moment up to which the broker's orders were compared with
// our books; zero when they never were.
func (s *Store) ReconciledUntil(ctx context.Context) (until time.Time, err error) {
	var text string
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		text, err = setting(ctx, tx, settingReconciled)
		return err
	})
	if err != nil || text == "" {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339Nano, text)
}

// AcknowledgeConflict records that an operator has dealt with an order at the
// broker that contradicts our books. It fails with CodeNotFound.
func (o *Operator) AcknowledgeConflict(ctx context.Context, clientOrderID, reason string) error {
	return o.changeFor(ctx, reason, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		acknowledged := rewards.ConflictAcknowledged(clientOrderID)
		return []rewards.Change{acknowledged}, acknowledge(ctx, tx, clientOrderID, reason, o.now())
	})
}

func acknowledge(ctx context.Context, tx Tx, clientOrderID, reason string, now time.Time) error {
	n, err := tx.Exec(ctx, `UPDATE broker_conflicts SET acknowledged_at = ?2, reason = ?3
		WHERE client_order_id = ?1`, clientOrderID, micros(now), reason)
	if err == nil && n == 0 {
		err = &rewards.Error{Code: rewards.CodeNotFound, Message: "no conflict with that client order id"}
	}
	return err
}

// MarketHours reads what was last stored of the market's hours; "" when nothing.
func (s *Store) MarketHours(ctx context.Context) (hours string, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		hours, err = setting(ctx, tx, settingMarketHours)
		return err
	})
	return hours, err
}

// SaveMarketHours stores the market's hours in the words of package market.
func (s *Store) SaveMarketHours(ctx context.Context, hours string) error {
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		return setSetting(ctx, tx, settingMarketHours, hours)
	})
}
