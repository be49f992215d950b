package store

import (
	"context"

	"stockrewards/internal/rewards"
)

const activityColumns = `id, type, sub_type, status, group_id, previous, order_id, symbol, date, at, qty, cum_qty,
	price, net, per_share, body, problem`

func scanActivity(row Row) (n rewards.Activity, err error) {
	err = row.Scan(&n.ID, &n.Type, &n.SubType, &n.Status, &n.GroupID, &n.Previous, &n.OrderID, &n.Symbol,
		(*string)(&n.Date), toTime{&n.CreatedAt}, (*int64)(&n.Qty), (*int64)(&n.CumQty), (*int64)(&n.Price),
		(*int64)(&n.Net), &n.PerShare, &n.Body, &n.Problem)
	return n, err
}

// SaveActivities stores the broker's account activities that are new. It fails with ErrLostLease.
func (s *Store) SaveActivities(ctx context.Context, l rewards.Lease, list []rewards.Activity) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		for _, n := range list {
			_, err := tx.Exec(ctx, `INSERT INTO broker_activities (`+activityColumns+`, seen_at) VALUES (?1, ?2, ?3, ?4,
				?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18) ON CONFLICT (id) DO NOTHING`,
				n.ID, n.Type, n.SubType, n.Status, n.GroupID, n.Previous, n.OrderID, n.Symbol, string(n.Date),
				micros(n.CreatedAt), int64(n.Qty), int64(n.CumQty), int64(n.Price), int64(n.Net), n.PerShare, n.Body,
				n.Problem, micros(s.now()))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// ActivitiesOf lists the stored activities of stocks since a day, oldest first. Those without a day
// are among them.
func (s *Store) ActivitiesOf(
	ctx context.Context, since rewards.Date, symbols ...string,
) (list []rewards.Activity, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		list, err = activitiesOf(ctx, tx, since, symbols)
		return err
	})
	return list, err
}

// PaymentsOf is ActivitiesOf, with the ids of those that paid for an action.
func (s *Store) PaymentsOf(
	ctx context.Context, since rewards.Date, symbols ...string,
) (list []rewards.Activity, spent map[string]bool, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		spent = make(map[string]bool)
		if list, err = activitiesOf(ctx, tx, since, symbols); err != nil {
			return err
		}
		for _, symbol := range symbols {
			if err := tx.Query(ctx, func(row Row) error {
				var id string
				err := row.Scan(&id)
				spent[id] = true
				return err
			}, `SELECT b.id FROM broker_activities b WHERE b.symbol = ?1 AND (b.date >= ?2 OR b.date = '')
				AND EXISTS (SELECT 1 FROM payouts p WHERE p.activity_id = b.id)`, symbol, string(since)); err != nil {
				return err
			}
		}
		return nil
	})
	return list, spent, err
}

func activitiesOf(
	ctx context.Context, tx Tx, since rewards.Date, symbols []string,
) (list []rewards.Activity, err error) {
	for _, symbol := range symbols {
		of, err := fetchAll(ctx, tx, scanActivity, `SELECT `+activityColumns+` FROM broker_activities
			WHERE symbol = ?1 AND (date >= ?2 OR date = '') ORDER BY id`, symbol, string(since))
		if err != nil {
			return nil, err
		}
		list = append(list, of...)
	}
	return list, nil
}
