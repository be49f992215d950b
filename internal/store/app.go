package store

import (
	"context"

	"stockrewards/internal/rewards"
)

const appColumns = `id, name, suspended`

func scanApp(row Row) (rewards.App, error) {
	var a rewards.App
	err := row.Scan(toID(&a.ID), &a.Name, toFlag{&a.Suspended})
	return a, err
}

// CreateApp stores an app and its first key. A name that is taken fails with
// CodeConflict.
func (s *Store) CreateApp(ctx context.Context, name string, k rewards.Key) (rewards.App, rewards.Key, error) {
	a := rewards.App{Name: name}
	if _, err := rewards.ParseID[rewards.App](name); err == nil {
		return a, k, &rewards.Error{Code: rewards.CodeConflict, Message: "a name must not look like an id"}
	}
	err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		var taken int
		found, err := one(ctx, tx, []any{&taken}, `SELECT 1 FROM apps WHERE name = ?1`, name)
		if err != nil {
			return err
		}
		if found {
			return &rewards.Error{Code: rewards.CodeConflict, Message: "an app of that name exists"}
		}
		a.ID = rewards.NewID[rewards.App](s.ids)
		if _, err := tx.Exec(ctx, `INSERT INTO apps (id, name) VALUES (?1, ?2)`, a.ID[:], name); err != nil {
			return err
		}
		k.AppID = a.ID
		k.ID = rewards.NewID[rewards.Key](s.ids)
		return insertKey(ctx, tx, k)
	})
	return a, k, err
}

// Apps lists every app, oldest first.
func (s *Store) Apps(ctx context.Context) (apps []rewards.App, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		apps, err = queryApps(ctx, tx)
		return err
	})
	return apps, err
}

func queryApps(ctx context.Context, tx Tx) (apps []rewards.App, err error) {
	err = tx.Query(ctx, func(row Row) error {
		a, err := scanApp(row)
		apps = append(apps, a)
		return err
	}, `SELECT `+appColumns+` FROM apps ORDER BY id`)
	return apps, err
}

// SetSuspended suspends an app, named by its id or its name, or resumes it. It
// fails with CodeNotFound.
func (s *Store) SetSuspended(ctx context.Context, app string, suspended bool) (rewards.App, error) {
	var a rewards.App
	err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) (err error) {
		if a, err = findApp(ctx, tx, app); err != nil {
			return err
		}
		a.Suspended = suspended
		_, err = tx.Exec(ctx, `UPDATE apps SET suspended = ?2 WHERE id = ?1`, a.ID[:], flag(suspended))
		return err
	})
	return a, err
}

// findApp finds an app by its id or its name.
func findApp(ctx context.Context, tx Tx, app string) (rewards.App, error) {
	var a rewards.App
	id, _ := rewards.ParseID[rewards.App](app) // or else it is a name
	found, err := one(ctx, tx, []any{toID(&a.ID), &a.Name, toFlag{&a.Suspended}},
		`SELECT `+appColumns+` FROM apps WHERE id = ?1 OR name = ?2`, id[:], app)
	if err == nil && !found {
		err = &rewards.Error{Code: rewards.CodeNotFound, Message: "no app of that id or name"}
	}
	return a, err
}
