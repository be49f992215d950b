package prove

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"stockrewards/internal/audit"
)

// shadows are temporary tables at the server that hide the tables of the books, for
// one connection and until its transaction ends. When they are made the transaction
// becomes one that cannot write: PostgreSQL then lets it change its temporary tables
// only, so that no plant can touch the books.
type shadows struct{ *audit.Postgres }

var _ books = shadows{}

// shadow copies the books of one moment from a database.
func shadow(ctx context.Context, url string) (books, error) {
	return makeShadows(ctx, url, "", func(shadows) error { return nil })
}

// shadowOf copies the books in an SQLite file into a database that has books too,
// whose tables say what the columns are.
func shadowOf(ctx context.Context, url, path string) (_ books, err error) {
	db, err := sql.Open("sqlite", fileURL(path, "mode=ro"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return makeShadows(ctx, url, ` WITH NO DATA`, func(s shadows) error {
		for _, table := range Tables() {
			if err := s.fill(ctx, db, table); err != nil {
				return fmt.Errorf("%s of the built-in books: %w", table, err)
			}
		}
		return nil
	})
}

// makeShadows makes the tables, fills them, and closes the books against writing.
func makeShadows(ctx context.Context, url, rows string, fill func(shadows) error) (books, error) {
	p, err := audit.OpenPostgresToCopy(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("prove: %w", explained(err))
	}
	s := shadows{p}
	// The path of the connection stays: it says where the books are.
	statements := []string{`SELECT set_config('search_path', 'pg_temp, ' || current_setting('search_path'), true)`}
	for _, table := range Tables() {
		statements = append(statements, `CREATE TEMPORARY TABLE `+table+` ON COMMIT DROP AS TABLE `+table+rows)
	}
	for _, key := range keys() {
		statements = append(statements, `CREATE INDEX ON pg_temp.`+key)
	}
	if err = s.all(ctx, statements); err == nil {
		err = fill(s)
	}
	if err == nil {
		err = s.all(ctx, closing())
	}
	if err != nil {
		err = fmt.Errorf("prove: copy the books into temporary tables: %w", explained(err))
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// closing lets the planner know the tables, and ends the writing outside of them.
func closing() (statements []string) {
	for _, table := range Tables() {
		statements = append(statements, `ANALYZE pg_temp.`+table)
	}
	return append(statements, `SET TRANSACTION READ ONLY`)
}

func (s shadows) all(ctx context.Context, statements []string) error {
	for _, statement := range statements {
		if _, err := s.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// fill copies the rows of a table from SQLite.
func (s shadows) fill(ctx context.Context, from *sql.DB, table string) (err error) {
	rows, err := from.QueryContext(ctx, `SELECT * FROM `+table) //nolint:gosec // a name of Tables
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	marks, values, dest := make([]string, len(columns)), make([]any, len(columns)), make([]any, len(columns))
	for i := range columns {
		marks[i], dest[i] = "$"+strconv.Itoa(i+1), &values[i]
	}
	insert := `INSERT INTO pg_temp.` + table + ` ("` + strings.Join(columns, `", "`) + `") VALUES (` +
		strings.Join(marks, ", ") + `)`
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		if _, err := s.Exec(ctx, insert, texts(values)...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// texts puts what SQLite's driver has read into PostgreSQL's words.
func texts(values []any) [][]byte {
	list := make([][]byte, len(values))
	for i, value := range values {
		if blob, ok := value.([]byte); ok {
			value = `\x` + hex.EncodeToString(blob)
		}
		list[i] = fmt.Append([]byte{}, value) // nil would stand for NULL
	}
	return list
}

// with implements books by a savepoint. After an error the whole transaction ends.
func (s shadows) with(ctx context.Context, statements []string, f func() error) (planted bool, err error) {
	if _, err := s.Exec(ctx, `SAVEPOINT planted`); err != nil {
		return false, fmt.Errorf("prove: %w", err)
	}
	defer func() {
		if err == nil {
			err = s.all(ctx, []string{`ROLLBACK TO SAVEPOINT planted`, `RELEASE SAVEPOINT planted`})
		}
	}()
	for _, statement := range statements {
		statement = InPostgres(statement)
		n, err := s.Exec(ctx, statement)
		if err != nil {
			return false, fmt.Errorf("prove: plant by %s: %w", statement, explained(err))
		}
		if n == 0 {
			return false, nil
		}
	}
	return true, f()
}

func (s shadows) close() error { return s.Close() }

// explained adds to an error of the server what can be done about it.
func explained(err error) error {
	const notAllowed, diskFull, notSupported, readOnly = "42501", "53100", "0A000", "25006"
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	switch e.Code {
	case notAllowed:
		return fmt.Errorf("%w: the role must be able to read the tables of the books, and needs the right TEMPORARY "+
			"on the database (GRANT TEMPORARY ON DATABASE … TO …)", err)
	case diskFull:
		return fmt.Errorf("%w: the server needs the room of the books once more, "+
			"where temp_tablespaces says; what was copied is gone again", err)
	case notSupported, readOnly:
		return fmt.Errorf("%w: a standby cannot hold temporary tables: name the primary", err)
	}
	return err
}
