package audit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	_ "modernc.org/sqlite" // the driver

	"stockrewards/internal/dbfile"
)

// schemaVersion is the version of the schema that the queries are written for.
const schemaVersion = 11

// ErrSchema means that the database is not one of ours, or of another version.
var ErrSchema = errors.New("not books that this version of stockrewards can audit")

// SQLite reads the books of one SQLite file by a connection of its own that cannot
// write, also while `serve` runs. All its queries see the moment at which it was
// opened; until it is closed the write-ahead log cannot shrink.
type SQLite struct {
	db   *sql.DB
	conn *sql.Conn
}

var _ Queryer = (*SQLite)(nil)

// OpenSQLite opens a file that exists. It fails with ErrSchema when the file does
// not hold books of the known version.
func OpenSQLite(ctx context.Context, path string) (*SQLite, error) {
	if err := dbfile.CheckName(path); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	options := url.Values{
		"mode":    {"ro"},
		"_pragma": {"busy_timeout(5000)", "query_only(1)", "mmap_size(0)", "cache_size(-16384)"},
	}
	name := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String()
	db, err := sql.Open("sqlite", name+"?"+options.Encode())
	if err != nil {
		return nil, fmt.Errorf("audit: open %s: %w", path, err)
	}
	s := &SQLite{db: db}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("audit: open %s: %w", path, err), s.Close())
	}
	return s, nil
}

// begin starts the one transaction; its first read fixes the snapshot.
func (s *SQLite) begin(ctx context.Context) (err error) {
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, `BEGIN`); err != nil {
		return err
	}
	var tables int
	const versions = `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'goose_db_version'`
	if err := s.conn.QueryRowContext(ctx, versions).Scan(&tables); err != nil {
		return err
	}
	if tables == 0 {
		return fmt.Errorf("%w: it has no schema of ours", ErrSchema)
	}
	var version int64
	const newest = `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied = 1`
	if err := s.conn.QueryRowContext(ctx, newest).Scan(&version); err != nil {
		return err
	}
	if version != schemaVersion {
		return fmt.Errorf("%w: its schema has version %d, known is %d", ErrSchema, version, schemaVersion)
	}
	return nil
}

// Query implements Queryer.
func (s *SQLite) Query(ctx context.Context, query string) (Rows, error) {
	rows, err := s.conn.QueryContext(ctx, query) //nolint:rowserrcheck // the caller asks for Err
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// Close ends the transaction and closes the file.
func (s *SQLite) Close() error {
	var errs []error
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	return errors.Join(append(errs, s.db.Close())...)
}
