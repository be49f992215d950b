package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// vacuumTimeout is how long a vacuum may take. One that is ended before it has read the indexes frees nothing.
const vacuumTimeout = 10 * time.Minute

// Vacuum frees the space of a table's removed rows, and of their entries in indexes, for new ones. PostgreSQL does
// that by itself once a minute at most. It does nothing when the role does not own the table, or while another
// process vacuums it.
func (e *Engine) Vacuum(ctx context.Context, table string) error {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return classify(errors.Join(errBroken, err))
	}
	defer conn.Release()
	if err := e.vacuum(ctx, conn, table); err != nil {
		abandon(conn)
		return classify(errors.Join(errBroken, err))
	}
	return nil
}

func (e *Engine) vacuum(ctx context.Context, conn *pgxpool.Conn, table string) error {
	var owner bool
	err := conn.QueryRow(ctx, `select pg_has_role(relowner, 'usage') from pg_class
		where oid = $1::text::regclass`, table).Scan(&owner)
	if err != nil || !owner {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, vacuumTimeout)
	defer cancel()
	vacuum := `vacuum (skip_locked, truncate off) ` + table
	statements := []string{"set statement_timeout = 0", vacuum, "reset statement_timeout"}
	if e.options.Pooled { // there a connection has no time limit
		statements = []string{vacuum}
	}
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
