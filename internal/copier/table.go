package copier

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// table copies one table and compares the counts.
func (c *copying) table(ctx context.Context, table string) error {
	columns, err := c.columns(ctx, table)
	if err != nil {
		return err
	}
	rows, err := c.from.read(ctx, table, columns)
	if err != nil {
		return err
	}
	rows.progress = c.options.Progress
	sent, err := c.to.CopyFrom(ctx, pgx.Identifier{table}, columns, rows)
	if err := errors.Join(err, rows.close()); err != nil {
		return err
	}
	var stored int64
	if err := c.to.QueryRow(ctx, `SELECT count(*) FROM `+table).Scan(&stored); err != nil {
		return err
	}
	if sent != rows.total || stored != rows.total {
		return fmt.Errorf("the source has %d rows, but %d were sent and the target has %d", rows.total, sent, stored)
	}
	rows.report()
	return nil
}

// columns returns the columns of a table, which must be the same on both sides.
func (c *copying) columns(ctx context.Context, table string) ([]string, error) {
	source, err := c.from.columns(ctx, table)
	if err != nil {
		return nil, err
	}
	target, err := stringsOf(ctx, c.to, `SELECT column_name::text FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = $1 ORDER BY column_name COLLATE "C"`, table)
	if err != nil {
		return nil, err
	}
	if fmt.Sprint(source) != fmt.Sprint(target) {
		return nil, fmt.Errorf("the source has the columns %v, the target %v", source, target)
	}
	return source, nil
}

// tableRows are the rows of the source's table, in transit.
type tableRows struct {
	table        string
	rows         *sql.Rows
	values, dest []any
	count, total int64
	progress     func(table string, rows, total int64)
}

var _ pgx.CopyFromSource = (*tableRows)(nil)

func (r *tableRows) Next() bool {
	const reportEvery = 1000
	if !r.rows.Next() {
		return false
	}
	r.count++
	if r.count%reportEvery == 0 && r.count < r.total {
		r.report()
	}
	return true
}

// Values returns the next row. The driver returns no bytes as nil, which would become NULL.
func (r *tableRows) Values() ([]any, error) {
	err := r.rows.Scan(r.dest...)
	for i, v := range r.values {
		if b, isBytes := v.([]byte); isBytes && b == nil {
			r.values[i] = []byte{}
		}
	}
	return r.values, err
}

func (r *tableRows) Err() error { return r.rows.Err() }

func (r *tableRows) report() {
	if r.progress != nil {
		r.progress(r.table, r.count, r.total)
	}
}

func (r *tableRows) close() error { return r.rows.Close() }
