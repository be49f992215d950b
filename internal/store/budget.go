package store

import (
	"context"
	"sync/atomic"

	"stockrewards/internal/rewards"
)

const budgetColumns = `id, app_id, name, per, period, allowed, state, since, reached, cut`

func scanBudget(row Row) (b rewards.Budget, err error) {
	err = row.Scan((*int64)(&b.ID), toID(&b.AppID), &b.Name, (*int)(&b.Per), (*int)(&b.Period), (*int64)(&b.Limit),
		(*int)(&b.State), toID(&b.Since), toID(&b.Reached), toID(&b.Cut))
	return b, err
}

// The values of package rewards as SQL literals.
const (
	budgetActive  = string('0' + rune(rewards.BudgetActive))
	budgetRemoved = string('0' + rune(rewards.BudgetRemoved))
	perApp        = string('0' + rune(rewards.PerApp))
	periodDay     = string('0' + rune(rewards.PeriodDay))
	periodMonth   = string('0' + rune(rewards.PeriodMonth))

	keptBudget = `state < ` + budgetRemoved
)

// knownBudgets are the budgets that new rewards count in, of every app that has one, after a
// change.
type knownBudgets struct {
	changes string // the setting settingBudgets
	of      map[rewards.AppID][]rewards.Budget
}

// budgetCache remembers the budgets. Who uses them must check that they did not change since: each
// transaction that records reads the mark of the last change. It is safe for concurrent use.
type budgetCache struct{ known atomic.Pointer[knownBudgets] }

// current returns the budgets as of the transaction. It reads them only after a change. Ids made
// afterwards are later than those that an operator's count covers.
func (c *budgetCache) current(
	ctx context.Context, tx Tx, ids *rewards.IDs, changes string,
) (*knownBudgets, error) {
	if known := c.known.Load(); known != nil && known.changes == changes {
		return known, nil
	}
	read := &knownBudgets{changes: changes, of: make(map[rewards.AppID][]rewards.Budget)}
	err := fetchEach(ctx, tx, scanBudget, func(b rewards.Budget) error {
		read.of[b.AppID] = append(read.of[b.AppID], b)
		ids.StartAfter(b.LaterThan())
		return nil
	}, `SELECT `+budgetColumns+` FROM budgets WHERE `+keptBudget+` ORDER BY app_id, name, state`)
	if err != nil {
		return nil, err
	}
	c.known.Store(read)
	return read, nil
}

// budgetsOfApp reads the budgets that rewards of an app count in.
func budgetsOfApp(ctx context.Context, tx Tx, app rewards.AppID) ([]rewards.Budget, error) {
	return fetchAll(ctx, tx, scanBudget, `SELECT `+budgetColumns+` FROM budgets
		WHERE app_id = ?1 AND `+keptBudget+` ORDER BY name, state`, app[:])
}

// Budgets lists the budgets of an app with what is used of them now, by name. Now is the time of the next reward, which
// follows the newest id when that is ahead of the clock. Those whose past is
// being counted come after the one in force.
func (s *Store) Budgets(ctx context.Context, app rewards.AppID) ([]rewards.BudgetUse, error) {
	return readOf(ctx, s, app, func(ctx context.Context, tx Tx) ([]rewards.BudgetUse, error) {
		budgets, err := budgetsOfApp(ctx, tx, app)
		if err != nil {
			return nil, err
		}
		now := s.ids.Next()
		list := make([]rewards.BudgetUse, len(budgets))
		for i, b := range budgets {
			list[i] = rewards.BudgetUse{Budget: b, ResetsAt: b.Period.End(now)}
			if b.Per == rewards.PerApp {
				if list[i].Used, err = used(ctx, tx, b.Counter(now, rewards.UserID{})); err != nil {
					return nil, err
				}
			}
		}
		return list, nil
	})
}

// AppBudgets lists the budgets in force of all apps, without those per user, with what is used of
// them now.
func (s *Store) AppBudgets(ctx context.Context) ([]rewards.BudgetUse, error) {
	now := s.ids.Next()
	return readAll(ctx, s, func(row Row) (u rewards.BudgetUse, err error) {
		u.Budget, err = scanBudget(prefixed{row, []any{(*int64)(&u.Used), &u.App}})
		u.ResetsAt = u.Period.End(now)
		return u, err
	}, `SELECT coalesce((SELECT u.used FROM budget_use u WHERE u.budget = budgets.id AND u.user_id = ?1
			AND u.period_start = CASE period WHEN `+periodDay+` THEN CAST(?2 AS bigint)
			WHEN `+periodMonth+` THEN CAST(?3 AS bigint) ELSE 0 END), 0),
		coalesce((SELECT a.name FROM apps a WHERE a.id = app_id), ''), `+budgetColumns+`
		FROM budgets WHERE state = `+budgetActive+` AND per = `+perApp+` ORDER BY app_id, name`, []byte{},
		micros(rewards.PeriodDay.Start(now)), micros(rewards.PeriodMonth.Start(now)))
}
