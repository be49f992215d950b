package store

import (
	"context"
	"strings"
	"time"

	"stockrewards/internal/rewards"
)

// SetDividends sets what becomes of the dividends of an app's users, from the next payment on; the app is named by its
// id or name. It fails with CodeNotFound, and with CodeUnavailable when the clock is behind that of a booked payment:
// the operator log says by its times what was in force for which payment.
func (o *Operator) SetDividends(ctx context.Context, app string, policy rewards.DividendPolicy) error {
	return o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		a, err := findApp(ctx, tx, app)
		if err != nil {
			return nil, err
		}
		var before int
		var booked int64
		_, err = fetchValues(ctx, tx, []any{&before, &booked}, `SELECT dividends,
			coalesce((SELECT max(p.at) FROM payouts p), 0) FROM apps WHERE id = ?1`, a.ID[:])
		if err != nil {
			return nil, err
		}
		if booked >= micros(o.now()) {
			return nil, rewards.Unavailable("a dividend was booked by a clock that is ahead of this one", nil)
		}
		_, err = tx.Exec(ctx, `UPDATE apps SET dividends = ?2 WHERE id = ?1`, a.ID[:], int(policy))
		was := rewards.DividendPolicy(before)
		return []rewards.Change{{Object: a.Object(), Before: was.State(), After: policy.State()}}, err
	})
}

// clockSpread is by how much the times of the operator log may be out of its order: each is that of a command's
// machine.
const clockSpread = time.Hour

// dividendPolicies reads the policies of all apps, with their changes since a time.
func dividendPolicies(ctx context.Context, tx Tx, since time.Time) (p rewards.DividendPolicies, err error) {
	p.Now = make(map[rewards.AppID]rewards.DividendPolicy)
	err = tx.Query(ctx, func(row Row) error {
		var id rewards.AppID
		var policy int
		err := row.Scan(toID(&id), &policy)
		p.Now[id] = rewards.DividendPolicy(policy)
		return err
	}, `SELECT id, dividends FROM apps`)
	if err != nil {
		return p, err
	}
	p.Changes = make(map[rewards.AppID][]rewards.PolicyChange)
	house, reinvest := rewards.DividendsHouse.State().String(), rewards.DividendsReinvest.State().String()
	err = tx.Query(ctx, func(row Row) error {
		var object, before string
		c := rewards.PolicyChange{Before: rewards.DividendsReinvest}
		if err := row.Scan(&object, &before, toTime{&c.At}); err != nil {
			return err
		}
		if before == house {
			c.Before = rewards.DividendsHouse
		}
		_, id, _ := strings.Cut(object, " ")
		app, err := rewards.ParseID[rewards.App](id)
		p.Changes[app] = append(p.Changes[app], c)
		return err
	}, `SELECT object, state_before, at FROM operator_log WHERE state_after IN (?1, ?2) AND number > coalesce(
		(SELECT l.number FROM operator_log l WHERE l.at <= ?3 ORDER BY l.number DESC LIMIT 1), 0) ORDER BY number`,
		house, reinvest, micros(since.Add(-clockSpread)))
	return p, err
}
