package prove

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"stockrewards/internal/audit"
)

// books is a copy without any constraint, so that nothing but the audit can object
// to what is planted in it.
type books interface {
	// Query lets the audit see what is planted.
	audit.Queryer
	// with plants, calls f and takes it away again. It tells whether every statement
	// found a row to damage. After an error nothing more can be planted.
	with(ctx context.Context, statements []string, f func() error) (planted bool, err error)
	close() error
}

// keys are what the audit reads in the order of, or looks up; in a copy they forbid
// nothing.
func keys() []string {
	return []string{
		"allocations (app_id, reward_id, order_id)", "order_rewards (order_id, position)", "orders (id)",
		"holdings (app_id, user_id, asset_id)", "users (app_id, id)", "rewards (id)",
	}
}

// file is a copy in an SQLite file.
type file struct {
	db   *sql.DB
	conn *sql.Conn
}

func fileURL(path, options string) string {
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: options}).String()
}

// loosen copies the books of one moment from a file into a new one.
func loosen(ctx context.Context, from, to string) (*file, error) {
	db, err := sql.Open("sqlite", fileURL(to, url.Values{"_pragma": {
		"journal_mode(MEMORY)", "synchronous(OFF)", "cache_size(-16384)", "busy_timeout(5000)",
	}}.Encode()))
	if err != nil {
		return nil, err
	}
	b := &file{db: db}
	if b.conn, err = db.Conn(ctx); err == nil {
		err = b.fill(ctx, fileURL(from, "mode=ro"))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prove: copy %s: %w", from, err), b.close())
	}
	return b, nil
}

func (b *file) fill(ctx context.Context, from string) error {
	if _, err := b.conn.ExecContext(ctx, `ATTACH DATABASE ? AS original`, from); err != nil {
		return err
	}
	statements := []string{`BEGIN`}
	for _, table := range Tables() {
		statements = append(statements, `CREATE TABLE main.`+table+` AS SELECT * FROM original.`+table)
	}
	for i, key := range keys() {
		statements = append(statements, fmt.Sprintf(`CREATE INDEX main.copy_%d ON %s`, i, key))
	}
	for _, statement := range append(statements, `COMMIT`, `DETACH DATABASE original`) {
		if _, err := b.conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Query implements audit.Queryer: the audit sees what is planted and not committed.
func (b *file) Query(ctx context.Context, query string) (audit.Rows, error) {
	rows, err := b.conn.QueryContext(ctx, query) //nolint:rowserrcheck // the caller asks for Err
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// with implements books by a transaction.
func (b *file) with(ctx context.Context, statements []string, f func() error) (planted bool, err error) {
	if _, err := b.conn.ExecContext(ctx, `BEGIN`); err != nil {
		return false, err
	}
	defer func() {
		_, rollback := b.conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`)
		err = errors.Join(err, rollback)
	}()
	for _, statement := range statements {
		result, err := b.conn.ExecContext(ctx, statement)
		if err != nil {
			return false, fmt.Errorf("prove: plant by %s: %w", statement, err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return false, err
		}
	}
	return true, f()
}

func (b *file) close() error {
	var errs []error
	if b.conn != nil {
		errs = append(errs, b.conn.Close())
	}
	return errors.Join(append(errs, b.db.Close())...)
}
