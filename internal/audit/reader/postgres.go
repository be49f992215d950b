package reader

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgresVersion is the version of PostgreSQL's migrations that the queries are written for.
const postgresVersion = 37

// The limits of a connection. An audit may take hours.
const (
	connectTimeout   = 10 * time.Second // unless the URL has one
	statementTimeout = time.Hour
	idleTimeout      = 10 * time.Minute // between two statements
	sortMemory       = "64MB"
)

// Postgres is a store in PostgreSQL, on one connection with a read-only transaction. `serve`
// may run, and the server may be a standby. Its queries see the snapshot of the moment it was
// opened; until Close the server keeps rows that were deleted since. It works through
// PgBouncer in transaction mode.
type Postgres struct {
	conn    *pgconn.PgConn
	cursors int
}

var _ Store = (*Postgres)(nil)

// OpenPostgres connects to the database of a URL, such as "postgres://user@host/name". It
// fails with ErrSchema when the database is not a store of the known version. No error
// contains the password.
func OpenPostgres(ctx context.Context, url string) (*Postgres, error) {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
			err = errors.New(e.Error()) // pgconn has removed the password
		}
		return nil, fmt.Errorf("cannot read the database's URL: %w", err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	config.RuntimeParams["client_encoding"] = "UTF8"
	ofServe := func(name, _ string) bool { return strings.HasPrefix(name, "pool_") }
	maps.DeleteFunc(config.RuntimeParams, ofServe)
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("cannot open the database %s: %w", config.Database, err)
	}
	p := &Postgres{conn: conn}
	if err := p.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the database %s: %w", config.Database, err), p.Close())
	}
	return p, nil
}

// begin starts the transaction; its first read fixes the snapshot.
func (p *Postgres) begin(ctx context.Context) error {
	begin := fmt.Sprintf(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
		SET LOCAL statement_timeout = %d; SET LOCAL idle_in_transaction_session_timeout = %d;
		SET LOCAL work_mem = '%s'; SET LOCAL cursor_tuple_fraction = 1; SET LOCAL jit = off;
		SET LOCAL row_security = off`,
		statementTimeout.Milliseconds(), idleTimeout.Milliseconds(), sortMemory)
	if err := p.exec(ctx, begin); err != nil {
		return err
	}
	return checkVersion(postgresVersion, func(query string) (int64, error) { return p.number(ctx, query) },
		`SELECT count(to_regclass('goose_db_version'))`)
}

// exec runs statements and ignores their results.
func (p *Postgres) exec(ctx context.Context, statements string) error {
	_, err := p.conn.Exec(ctx, statements).ReadAll()
	return err
}

// number runs a query with one number as its result.
func (p *Postgres) number(ctx context.Context, query string) (n int64, err error) {
	rows, err := p.Query(ctx, query)
	if err != nil {
		return 0, err
	}
	if rows.Next() {
		err = rows.Scan((*integer)(&n))
	}
	return n, errors.Join(err, rows.Err(), rows.Close())
}

// Query implements Queryer. It declares a cursor, whose rows are fetched in batches, so that
// several queries can be read on one connection.
func (p *Postgres) Query(ctx context.Context, query string) (Rows, error) {
	p.cursors++
	name := fmt.Sprint("audit_", p.cursors)
	if err := p.exec(ctx, `DECLARE `+name+` NO SCROLL CURSOR FOR `+query); err != nil {
		return nil, err
	}
	return &postgresRows{ctx: ctx, conn: p.conn, name: name}, nil
}

// InSegments implements Queryer. Indexes of the database find rewards, by segment.
func (p *Postgres) InSegments() bool { return false }

// Close ends the transaction and the connection.
func (p *Postgres) Close() error {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience) //nolint:forbidigo // the caller's may have ended
	defer cancel()
	return p.conn.Close(ctx)
}
