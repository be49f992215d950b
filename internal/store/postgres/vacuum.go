package postgres

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// vacuumTimeout is how long a vacuum may take. One that is ended before it has read the indexes frees nothing.
const vacuumTimeout = 10 * time.Minute

// Vacuum frees the space of a table's removed rows, and of their entries in indexes, for new ones. PostgreSQL does
// that by itself once a minute at most. It does nothing when the role does not own the table, or while another
// process vacuums it.
func (e *Engine) Vacuum(ctx context.Context, table string) error {
	return e.maintain(ctx, func(conn *pgxpool.Conn) error {
		size, err := sizeOf(ctx, conn, table)
		if err != nil || !size.owned {
			return err
		}
		return e.vacuum(ctx, conn, table, "truncate off")
	})
}

// What Shrink compares.
const (
	largeTable = 4 << 20 // bytes with indexes: less is not worth it
	smallRows  = 1 << 20 // bytes without indexes: they are written again in some milliseconds
)

// Shrink implements store.Vacuumer. First it cuts off the empty end of the table, as soon as nobody uses it. What the
// indexes have free is given back only when they are made again, while nobody can use the table. So it does that
// only when few rows are left. It gives up a lock for which somebody would wait.
func (e *Engine) Shrink(ctx context.Context, table string) (done bool, err error) {
	err = e.maintain(ctx, func(conn *pgxpool.Conn) error {
		for _, step := range []struct {
			option string
			rows   int64 // bytes of rows, at most
		}{{"truncate on", math.MaxInt64}, {"full", smallRows}} {
			size, err := sizeOf(ctx, conn, table)
			if done = !size.owned || size.total < largeTable; err != nil || done {
				return err
			}
			if size.rows > step.rows || size.used {
				return nil
			}
			if err := e.vacuum(ctx, conn, table, step.option); err != nil {
				return err
			}
		}
		done = true
		return nil
	})
	return done, err
}

// tableSize is a table as Vacuum and Shrink find it.
type tableSize struct {
	owned       bool  // by this role
	used        bool  // by a transaction of this moment
	rows, total int64 // bytes: without its indexes, and in all
}

func sizeOf(ctx context.Context, conn *pgxpool.Conn, table string) (t tableSize, err error) {
	err = conn.QueryRow(ctx, `select pg_has_role(relowner, 'usage'), exists (select from pg_locks l
			where l.locktype = 'relation' and l.relation = c.oid and l.pid <> pg_backend_pid()
				and l.database = (select oid from pg_database where datname = current_database())),
			pg_relation_size(oid), pg_total_relation_size(oid)
		from pg_class c where oid = $1::text::regclass`, table).Scan(&t.owned, &t.used, &t.rows, &t.total)
	return t, err
}

// maintain runs f on a connection, which is closed after an error.
func (e *Engine) maintain(ctx context.Context, f func(*pgxpool.Conn) error) error {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return classify(errors.Join(errBroken, err))
	}
	defer conn.Release()
	if err := f(conn); err != nil {
		abandon(conn)
		return classify(errors.Join(errBroken, err))
	}
	return nil
}

func (e *Engine) vacuum(ctx context.Context, conn *pgxpool.Conn, table, option string) error {
	ctx, cancel := context.WithTimeout(ctx, vacuumTimeout)
	defer cancel()
	vacuum := `vacuum (skip_locked, ` + option + `) ` + table
	// Nobody must wait for a table whose vacuum waits for a standby.
	statements := []string{
		"set statement_timeout = 0", "set synchronous_commit = local", vacuum,
		"reset synchronous_commit", "reset statement_timeout",
	}
	if e.options.Pooled { // there a setting would stay with the server's connection, which has no time limit
		statements = []string{vacuum}
	}
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
