package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// oldestServer is the oldest version that this engine is tested with.
const oldestServer = 150_000

// checkServer refuses a server that is too old or whose settings lose commits.
func (e *Engine) checkServer(ctx context.Context) error {
	var version int
	var fsync, encoding string
	err := e.pool.QueryRow(ctx, `select current_setting('server_version_num')::int, current_setting('fsync'),
		current_setting('server_encoding')`).Scan(&version, &fsync, &encoding)
	switch {
	case err != nil:
		return fmt.Errorf("postgres: cannot connect: %w", redact(err))
	case version < oldestServer:
		return fmt.Errorf("postgres: the server has version %d; 15 or newer is required", version/10_000)
	case fsync != "on":
		return errors.New("postgres: fsync is off: a power failure would lose what was acknowledged; turn it on")
	case encoding != "UTF8":
		return fmt.Errorf("postgres: the database has the encoding %s; UTF8 is required", encoding)
	}
	return nil
}

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

// vacuumTimeout is how long a vacuum may take. A shorter one than of the indexes would free nothing.
const vacuumTimeout = 10 * time.Minute

func (e *Engine) vacuum(ctx context.Context, conn *pgxpool.Conn, table string) error {
	var owner bool
	err := conn.QueryRow(ctx, `select pg_has_role(relowner, 'usage') from pg_class
		where oid = $1::text::regclass`, table).Scan(&owner)
	if err != nil || !owner {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, vacuumTimeout)
	defer cancel()
	statements := []string{`vacuum (skip_locked, truncate off) ` + table}
	if !e.options.Pooled { // there a connection has no time limit
		statements = []string{"set statement_timeout = 0", statements[0], "reset statement_timeout"}
	}
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Clock returns the server's time.
func (e *Engine) Clock(ctx context.Context) (now time.Time, err error) {
	if err := e.pool.QueryRow(ctx, `select clock_timestamp()`).Scan(&now); err != nil {
		return now, classify(errors.Join(errBroken, err))
	}
	return now, nil
}

// Weakness returns why the server may lose commits that it acknowledged, or "".
func (e *Engine) Weakness(ctx context.Context) (string, error) {
	var commit, fullPages string
	err := e.pool.QueryRow(ctx, `select current_setting('synchronous_commit'), current_setting('full_page_writes')`).
		Scan(&commit, &fullPages)
	switch {
	case err != nil:
		return "", classify(errors.Join(errBroken, err))
	case commit != "on" && commit != "remote_apply":
		return "synchronous_commit is " + commit + ": the last commits can be lost in a crash or a fail-over", nil
	case fullPages != "on":
		return "full_page_writes is off: on most file systems a crash of the machine can tear pages", nil
	}
	return "", nil
}
