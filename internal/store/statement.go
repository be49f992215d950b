package store

import (
	"context"
	"encoding/json"
	"errors"

	"stockrewards/internal/rewards"
)

// fetchEach calls each with every row that a query finds, as scan reads it.
func fetchEach[T any](
	ctx context.Context, tx Tx, scan func(Row) (T, error), each func(T) error, query string, args ...any,
) error {
	return tx.Query(ctx, func(row Row) error {
		value, err := scan(row)
		if err != nil {
			return err
		}
		return each(value)
	}, query, args...)
}

// errEnough ends a query that has found enough.
var errEnough = errors.New("enough")

// fetchAll returns every row that a query finds.
func fetchAll[T any](
	ctx context.Context, tx Tx, scan func(Row) (T, error), query string, args ...any,
) (list []T, err error) {
	err = fetchEach(ctx, tx, scan, func(value T) error {
		list = append(list, value)
		return nil
	}, query, args...)
	return list, err
}

// fetchOne returns the row of a query that finds at most one, and whether it found one.
func fetchOne[T any](
	ctx context.Context, tx Tx, scan func(Row) (T, error), query string, args ...any,
) (value T, found bool, err error) {
	err = tx.Query(ctx, func(row Row) error {
		found = true
		value, err = scan(row)
		return err
	}, query, args...)
	return value, found, err
}

// fetchValues reads the columns of at most one row into dest and reports whether there was a row.
func fetchValues(ctx context.Context, tx Tx, dest []any, query string, args ...any) (found bool, err error) {
	err = tx.Query(ctx, func(row Row) error {
		found = true
		return row.Scan(dest...)
	}, query, args...)
	return found, err
}

// read returns what f reads in one read transaction.
func read[T any](ctx context.Context, s *Store, f func(context.Context, Tx) (T, error)) (value T, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		value, err = f(ctx, tx)
		return err
	})
	return value, err
}

// readOf is read for what clients of one app read.
func readOf[T any](
	ctx context.Context, s *Store, app rewards.AppID, f func(context.Context, Tx) (T, error),
) (value T, err error) {
	err = s.engine.ReadOf(ctx, app, func(ctx context.Context, tx Tx) error {
		value, err = f(ctx, tx)
		return err
	})
	return value, err
}

// readShared is read for what no award and no new user changes.
func readShared[T any](ctx context.Context, s *Store, f func(context.Context, Tx) (T, error)) (T, error) {
	return readOf(ctx, s, rewards.AppID{}, f)
}

// readAllOf is fetchAll in a read transaction of what clients of one app read.
func readAllOf[T any](
	ctx context.Context, s *Store, app rewards.AppID, scan func(Row) (T, error), query string, args ...any,
) ([]T, error) {
	return readOf(ctx, s, app, func(ctx context.Context, tx Tx) ([]T, error) {
		return fetchAll(ctx, only(tx), scan, query, args...)
	})
}

// readAll is fetchAll in a read transaction.
func readAll[T any](
	ctx context.Context, s *Store, scan func(Row) (T, error), query string, args ...any,
) ([]T, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) ([]T, error) {
		return fetchAll(ctx, only(tx), scan, query, args...)
	})
}

// exec runs one statement in a write transaction.
func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

func notFound(message string) error {
	return &rewards.Error{Code: rewards.CodeNotFound, Message: message}
}

func conflict(message string) error {
	return &rewards.Error{Code: rewards.CodeConflict, Message: message}
}

// listed is a table of the numbers in the argument ?1, which listArg makes, with the column value.
func listed(tx Tx) string { return listedAs(tx, "bigint") }

// listedStrings is listed for strings, which stringsArg makes.
func listedStrings(tx Tx) string { return listedAs(tx, "text") }

func listedAs(tx Tx, kind string) string {
	if _, columns := tx.(ColumnTx); columns {
		return `(SELECT unnest(?1::` + kind + `[]) AS value)`
	}
	return `json_each(?1)`
}

func listArg(tx Tx, numbers []int64) any {
	if _, columns := tx.(ColumnTx); columns {
		return numbers
	}
	return jsonList(numbers)
}

func stringsArg(tx Tx, list []string) any {
	if _, columns := tx.(ColumnTx); columns {
		return list
	}
	array, _ := json.Marshal(list) // of strings: it does not fail
	return string(array)
}
