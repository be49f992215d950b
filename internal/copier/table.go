package copier

import (
	"context"
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
		return fmt.Errorf("the source has %d rows, %d were sent, %d are there", rows.total, sent, stored)
	}
	rows.tell()
	return nil
}

// columns are those of a table, which must be the same on both sides.
func (c *copying) columns(ctx context.Context, table string) ([]string, error) {
	source, err := c.from.columns(ctx, table)
	if err != nil {
		return nil, err
	}
	target, err := texts(ctx, c.to, `SELECT column_name::text FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = $1 ORDER BY column_name COLLATE "C"`, table)
	if err != nil {
		return nil, err
	}
	if fmt.Sprint(source) != fmt.Sprint(target) {
		return nil, fmt.Errorf("the source has the columns %v, the target %v", source, target)
	}
	return source, nil
}
