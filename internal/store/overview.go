package store

import (
	"context"
	"errors"

	"stockrewards/internal/rewards"
)

// Overview reads the state of the service. It reads only open rewards, live orders and small
// tables, so that its cost does not grow with the store.
func (s *Store) Overview(ctx context.Context) (v rewards.Overview, err error) {
	pools, err := s.Pools(ctx)
	if err != nil {
		return v, err
	}
	if len(pools) > 0 {
		v.OldestWaiting = pools[0].Oldest
	}
	if v.Control, err = s.Control(ctx); err != nil {
		return v, err
	}
	if v.Alarms, err = s.Alarms(ctx); err != nil {
		return v, err
	}
	if v.Budgets, err = s.AppBudgets(ctx); err != nil {
		return v, err
	}
	v.Live = make(map[rewards.OrderState]int)
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		if err := errors.Join(countWork(ctx, tx, &v), countActions(ctx, tx, &v)); err != nil {
			return err
		}
		left, err := limitsLeft(ctx, tx, rewards.PlanLimits{}, s.now())
		v.NotionalToday, v.HouseToday = -left.DailyLeft, -left.HouseLeft
		return err
	})
	return v, err
}

// countActions counts the corporate actions that hold an asset, now or later.
func countActions(ctx context.Context, tx Tx, v *rewards.Overview) error {
	return tx.Query(ctx, func(row Row) error {
		var state rewards.ActionState
		var n int
		err := row.Scan((*int)(&state), &n)
		if v.Actions == nil {
			v.Actions = make(map[rewards.ActionState]int)
		}
		v.Actions[state] = n
		return err
	}, `SELECT state, count(*) FROM actions WHERE `+activeState+` AND hold_from > 0 GROUP BY state`)
}

// countWork counts the waiting rewards, the live orders and their members. An order's members
// have consecutive positions from 0.
func countWork(ctx context.Context, tx Tx, v *rewards.Overview) error {
	if _, err := fetchValues(ctx, tx, []any{&v.Waiting},
		`SELECT count(*) FROM (SELECT 1 FROM open_rewards WHERE waiting = 1
			UNION ALL SELECT 1 FROM arrivals LIMIT ?1 + 0) AS counted`,
		rewards.MaxCounted); err != nil {
		return err
	}
	return tx.Query(ctx, func(row Row) error {
		var state rewards.OrderState
		var members int
		err := row.Scan((*int)(&state), &members)
		v.Live[state]++
		v.Ordered += members
		return err
	}, `SELECT o.state, coalesce(`+endOfOrder(tx)+` - o.number * 1024, 0)
		FROM orders o WHERE o.`+liveState)
}
