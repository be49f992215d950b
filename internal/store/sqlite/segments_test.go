package sqlite_test

import (
	"context"
	"errors"
	"testing"

	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
	"stockrewards/internal/store/storetest"
)

func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := migratedFile(t)
	open := func() store.Engine {
		e, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		check(t, err)
		t.Cleanup(func() { check(t, e.Close()) })
		return e
	}
	storetest.TestTwoProcesses(t, open(), open())
}

// uncertain is an engine that rolls back the next commits of clients, or hides their outcome.
type uncertain struct {
	store.Engine

	lost, unknown int
}

func (e *uncertain) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	if e.lost > 0 {
		e.lost--
		return e.Engine.WriteForClients(ctx, func(ctx context.Context, tx store.Tx) error {
			return errors.Join(f(ctx, tx), errRetried)
		})
	}
	err := e.Engine.WriteForClients(ctx, f)
	if err == nil && e.unknown > 0 {
		e.unknown--
		err = store.ErrUnknownOutcome
	}
	return err
}

func TestUncertainCommits(t *testing.T) {
	t.Parallel()
	e := &uncertain{Engine: opener(migratedFile, 0)(t)}
	storetest.TestUncertainCommits(t, e, func(lost, unknown int) { e.lost, e.unknown = lost, unknown })
}

// A store whose segments cannot be trusted is refused: it could buy a reward again.
func TestDamagedSegmentsAreRefused(t *testing.T) {
	t.Parallel()
	for what, statement := range map[string]string{
		"a filter gone":            `DELETE FROM segment_filters WHERE first = 0`,
		"the newest filter gone":   `DELETE FROM segment_filters WHERE first = 1`,
		"an empty filter":          `UPDATE segment_filters SET bits = x'' WHERE first = 1`,
		"another size of segments": `UPDATE segments SET last_reward = last_reward + 1`,
		"a reward gone":            `DELETE FROM rewards WHERE rowid = (SELECT max(rowid) - 1 FROM rewards)`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := opener(migratedFile, 0)(t)
			storetest.TestSegmentsOfAnotherStore(t, e, func() { write(t, e, statement) })
		})
	}
}

func TestEqualHashes(t *testing.T) {
	t.Parallel()
	e := opener(migratedFile, 0)(t)
	storetest.TestEqualHashes(t, e, func() {
		for _, table := range []string{"reward_keys", "reward_users"} {
			write(t, e, `INSERT INTO `+table+` SELECT segment, hash, 1 FROM `+table+` WHERE segment = 0 AND number = 2`)
			write(t, e, `INSERT OR IGNORE INTO `+table+` SELECT segment, hash, 2 FROM `+table+` WHERE segment = 0 AND number = 3`)
		}
	})
}
