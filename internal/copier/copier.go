// Package copier carries all books from an SQLite file into an empty database of
// PostgreSQL, in one transaction of it: the target has all of them or nothing. It
// knows rows and columns, and nothing of what they mean beside a few settings. The
// caller has made the target's schema, and keeps everybody from writing to the source.
// Read target.go for what counts as empty.
package copier

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrNotCopied says that the copy failed and the target is as it was.
var ErrNotCopied = errors.New("the books were not moved")

var errUnknownOutcome = errors.New("copier: it is not known whether the target has the books")

// ErrNotEmpty says that the target has books, or other tables.
var ErrNotEmpty = errors.New("the target is not empty")

// Options says how books are moved.
type Options struct {
	// BrokerKind replaces the kind of the broker that the books belong to; "" keeps it.
	BrokerKind string
	// Progress is told of the rows of a table that were sent, again and again and at
	// its end. It may be nil.
	Progress func(table string, rows, total int64)
}

// The tables in the order of their references.
func tables() []string {
	return []string{
		"settings", "operator_log", "apps", "keys", "users", "assets", "prices", "rewards", "orders", "order_rewards",
		"order_resolutions", "allocations", "holdings", "spending", "house_topups", "lease", "alarms",
		"broker_conflicts", "actions", "announcements", "positions",
	}
}

// sealed is the source's setting that says that it was moved, which is not.
const sealed = "moved"

// Copy copies the books in the file at path to the database that the URL names. Only
// an error that is ErrNotCopied means that the target is as it was; after any other one
// it has all the books, or nothing, and Inspect tells which.
func Copy(ctx context.Context, path, url string, o Options) error {
	from, err := openSource(ctx, path)
	if err != nil {
		return notCopied(err)
	}
	defer from.close() //nolint:errcheck // it was only read
	conn, err := connect(ctx, url)
	if err != nil {
		return notCopied(err)
	}
	defer disconnect(conn) //nolint:errcheck // what counts is the commit's answer
	c := &copying{from: from, to: conn, options: o}
	if err := c.run(ctx); err != nil {
		return notCopied(err)
	}
	return c.commit(context.WithoutCancel(ctx)) // it cannot be stopped halfway
}

func notCopied(err error) error { return fmt.Errorf("%w: %w", ErrNotCopied, err) }

// copying is a move under way.
type copying struct {
	from    *source
	to      *pgx.Conn
	options Options
}

// run does everything but the commit.
func (c *copying) run(ctx context.Context) error {
	if err := c.from.checkTables(ctx); err != nil {
		return err
	}
	if err := lock(ctx, c.to); err != nil {
		return err
	}
	state, err := inspect(ctx, c.to)
	if err != nil {
		return err
	}
	if !state.Empty {
		return ErrNotEmpty
	}
	if err := exec(ctx, c.to, `DELETE FROM lease`); err != nil { // the one that the schema is made with
		return err
	}
	for _, table := range tables() {
		if err := c.table(ctx, table); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	return c.finish(ctx)
}

// finish makes the target ready to be used.
func (c *copying) finish(ctx context.Context) error {
	if c.options.BrokerKind != "" {
		err := exec(ctx, c.to, `UPDATE settings SET value = $1 WHERE name = 'broker_kind'`, c.options.BrokerKind)
		if err != nil {
			return err
		}
	}
	err := exec(ctx, c.to, `SELECT setval(pg_get_serial_sequence('assets', 'id'), (SELECT max(id) FROM assets))
		WHERE EXISTS (SELECT 1 FROM assets)`)
	if err != nil {
		return err
	}
	for _, table := range tables() {
		if err := exec(ctx, c.to, `ANALYZE `+table); err != nil {
			return err
		}
	}
	return nil
}

// commit commits. Only an answer that says so, without a warning (such as that it
// was not replicated), is a commit; an error of the server that leaves the connection
// in use is none; everything else is not known.
func (c *copying) commit(ctx context.Context) error {
	delete(c.to.PgConn().CustomData(), warned)
	results, err := c.to.PgConn().Exec(ctx, "COMMIT").ReadAll()
	warning := c.to.PgConn().CustomData()[warned]
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.SeverityUnlocalized == "ERROR" {
		return notCopied(err)
	}
	switch {
	case err != nil:
		return errors.Join(errUnknownOutcome, err)
	case len(results) != 1 || results[0].CommandTag.String() != "COMMIT":
		return notCopied(errors.New("the server has rolled back"))
	case warning != nil:
		return fmt.Errorf("%w: the server warns: %v", errUnknownOutcome, warning)
	}
	return nil
}
