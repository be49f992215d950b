package paper

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver named "sqlite"

	"stockrewards/internal/dbfile"
	"stockrewards/internal/money"
)

const (
	inMemory       = ":memory:"
	booksVersion   = 3
	booksMode      = 0o600
	maxReaders     = 4
	minimumLibrary = 3_051_003 // SQLite 3.51.3, as major*1e6 + minor*1e3 + patch
)

// The settings of every connection. A write waits for another process's write up
// to five seconds; a commit is on the disk when it returns.
const pragmas = "_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)" +
	"&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)"

//go:embed schema.sql
var schema string

//go:embed schema_2.sql
var schema2 string

//go:embed schema_3.sql
var schema3 string

// books are the brokerage's durable state.
type books struct {
	writer *sql.DB // one connection, whose transactions are immediate
	reader *sql.DB // several; the writer itself when the books are in memory

	// What is written once, when the books are created.
	accountID     string
	accountNumber string
	seed          uint64
	createdAt     time.Time
}

// page is what new books begin with.
type page struct {
	accountID string
	number    string
	seed      uint64
	cash      money.USD
	createdAt time.Time
}

func firstPage(o Options, ids *idSource, now time.Time) (page, error) {
	id, err := ids.next()
	if err != nil {
		return page{}, err
	}
	number := "PA" + strings.ToUpper(strings.ReplaceAll(id, "-", "")[:10])
	return page{accountID: id, number: number, seed: o.Seed, cash: o.Cash, createdAt: now}, nil
}

func openBooks(ctx context.Context, path string, first page) (*books, error) {
	b, err := connect(path)
	if err != nil {
		return nil, err
	}
	err = b.checkLibrary(ctx)
	if err == nil {
		err = b.begin(ctx, first)
	}
	if err == nil {
		err = b.readPage(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// connect prepares the connections. The file is created here, to have its mode;
// from then on only SQLite opens it, since closing any other descriptor of it
// would drop SQLite's locks.
func connect(path string) (*books, error) {
	if path == inMemory {
		db, err := sql.Open("sqlite", inMemory+"?_txlock=immediate&"+pragmas)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1) // each connection would have books of its own
		return &books{writer: db, reader: db}, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if path, err = dbfile.Prepare(path); err != nil {
		return nil, err
	}
	if err := createFile(path); err != nil {
		return nil, err
	}
	name := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + pragmas
	writer, err := sql.Open("sqlite", name+"&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	reader, err := sql.Open("sqlite", name+"&_pragma=query_only(1)")
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	reader.SetMaxOpenConns(maxReaders)
	reader.SetMaxIdleConns(maxReaders)
	return &books{writer: writer, reader: reader}, nil
}

func createFile(path string) error {
	const newFile = os.O_CREATE | os.O_EXCL | os.O_WRONLY
	f, err := os.OpenFile(path, newFile, booksMode) // the operator names the file
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func (b *books) close() error {
	if b.reader == b.writer {
		return b.writer.Close()
	}
	return errors.Join(b.reader.Close(), b.writer.Close()) // the last one out folds the log in
}

func (b *books) checkLibrary(ctx context.Context) error {
	var version string
	if err := b.writer.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return err
	}
	number := 0
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return fmt.Errorf("read the version of SQLite %q: %w", version, err)
		}
		number = number*1_000 + n
	}
	if number < minimumLibrary {
		return fmt.Errorf("SQLite %s is too old, 3.51.3 is the oldest that will do", version)
	}
	return nil
}

// begin creates the tables in an empty file and refuses a file of another kind.
func (b *books) begin(ctx context.Context, first page) error {
	return b.update(ctx, func(tx *sql.Tx) error {
		var version, tables int
		const look = "SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version"
		if err := tx.QueryRowContext(ctx, look).Scan(&version, &tables); err != nil {
			return err
		}
		switch {
		case version == booksVersion: // SQLite opens a file to read only when it cannot write it
			_, err := tx.ExecContext(ctx, "DELETE FROM account WHERE only = 0")
			return err
		case version == 1:
			_, err := tx.ExecContext(ctx, schema2+schema3)
			return err
		case version == 2: //nolint:mnd // the version before this one
			_, err := tx.ExecContext(ctx, schema3)
			return err
		case version != 0:
			return fmt.Errorf("they are of version %d, this program knows version %d", version, booksVersion)
		case tables != 0:
			return errors.New("the file is another program's database")
		}
		if _, err := tx.ExecContext(ctx, schema+schema3); err != nil {
			return fmt.Errorf("create the tables: %w", err)
		}
		_, err := tx.ExecContext(ctx,
			`INSERT INTO account (only, id, number, seed, created_at, initial_cash, cash, held)
			VALUES (1, ?1, ?2, ?3, ?4, ?5, ?5, 0)`,
			first.accountID, first.number, signed(first.seed), first.createdAt.UnixMicro(), int64(first.cash))
		return err
	})
}

func (b *books) readPage(ctx context.Context) error {
	var seed, createdAt int64
	err := b.reader.QueryRowContext(ctx, "SELECT id, number, seed, created_at FROM account").
		Scan(&b.accountID, &b.accountNumber, &seed, &createdAt)
	b.seed, b.createdAt = unsigned(seed), fromMicros(createdAt)
	return err
}

// update runs f in a transaction that has the write lock from its start. It is
// committed when f returns nil.
func (b *books) update(ctx context.Context, f func(*sql.Tx) error) error {
	return inTx(ctx, b.writer, f)
}

// view runs f in a transaction that sees one state of the books.
func (b *books) view(ctx context.Context, f func(*sql.Tx) error) error {
	return inTx(ctx, b.reader, f)
}

func inTx(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func fromMicros(n int64) time.Time { return time.UnixMicro(n).UTC() }
