package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"stockrewards/internal/rewards"
)

// SetBudget sets a budget of the app that is named by its id or name. A budget of that name which
// adds up the same gets the limit at once. Any other one replaces it when the past is counted: then
// SetBudget returns. It may be repeated after it was interrupted, and goes on. It fails with
// CodeNotFound, and with CodeConflict when somebody removes the budget meanwhile.
func (o *Operator) SetBudget(ctx context.Context, app string, b rewards.Budget) (rewards.Budget, error) {
	if err := b.Check(); err != nil {
		return b, err
	}
	err := o.changeBudgets(ctx, func(ctx context.Context, tx Tx) (changes []rewards.Change, err error) {
		b, changes, err = o.defineBudget(ctx, tx, app, b)
		return changes, err
	})
	for err == nil && b.State == rewards.BudgetCounting {
		began := time.Now()
		if b, err = o.countPart(ctx, b.ID); err == nil {
			err = Sleep(ctx, restOfCount*time.Since(began))
		}
	}
	if err == nil {
		err = o.deleteRemoved(ctx, b.AppID)
	}
	return b, err
}

// RemoveBudget removes a budget, also one whose past is not counted yet. It fails with CodeNotFound.
func (o *Operator) RemoveBudget(ctx context.Context, app, name string) (rewards.App, error) {
	var a rewards.App
	err := o.changeBudgets(ctx, func(ctx context.Context, tx Tx) (changes []rewards.Change, err error) {
		if a, err = findApp(ctx, tx, app); err != nil {
			return nil, err
		}
		named, err := budgetsNamed(ctx, tx, a.ID, name)
		if err != nil {
			return nil, err
		}
		if len(named) == 0 {
			return nil, notFound("the app has no budget of that name")
		}
		was := named[0]
		for _, b := range named {
			if err := removeBudget(ctx, tx, b.ID); err != nil {
				return nil, err
			}
		}
		gone := was
		gone.State = rewards.BudgetRemoved
		return []rewards.Change{{Object: was.Object(), Before: was.Decided(), After: gone.Decided()}}, nil
	})
	if err != nil {
		return a, err
	}
	return a, o.deleteRemoved(ctx, a.ID)
}

// changeBudgets is change for budgets. No reward is recorded meanwhile, and later ones are judged by
// what was changed.
func (o *Operator) changeBudgets(
	ctx context.Context, f func(context.Context, Tx) ([]rewards.Change, error),
) error {
	return o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		if err := excludeClients(ctx, tx); err != nil {
			return nil, err
		}
		if err := noteBudgetChange(ctx, tx); err != nil {
			return nil, err
		}
		return f(ctx, tx)
	})
}

// noteBudgetChange makes every process read the budgets before it records again.
func noteBudgetChange(ctx context.Context, tx Tx) error {
	return setSetting(ctx, tx, settingBudgets, rand.Text()) // a server that took over may have lost some: no number
}

// budgetsNamed lists the budgets of a name: one whose past is counted first, then the one in force.
func budgetsNamed(ctx context.Context, tx Tx, app rewards.AppID, name string) ([]rewards.Budget, error) {
	return fetchAll(ctx, tx, scanBudget, `SELECT `+budgetColumns+` FROM budgets
		WHERE app_id = ?1 AND name = ?2 AND `+keptBudget+` ORDER BY state`, app[:], name)
}

func removeBudget(ctx context.Context, tx Tx, id rewards.BudgetID) error {
	_, err := tx.Exec(ctx, `UPDATE budgets SET state = ?2 WHERE id = ?1`, int64(id), int(rewards.BudgetRemoved))
	return err
}

// defineBudget changes the limit of a budget that adds up the same, or begins to count a new one.
func (o *Operator) defineBudget(
	ctx context.Context, tx Tx, app string, b rewards.Budget,
) (rewards.Budget, []rewards.Change, error) {
	a, err := findApp(ctx, tx, app)
	if err != nil {
		return b, nil, err
	}
	b.AppID = a.ID
	named, err := budgetsNamed(ctx, tx, a.ID, b.Name)
	if err != nil {
		return b, nil, err
	}
	c := rewards.Change{Object: b.Object()}
	if len(named) > 0 {
		c.Before = named[0].Defined()
	}
	var kept *rewards.Budget
	for i, old := range named {
		switch {
		case kept == nil && old.Counts(b):
			kept = &named[i]
		case old.State == rewards.BudgetCounting:
			if err := removeBudget(ctx, tx, old.ID); err != nil {
				return b, nil, err
			}
		}
	}
	if kept != nil {
		kept.Limit = b.Limit
		_, err = tx.Exec(ctx, `UPDATE budgets SET allowed = ?2 WHERE id = ?1`, int64(kept.ID), int64(b.Limit))
		b = *kept
	} else {
		b, err = o.insertBudget(ctx, tx, b, len(named) == 0)
	}
	c.After = b.Defined()
	return b, []rewards.Change{c}, err
}

// insertBudget stores a budget that begins to count. No reward is recorded meanwhile: those stored
// are the past.
func (o *Operator) insertBudget(ctx context.Context, tx Tx, b rewards.Budget, another bool) (rewards.Budget, error) {
	var count, newest int64
	if _, err := fetchValues(ctx, tx, []any{&newest}, `SELECT coalesce(max(id), 0) FROM budgets`); err != nil {
		return b, err
	}
	if _, err := fetchValues(ctx, tx, []any{&count}, `SELECT count(*) FROM budgets WHERE app_id = ?1 AND `+keptBudget,
		b.AppID[:]); err != nil {
		return b, err
	}
	if another && count >= rewards.MaxBudgets {
		return b, conflict(rewards.ErrTooManyBudgets.Error())
	}
	var last rewards.RewardID
	if _, err := fetchValues(ctx, tx, []any{toID(&last)}, `SELECT id FROM rewards WHERE app_id = ?1
		ORDER BY id DESC LIMIT 1`, b.AppID[:]); err != nil {
		return b, err
	}
	b = b.Begin(last, o.now())
	b.ID = rewards.BudgetID(newest + 1)
	_, err := tx.Exec(ctx, `INSERT INTO budgets (`+budgetColumns+`) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`,
		int64(b.ID), b.AppID[:], b.Name, int(b.Per), int(b.Period), int64(b.Limit), int(b.State), b.Since[:],
		b.Reached[:], b.Cut[:])
	return b, err
}

// insertFirstBudget stores a budget of a new app, which has no past.
func (o *Operator) insertFirstBudget(ctx context.Context, tx Tx, b rewards.Budget) (rewards.Budget, error) {
	b, err := o.insertBudget(ctx, tx, b, true)
	if err == nil {
		b, err = activate(ctx, tx, b)
	}
	return b, err
}

// The parts of a count. Between two parts it rests, so that others can record.
const (
	countAtOnce = 2_000 // rewards in a transaction
	restOfCount = 2     // in times of the last part
)

// countPart counts the next rewards of the past in a budget, and puts it in force after the last
// ones, which it logs. Nothing is recorded and nothing fails meanwhile.
func (o *Operator) countPart(ctx context.Context, id rewards.BudgetID) (b rewards.Budget, err error) {
	err = o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		if err := excludeClients(ctx, tx); err != nil {
			return nil, err
		}
		var found bool
		b, found, err = fetchOne(ctx, tx, scanBudget, `SELECT `+budgetColumns+` FROM budgets
			WHERE id = ?1 AND `+keptBudget, int64(id))
		if err != nil || b.State == rewards.BudgetActive { // another command has counted the rest
			return nil, err
		}
		if !found {
			return nil, conflict("the budget was removed meanwhile")
		}
		var more bool
		if b, more, err = countNext(ctx, tx, b); err != nil || more {
			return nil, err
		}
		before := b.Counted()
		b, err = activate(ctx, tx, b)
		return []rewards.Change{{Object: b.Object(), Before: before, After: b.Counted()}}, err
	})
	return b, err
}

// countNext counts the next rewards of the past in a budget, and reports whether there may be more.
func countNext(ctx context.Context, tx Tx, b rewards.Budget) (_ rewards.Budget, more bool, err error) {
	var part []rewards.Spent
	last, read := b.Reached, 0
	err = tx.Query(ctx, func(row Row) error {
		read++
		r, counts := rewards.Spent{AppID: b.AppID}, false
		err := row.Scan(toID(&r.ID), toID(&r.UserID), (*int64)(&r.Amount), toFlag{&counts})
		if last = r.ID; counts {
			part = append(part, r)
		}
		return err
	}, `SELECT id, user_id, amount, CASE WHEN counted = 1 AND failure_reason = '' THEN 1 ELSE 0 END FROM rewards
		WHERE app_id = ?1 AND id > ?2 AND id <= ?3 ORDER BY id LIMIT ?4 + 0`, b.AppID[:], b.Reached[:], b.Cut[:],
		countAtOnce)
	if err != nil {
		return b, false, err
	}
	b.Reached = last
	if err := addToCounters(ctx, tx, rewards.SpentOn([]rewards.Budget{b}, part)); err != nil {
		return b, false, err
	}
	if read < countAtOnce {
		return b, false, nil
	}
	_, err = tx.Exec(ctx, `UPDATE budgets SET reached = ?2 WHERE id = ?1`, int64(b.ID), b.Reached[:])
	return b, true, err
}

// activate puts a budget in force, instead of the one that had its name.
func activate(ctx context.Context, tx Tx, b rewards.Budget) (rewards.Budget, error) {
	named, err := budgetsNamed(ctx, tx, b.AppID, b.Name)
	if err != nil {
		return b, err
	}
	for _, old := range named {
		if old.ID == b.ID {
			continue
		}
		if err := removeBudget(ctx, tx, old.ID); err != nil {
			return b, err
		}
	}
	b.State, b.Reached = rewards.BudgetActive, b.Cut
	if _, err := tx.Exec(ctx, `UPDATE budgets SET reached = cut, state = ?2 WHERE id = ?1`, int64(b.ID),
		int(b.State)); err != nil {
		return b, err
	}
	return b, noteBudgetChange(ctx, tx)
}

// deleteRemoved deletes removed budgets of an app with their counters, also those that an
// interrupted command left.
func (o *Operator) deleteRemoved(ctx context.Context, app rewards.AppID) error {
	for {
		var id rewards.BudgetID
		found, left := false, false
		err := o.engine.Write(ctx, func(ctx context.Context, tx Tx) (err error) {
			found, err = fetchValues(ctx, tx, []any{(*int64)(&id)}, `SELECT id FROM budgets
				WHERE app_id = ?1 AND state = `+budgetRemoved+` LIMIT 1`, app[:])
			if err != nil || !found {
				return err
			}
			n, err := tx.Exec(ctx, `DELETE FROM budget_use WHERE budget = ?1 AND (period_start, user_id) IN
				(SELECT period_start, user_id FROM budget_use WHERE budget = ?1 LIMIT ?2 + 0)`, int64(id), countAtOnce)
			if left = n == countAtOnce; err != nil || left {
				return err
			}
			_, err = tx.Exec(ctx, `DELETE FROM budgets WHERE id = ?1`, int64(id))
			return err
		})
		if err != nil {
			return fmt.Errorf("the budget is changed, but what a removed one has counted cannot be deleted: %w", err)
		}
		if !found {
			return nil
		}
	}
}
