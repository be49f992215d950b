package store

import (
	"context"
	"fmt"
)

// ColumnTx is a Tx over a database that is far away: it takes whole columns as
// arguments (PostgreSQL's arrays), so that many rows cost one exchange and one
// statement.
type ColumnTx interface {
	Tx
	// AcceptsColumns marks the Tx.
	AcceptsColumns()
}

// execRows runs the first statement once for each row of arguments or, where that is
// faster, the second one for all rows, given as columns. It tells how many rows were
// touched.
func execRows(ctx context.Context, tx Tx, one, many string, rows [][]any) (int64, error) {
	if _, far := tx.(ColumnTx); !far {
		return tx.ExecEach(ctx, one, rows)
	}
	if len(rows) == 0 {
		return 0, nil
	}
	columns := make([]any, len(rows[0]))
	for i := range columns {
		var err error
		if columns[i], err = column(rows, i); err != nil {
			return 0, err
		}
	}
	return tx.Exec(ctx, many, columns...)
}

// column is one argument of all rows.
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
			return nil, fmt.Errorf("store: argument %d of row %d is a %T", i+1, n, row[i])
		}
		values[n] = v
	}
	return values, nil
}
