package growth

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

// file is an SQLite file under bulk load. It has no journal until it is complete: an
// incomplete file is useless.
type file struct {
	path    string
	db      *sql.DB
	tx      *sql.Tx
	indexes []string // the statements that build them again
	inserts map[string]*insert
}

// insert is the prepared statements for rowsAtOnce rows and for one.
type insert struct{ many, single *sql.Stmt }

var _ target = (*file)(nil)

func openSQLite(ctx context.Context, path string) (*file, error) {
	settings := url.Values{"_pragma": {
		"journal_mode(DELETE)", "journal_mode(OFF)", "synchronous(OFF)", "foreign_keys(0)", "cache_size(-1000000)",
		"locking_mode(EXCLUSIVE)", "temp_store(FILE)", "mmap_size(0)",
	}}
	name := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String()
	db, err := sql.Open("sqlite", name+"?"+settings.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	f := &file{path: path, db: db, inserts: make(map[string]*insert)}
	return f, db.PingContext(ctx)
}

func (f *file) column(ctx context.Context, query string) (list []string, err error) {
	rows, err := f.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}

// begin leaves the indexes of constraints, which have no SQL.
func (f *file) begin(ctx context.Context) (err error) {
	f.indexes, err = f.column(ctx, `SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL`)
	if err != nil {
		return err
	}
	names, err := f.column(ctx, `SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL`)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := f.exec(ctx, `DROP INDEX `+name); err != nil {
			return err
		}
	}
	f.tx, err = f.db.BeginTx(ctx, nil)
	return err
}

// rowsAtOnce is how many rows a statement inserts.
const rowsAtOnce = 40

func (f *file) insert(ctx context.Context, t table, rows [][]any) error {
	in, err := f.prepare(ctx, t)
	if err != nil {
		return err
	}
	args := make([]any, 0, rowsAtOnce*len(t.columns))
	for chunk := range slices.Chunk(rows, rowsAtOnce) {
		if len(chunk) == rowsAtOnce {
			args = args[:0]
			for _, row := range chunk {
				args = append(args, row...)
			}
			if _, err := in.many.ExecContext(ctx, args...); err != nil {
				return err
			}
			continue
		}
		for _, row := range chunk {
			if _, err := in.single.ExecContext(ctx, row...); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *file) prepare(ctx context.Context, t table) (*insert, error) {
	if in := f.inserts[t.name]; in != nil {
		return in, nil
	}
	row := `(?` + strings.Repeat(`, ?`, len(t.columns)-1) + `)`
	head := `INSERT INTO ` + t.name + ` (` + strings.Join(t.columns, ", ") + `) VALUES ` + row
	in := new(insert)
	var err error
	if in.single, err = f.tx.PrepareContext(ctx, head); err != nil {
		return nil, err
	}
	if in.many, err = f.tx.PrepareContext(ctx, head+strings.Repeat(`, `+row, rowsAtOnce-1)); err != nil {
		return nil, err
	}
	f.inserts[t.name] = in
	return in, nil
}

func (f *file) exec(ctx context.Context, statement string) error {
	run := f.db.ExecContext
	if f.tx != nil {
		run = f.tx.ExecContext
	}
	_, err := run(ctx, statement)
	return err
}

func (f *file) finish(ctx context.Context) error {
	if err := f.exec(ctx, sumPositions); err != nil {
		return err
	}
	if err := f.tx.Commit(); err != nil {
		return err
	}
	f.tx = nil
	for _, statement := range f.indexes {
		if err := f.exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	for _, setting := range []string{`locking_mode = NORMAL`, `journal_mode = WAL`, `wal_checkpoint(TRUNCATE)`} {
		if err := f.exec(ctx, `PRAGMA `+setting); err != nil {
			return err
		}
	}
	return f.sync()
}

// sync syncs the file. Closing this descriptor drops SQLite's locks, which nobody needs yet.
func (f *file) sync() error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

func (f *file) sizes(ctx context.Context) (sizes []Size, total int64, err error) {
	rows, err := f.db.QueryContext(ctx, `SELECT d.name, coalesce(s.tbl_name, d.name), sum(d.pgsize)
		FROM dbstat d LEFT JOIN sqlite_schema s ON s.name = d.name GROUP BY 1, 2 ORDER BY 2, 3 DESC`)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s Size
		if err := rows.Scan(&s.Name, &s.Table, &s.Bytes); err != nil {
			return nil, 0, err
		}
		sizes = append(sizes, s)
	}
	info, err := os.Stat(f.path)
	if err == nil {
		total = info.Size()
	}
	return sizes, total, errors.Join(err, rows.Err())
}

func (f *file) close() error {
	if f.tx != nil {
		_ = f.tx.Rollback() // loading failed, which is reported
	}
	return f.db.Close()
}
