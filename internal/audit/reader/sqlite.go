package reader

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"modernc.org/sqlite" // the driver
	lib "modernc.org/sqlite/lib"

	"stockrewards/internal/dbfile"
)

// sqliteVersion is the version of SQLite's migrations that the queries are written for.
const sqliteVersion = 28

// SQLite is a store in an SQLite file, on one read-only connection. `serve` may run. Its
// queries see the snapshot of the moment it was opened; until Close the write-ahead log
// cannot shrink.
type SQLite struct {
	db   *sql.DB
	conn *sql.Conn
}

var _ Store = (*SQLite)(nil)

// OpenSQLite opens an existing file. It fails with ErrSchema when the file is not a store of
// the known version.
func OpenSQLite(ctx context.Context, path string) (*SQLite, error) {
	if err := dbfile.CheckRead(path); err != nil {
		return nil, err
	}
	options := url.Values{
		"mode":    {"ro"},
		"_pragma": {"busy_timeout(5000)", "query_only(1)", "mmap_size(0)", "cache_size(-16384)"},
	}
	db, err := sql.Open("sqlite", dbfile.URI(path)+"?"+options.Encode())
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	s := &SQLite{db: db}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open %s: %w", path, inWords(path, err)), s.Close())
	}
	return s, nil
}

// inWords adds what is missing to the error of a file that SQLite cannot open, or whose log it cannot make or read.
func inWords(path string, err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		const primary = 0xff
		if code := e.Code() & primary; code == lib.SQLITE_READONLY || code == lib.SQLITE_CANTOPEN {
			return dbfile.NoAccess(path, err)
		}
	}
	return err
}

// begin starts the transaction; its first read fixes the snapshot.
func (s *SQLite) begin(ctx context.Context) (err error) {
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, `BEGIN`); err != nil {
		return err
	}
	return checkVersion(sqliteVersion, func(query string) (n int64, err error) {
		err = s.conn.QueryRowContext(ctx, query).Scan(&n)
		return n, err
	}, `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'goose_db_version'`)
}

// checkVersion compares the schema's version with the known one. The query counts the tables
// that have the version.
func checkVersion(known int64, number func(query string) (int64, error), tables string) error {
	n, err := number(tables)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("%w: it has no schema of stockrewards", ErrSchema)
	}
	version, err := number(`SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`)
	if err != nil {
		return err
	}
	if version != known {
		return fmt.Errorf("%w: its schema has version %d, known is %d", ErrSchema, version, known)
	}
	return nil
}

// Query implements Queryer.
func (s *SQLite) Query(ctx context.Context, query string) (Rows, error) {
	rows, err := s.conn.QueryContext(ctx, query) //nolint:rowserrcheck // the caller checks Err
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// InSegments implements Queryer.
func (s *SQLite) InSegments() bool { return true }

// Close ends the transaction and closes the file.
func (s *SQLite) Close() error {
	var errs []error
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	return errors.Join(append(errs, s.db.Close())...)
}
