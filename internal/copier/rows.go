package copier

import (
	"database/sql"

	"github.com/jackc/pgx/v5"
)

// rowsOf are the rows of one table, on their way.
type rowsOf struct {
	table        string
	rows         *sql.Rows
	values, dest []any
	count, total int64
	progress     func(table string, rows, total int64)
}

var _ pgx.CopyFromSource = (*rowsOf)(nil)

// Next implements pgx.CopyFromSource.
func (r *rowsOf) Next() bool {
	const often = 1000
	if !r.rows.Next() {
		return false
	}
	r.count++
	if r.count%often == 0 && r.count < r.total {
		r.tell()
	}
	return true
}

// Values implements pgx.CopyFromSource.
func (r *rowsOf) Values() ([]any, error) { return r.values, r.rows.Scan(r.dest...) }

// Err implements pgx.CopyFromSource.
func (r *rowsOf) Err() error { return r.rows.Err() }

func (r *rowsOf) tell() {
	if r.progress != nil {
		r.progress(r.table, r.count, r.total)
	}
}

func (r *rowsOf) close() error { return r.rows.Close() }
