package postgres

import (
	"context"
	"errors"
	"fmt"

	"stockrewards/internal/store"
)

// schemaVersion reads the version of the schema, by key.
const schemaVersion = "select version_id from goose_db_version order by id desc limit 1"

// fence is a statement that fails with divisionByZero unless the schema has a version. It
// follows the lock of a turn, which a migration takes too: the version stays until the
// transaction ends.
func fence(version int64) string {
	return fmt.Sprintf("select 1 / ((%s) is not distinct from %d)::int", schemaVersion, version)
}

// divisionByZero is a SQLSTATE.
const divisionByZero = "22012"

// fenced reports whether the fence ended a transaction.
func fenced(err error) bool { return errors.Is(err, errNotBegun) && sqlState(err) == divisionByZero }

// outdated returns why this program may not write, and reports it on Failed.
func (e *Engine) outdated(ctx context.Context) error {
	var found int64
	if err := e.pool.QueryRow(ctx, schemaVersion).Scan(&found); err != nil {
		return errors.Join(errBroken, err)
	}
	err := differs(found, e.schema)
	select {
	case e.failed <- err:
	default: // reported before
	}
	return err
}

// differs is the error for a schema of another version than the known one.
func differs(found, known int64) error {
	cause := store.ErrNewerSchema
	if found < known {
		cause = store.ErrOlderSchema
	}
	return fmt.Errorf("postgres: the schema has version %d, known is %d: %w", found, known, cause)
}
