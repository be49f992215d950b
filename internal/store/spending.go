package store

import (
	"context"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// dayOf is the UTC day of t as it is stored.
func dayOf(t time.Time) int64 {
	const day = 24 * time.Hour
	return micros(t.UTC().Truncate(day))
}

// limitsLeft returns the limits minus what was ordered on the day of at. The cents that the
// house adds to round a notional do not count, or they could use up the limit for small pools.
func limitsLeft(ctx context.Context, tx Tx, l rewards.PlanLimits, at time.Time) (rewards.PlanLimits, error) {
	var notional, shortage money.USD
	if _, err := fetchValues(ctx, tx, []any{(*int64)(&notional), (*int64)(&shortage)},
		`SELECT notional, shortage FROM spending WHERE day = ?1`, dayOf(at)); err != nil {
		return l, err
	}
	l.DailyLeft -= notional
	l.HouseLeft -= shortage
	l.HouseSpent = make(map[rewards.AppID]money.USD)
	err := tx.Query(ctx, func(row Row) error {
		var app rewards.AppID
		var amount money.USD
		err := row.Scan(toID(&app), (*int64)(&amount))
		l.HouseSpent[app] = amount
		l.HouseLeft -= amount
		return err
	}, `SELECT app_id, amount FROM house_topups WHERE day = ?1`, dayOf(at))
	return l, err
}

// chargeTopUps counts what the house added for each app.
func chargeTopUps(ctx context.Context, tx Tx, day int64, topUps []rewards.TopUp) error {
	if len(topUps) == 0 {
		return nil
	}
	rows := make([][]any, len(topUps))
	for i := range topUps {
		rows[i] = []any{day, topUps[i].AppID[:], int64(topUps[i].Amount)}
	}
	_, err := tx.ExecEach(ctx, `INSERT INTO house_topups (day, app_id, amount) VALUES (?1, ?2, ?3)
		ON CONFLICT (day, app_id) DO UPDATE SET amount = house_topups.amount + excluded.amount`, rows)
	return err
}
