package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgresVersion is the version of PostgreSQL's own migrations that the queries
// are written for.
const postgresVersion = 12

// The limits of the audit's connection: a long audit lives.
const (
	connectPatience  = 10 * time.Second // unless the URL says otherwise
	longestStatement = time.Hour        // such as a sort of all rewards
	longestSilence   = 10 * time.Minute // between two statements
	sortMemory       = "64MB"
)

// Postgres reads the books in PostgreSQL by a connection of its own, in a
// transaction that cannot write, also while `serve` runs, and also on a standby. All
// its queries see the moment at which it was opened; until it is closed the server
// keeps what was deleted since. It works through PgBouncer in transaction mode.
type Postgres struct {
	conn    *pgconn.PgConn
	cursors int
}

var _ Queryer = (*Postgres)(nil)

// OpenPostgres connects to the database that the URL names, such as
// "postgres://user@host/name". It fails with ErrSchema when the database does not
// hold books of the known version.
func OpenPostgres(ctx context.Context, url string) (*Postgres, error) {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
			err = errors.New(e.Error()) // pgconn has taken the password out
		}
		return nil, fmt.Errorf("audit: the URL of the database: %w", err)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectPatience
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	p := &Postgres{conn: conn}
	if err := p.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("audit: open the database %s: %w", config.Database, err), p.Close())
	}
	return p, nil
}

// begin starts the one transaction; its first read fixes the snapshot.
func (p *Postgres) begin(ctx context.Context) error {
	settings := fmt.Sprintf(`SET LOCAL statement_timeout = %d; SET LOCAL idle_in_transaction_session_timeout = %d;
		SET LOCAL work_mem = '%s'; SET LOCAL cursor_tuple_fraction = 1; SET LOCAL jit = off`,
		longestStatement.Milliseconds(), longestSilence.Milliseconds(), sortMemory)
	begin := `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ` + settings
	if err := p.exec(ctx, begin); err != nil {
		return err
	}
	known, err := p.number(ctx, `SELECT count(to_regclass('goose_db_version'))`)
	if err != nil {
		return err
	}
	if known == 0 {
		return fmt.Errorf("%w: it has no schema of ours", ErrSchema)
	}
	version, err := p.number(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`)
	if err != nil {
		return err
	}
	if version != postgresVersion {
		return fmt.Errorf("%w: its schema has version %d, known is %d", ErrSchema, version, postgresVersion)
	}
	return nil
}

// exec runs statements whose answer does not matter.
func (p *Postgres) exec(ctx context.Context, statements string) error {
	_, err := p.conn.Exec(ctx, statements).ReadAll()
	return err
}

// number runs a query of one number.
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

// Query implements Queryer: it declares a cursor at the server, from which rows are
// fetched in batches, so that several can be read at once on the one connection.
func (p *Postgres) Query(ctx context.Context, query string) (Rows, error) {
	p.cursors++
	name := fmt.Sprint("audit_", p.cursors)
	if err := p.exec(ctx, `DECLARE `+name+` NO SCROLL CURSOR FOR `+query); err != nil {
		return nil, err
	}
	return &fetched{ctx: ctx, conn: p.conn, name: name}, nil
}

// Close ends the transaction and the connection.
func (p *Postgres) Close() error {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience) //nolint:forbidigo // the caller's may have ended
	defer cancel()
	return p.conn.Close(ctx)
}
