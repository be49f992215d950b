package growth

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the driver
)

// Size is the size of a table or an index.
type Size struct {
	Name  string
	Table string // the table, or the one that the index belongs to
	Bytes int64
}

// Sizes are what a store takes on the disk.
type Sizes struct {
	Parts []Size // by table and index
	Data  int64  // bytes of the database, after a checkpoint
	Log   int64  // bytes of the write-ahead log
}

// Measure vacuums a database of PostgreSQL, makes a checkpoint and returns the sizes. No
// service may be running on the store.
func Measure(ctx context.Context, database string) (Sizes, error) {
	if onPostgres(database) {
		return measurePostgres(ctx, database)
	}
	return measureSQLite(ctx, strings.TrimPrefix(database, "sqlite:"))
}

func measureSQLite(ctx context.Context, path string) (s Sizes, err error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath()}).String())
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	// The log keeps its size when it is copied into the database.
	if _, err := db.ExecContext(ctx, `PRAGMA wal_checkpoint(FULL)`); err != nil {
		return s, err
	}
	files, err := filepath.Glob(escapeGlob(path) + "*")
	if err != nil {
		return s, err
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return s, err
		}
		switch strings.TrimPrefix(file, path) {
		case "-wal", "-shm":
			s.Log += info.Size()
		default:
			s.Data += info.Size()
		}
	}
	rows, err := db.QueryContext(ctx, `SELECT d.name, coalesce(s.tbl_name, d.name), d.pgsize
		FROM dbstat d LEFT JOIN sqlite_schema s ON s.name = d.name WHERE d.aggregate = 1 ORDER BY 2, 3 DESC`)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var part Size
		if err := rows.Scan(&part.Name, &part.Table, &part.Bytes); err != nil {
			return s, err
		}
		s.Parts = append(s.Parts, part)
	}
	return s, rows.Err()
}

// escapeGlob makes a path a pattern that matches it.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

func measurePostgres(ctx context.Context, database string) (s Sizes, err error) {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if _, err := conn.Exec(ctx, `VACUUM (ANALYZE)`); err != nil {
		return s, err
	}
	if _, err := conn.Exec(ctx, `CHECKPOINT`); err != nil {
		return s, err
	}
	rows, err := conn.Query(ctx, `SELECT c.relname::text, coalesce(t.relname, c.relname)::text,
		pg_table_size(c.oid)
		FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = i.indrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'i') ORDER BY 2, 3 DESC`)
	if err != nil {
		return s, err
	}
	if s.Parts, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Size]); err != nil {
		return s, err
	}
	err = conn.QueryRow(ctx, `SELECT pg_database_size(current_database()), (SELECT sum(size) FROM pg_ls_waldir())`).
		Scan(&s.Data, &s.Log)
	return s, err
}
