package store

import (
	"context"
	"fmt"
)

// ColumnTx is a Tx over a network. It takes whole columns (PostgreSQL's arrays) as arguments, so
// a batch costs one statement and one round trip.
type ColumnTx interface {
	Tx
	// AcceptsColumns marks the Tx.
	AcceptsColumns()
}

// execRows runs byRow once for each row of arguments or, on a ColumnTx, byColumn once with the
// arguments as columns. It returns how many rows changed.
func execRows(ctx context.Context, tx Tx, byRow, byColumn string, rows [][]any) (int64, error) {
	if _, columns := tx.(ColumnTx); !columns {
		return tx.ExecEach(ctx, byRow, rows)
	}
	if len(rows) == 0 {
		return 0, nil
	}
	columns, err := columnsOf(rows)
	if err != nil {
		return 0, err
	}
	return tx.Exec(ctx, byColumn, columns...)
}

// execRowsLater is execRows for a statement whose count of rows does not matter, as in execLater.
func execRowsLater(ctx context.Context, tx Tx, byRow, byColumn string, rows [][]any) error {
	if _, network := tx.(NetworkTx); !network || len(rows) == 0 {
		_, err := execRows(ctx, tx, byRow, byColumn, rows)
		return err
	}
	columns, err := columnsOf(rows)
	if err != nil {
		return err
	}
	return execLater(ctx, tx, byColumn, columns...)
}

// columnsOf collects the arguments of all rows, at least one, as columns.
func columnsOf(rows [][]any) (columns []any, err error) {
	columns = make([]any, len(rows[0]))
	for i := range columns {
		if columns[i], err = column(rows, i); err != nil {
			return nil, err
		}
	}
	return columns, nil
}

// column collects the i-th argument of every row.
func column(rows [][]any, i int) (any, error) {
	switch rows[0][i].(type) {
	case []byte:
		return columnOf[[]byte](rows, i)
	case string:
		return columnOf[string](rows, i)
	default:
		return columnOf[int64](rows, i)
	}
}

func columnOf[T any](rows [][]any, i int) ([]T, error) {
	values := make([]T, len(rows))
	for n, row := range rows {
		v, ok := row[i].(T)
		if !ok {
			return nil, fmt.Errorf("store: cannot use argument %d of row %d: type %T", i+1, n, row[i])
		}
		values[n] = v
	}
	return values, nil
}
