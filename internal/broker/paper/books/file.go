package books

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"stockrewards/internal/dbfile"
)

const (
	inMemory       = ":memory:"
	schemaVersion  = 4
	maxReaders     = 4
	minimumLibrary = 3_051_003 // SQLite 3.51.3, as major*1e6 + minor*1e3 + patch
)

// pragmas are the settings of every connection. A write waits for another process's write
// up to five seconds; a commit is durable when it returns.
const pragmas = "_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)" +
	"&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)"

//go:embed schema.sql
var schema string // version 2, of an empty file

//go:embed schema_2.sql
var schema2 string // from version 1 to 2

//go:embed schema_3.sql
var schema3 string // from version 2 to 3

//go:embed schema_4.sql
var schema4 string // from version 3 to 4

// connect prepares the connections. It creates the file, for its mode. From then on only
// SQLite may open it: closing another descriptor of it would drop SQLite's locks.
func (b *Books) connect(ctx context.Context, path string) (err error) {
	if path == inMemory {
		if b.writer, err = sql.Open("sqlite", inMemory+"?_txlock=immediate&"+pragmas); err != nil {
			return err
		}
		b.writer.SetMaxOpenConns(1) // each connection has its own database
		b.reader = b.writer
		return nil
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	if path, err = dbfile.Prepare(path); err != nil {
		return err
	}
	if err := createFile(path); err != nil {
		return err
	}
	name := "file:" + (&url.URL{Path: path}).EscapedPath()
	if err := refuseForeign(ctx, name); err != nil {
		return err
	}
	name += "?" + pragmas
	if b.writer, err = sql.Open("sqlite", name+"&_txlock=immediate"); err != nil {
		return err
	}
	b.writer.SetMaxOpenConns(1)
	if b.reader, err = sql.Open("sqlite", name+"&_pragma=query_only(1)"); err != nil {
		return errors.Join(err, b.writer.Close())
	}
	b.reader.SetMaxOpenConns(maxReaders)
	b.reader.SetMaxIdleConns(maxReaders)
	return nil
}

// refuseForeign fails when the file has tables, but not those of this package. It changes nothing: a connection with
// this package's settings would switch another program's file to a write-ahead log.
func refuseForeign(ctx context.Context, name string) (err error) {
	db, err := sql.Open("sqlite", name+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var version, tables, ours int
	err = db.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version), count(*),
		count(*) FILTER (WHERE name = 'account') FROM sqlite_schema WHERE type = 'table'`).
		Scan(&version, &tables, &ours)
	if err == nil && tables > 0 && (version == 0 || ours == 0) {
		err = errors.New("the file is another program's database: name another file")
	}
	return err
}

func createFile(path string) error {
	f, err := dbfile.Create(path, "")
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func (b *Books) checkLibrary(ctx context.Context) error {
	var version string
	if err := b.writer.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return err
	}
	number := 0
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return fmt.Errorf("cannot read the version of SQLite %q: %w", version, err)
		}
		number = number*1_000 + n
	}
	if number < minimumLibrary {
		return fmt.Errorf("SQLite %s is too old: 3.51.3 or newer is needed", version)
	}
	return nil
}

// migrate brings the file to this version's schema, from an empty file or an older
// version.
func (b *Books) migrate(ctx context.Context, o Options, first Account) error {
	return b.update(ctx, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
			return err
		}
		script := "DELETE FROM account WHERE only = 0" // a write: SQLite reports a read-only file only then
		switch {
		case version == 0:
			return create(ctx, tx, o, first)
		case version == 1:
			script = schema2 + schema3 + schema4
		case version == 2: //nolint:mnd // an earlier version
			script = schema3 + schema4
		case version == 3: //nolint:mnd // the previous version
			script = schema4
		case version != schemaVersion:
			return fmt.Errorf("the file has version %d, this program knows version %d", version, schemaVersion)
		}
		_, err := tx.ExecContext(ctx, script)
		return err
	})
}

func create(ctx context.Context, tx *sql.Tx, o Options, first Account) error {
	if _, err := tx.ExecContext(ctx, schema+schema3+schema4); err != nil {
		return fmt.Errorf("cannot create the tables: %w", err)
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO account (only, id, number, seed, created_at, initial_cash, cash, held)
		VALUES (1, ?1, ?2, ?3, ?4, ?5, ?5, 0)`,
		first.ID, first.Number, int64(o.Seed), stored(first.CreatedAt), o.Cash)
	return err
}
