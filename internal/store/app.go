package store

import (
	"context"

	"stockrewards/internal/rewards"
)

const appColumns = `id, name, suspended, requests_per_second, concurrent, dividends`

func scanApp(row Row) (a rewards.App, err error) {
	err = row.Scan(toID(&a.ID), &a.Name, toFlag{&a.Suspended}, &a.Limits.RequestsPerSecond, &a.Limits.Concurrent,
		(*int)(&a.Dividends))
	return a, err
}

// CreateApp stores an app, its first key and its first budgets. It fails with CodeConflict when the
// name is taken or looks like an id.
func (o *Operator) CreateApp(
	ctx context.Context, name string, k rewards.Key, budgets ...rewards.Budget,
) (rewards.App, rewards.Key, error) {
	a := rewards.App{Name: name, Dividends: rewards.DividendsReinvest}
	if _, err := rewards.ParseID[rewards.App](name); err == nil {
		return a, k, conflict("a name must not look like an id")
	}
	err := o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		var taken int
		found, err := fetchValues(ctx, tx, []any{&taken}, `SELECT 1 FROM apps WHERE name = ?1`, name)
		if err != nil {
			return nil, err
		}
		if found {
			return nil, conflict("an app of that name exists")
		}
		a.ID = rewards.NewID[rewards.App](o.ids)
		if _, err := tx.Exec(ctx, `INSERT INTO apps (id, name) VALUES (?1, ?2)`, a.ID[:], name); err != nil {
			return nil, err
		}
		k.AppID = a.ID
		k.ID = rewards.NewID[rewards.Key](o.ids)
		changes := []rewards.Change{{Object: a.Object(), After: a.State()}, {Object: k.Object(), After: k.State()}}
		for _, b := range budgets {
			b.AppID = a.ID
			if b, err = o.insertFirstBudget(ctx, tx, b); err != nil {
				return nil, err
			}
			changes = append(changes, rewards.Change{Object: b.Object(), After: b.Defined()})
		}
		return changes, insertKey(ctx, tx, k)
	})
	return a, k, err
}

// Apps lists every app, oldest first.
func (s *Store) Apps(ctx context.Context) ([]rewards.App, error) {
	return read(ctx, s, queryApps)
}

func queryApps(ctx context.Context, tx Tx) ([]rewards.App, error) {
	return fetchAll(ctx, tx, scanApp, `SELECT `+appColumns+` FROM apps ORDER BY id`)
}

// SetSuspended suspends or resumes an app, named by its id or name, and with it its webhooks. It fails with
// CodeNotFound.
func (o *Operator) SetSuspended(ctx context.Context, app string, suspended bool) (rewards.App, error) {
	var a rewards.App
	err := o.change(ctx, func(ctx context.Context, tx Tx) (_ []rewards.Change, err error) {
		if a, err = findApp(ctx, tx, app); err != nil {
			return nil, err
		}
		before := a.State()
		a.Suspended = suspended
		if _, err = tx.Exec(ctx, `UPDATE apps SET suspended = ?2 WHERE id = ?1`, a.ID[:], flag(suspended)); err != nil {
			return nil, err
		}
		return []rewards.Change{{Object: a.Object(), Before: before, After: a.State()}}, countChange(ctx, tx)
	})
	return a, err
}

// SetLimits changes the limits of an app, named by its id or name. It fails with
// CodeNotFound, and when a limit is out of range.
func (o *Operator) SetLimits(
	ctx context.Context, app string, change func(rewards.Limits) rewards.Limits,
) (rewards.App, error) {
	var a rewards.App
	err := o.change(ctx, func(ctx context.Context, tx Tx) (_ []rewards.Change, err error) {
		if a, err = findApp(ctx, tx, app); err != nil {
			return nil, err
		}
		before := a.State()
		a.Limits = change(a.Limits)
		if err := a.Limits.Check(); err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, `UPDATE apps SET requests_per_second = ?2, concurrent = ?3 WHERE id = ?1`,
			a.ID[:], a.Limits.RequestsPerSecond, a.Limits.Concurrent)
		return []rewards.Change{{Object: a.Object(), Before: before, After: a.State()}}, err
	})
	return a, err
}

// App finds an app by its id or name. It fails with CodeNotFound.
func (s *Store) App(ctx context.Context, app string) (rewards.App, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (rewards.App, error) { return findApp(ctx, tx, app) })
}

func findApp(ctx context.Context, tx Tx, app string) (rewards.App, error) {
	id, _ := rewards.ParseID[rewards.App](app) // the zero id matches no app
	a, found, err := fetchOne(ctx, tx, scanApp,
		`SELECT `+appColumns+` FROM apps WHERE id = ?1 OR name = ?2`, id[:], app)
	if err == nil && !found {
		err = notFound("no app of that id or name")
	}
	return a, err
}
