package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"stockrewards/internal/store"
)

// session is one connection with its prepared statements.
type session struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt
}

var _ store.Tx = (*session)(nil)

// pool hands out sessions in turn.
type pool struct{ idle chan *session }

func newPool(ctx context.Context, db *sql.DB, size int) (*pool, error) {
	p := &pool{idle: make(chan *session, size)}
	for range size {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("sqlite: connect: %w", err), p.closeIdle())
		}
		p.idle <- &session{conn: conn, statements: make(map[string]*sql.Stmt)}
	}
	return p, nil
}

var errClosed = errors.New("sqlite: the database is closed")

func (p *pool) take(ctx context.Context) (*session, error) {
	select {
	case s, open := <-p.idle:
		if open {
			return s, nil
		}
	default: // none is idle: wait
	}
	select {
	case s, open := <-p.idle:
		if !open {
			return nil, errClosed
		}
		return s, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pool) give(s *session) { p.idle <- s }

// close waits for every session and closes it. The pool must not be used after.
func (p *pool) close() error {
	var errs []error
	for range cap(p.idle) {
		errs = append(errs, (<-p.idle).close())
	}
	close(p.idle)
	return errors.Join(errs...)
}

func (p *pool) closeIdle() error {
	var errs []error
	for len(p.idle) > 0 {
		errs = append(errs, (<-p.idle).close())
	}
	return errors.Join(errs...)
}

func (s *session) close() error {
	var errs []error
	for _, statement := range s.statements {
		errs = append(errs, statement.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}

// commitError marks the failure of a COMMIT.
type commitError struct{ error }

func (e commitError) Unwrap() error { return e.error }

// run runs f in a transaction. A panic in f rolls back and goes on.
func (s *session) run(ctx context.Context, begin string, f func(context.Context, store.Tx) error) (err error) {
	if _, err := s.Exec(ctx, begin); err != nil {
		// A roll back that failed may have left a transaction open; then one more tries.
		if _, rollback := s.Exec(ctx, "ROLLBACK"); rollback != nil {
			return err
		}
		if _, err := s.Exec(ctx, begin); err != nil {
			return err
		}
	}
	committed := false
	defer func() {
		if !committed {
			// After some errors SQLite has rolled back by itself: then this one fails.
			_, _ = s.Exec(ctx, "ROLLBACK")
		}
	}()
	if err := f(ctx, s); err != nil {
		return err
	}
	if _, err := s.Exec(ctx, "COMMIT"); err != nil {
		return commitError{err}
	}
	committed = true
	return nil
}

func (s *session) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if statement, ok := s.statements[query]; ok {
		return statement, nil
	}
	statement, err := s.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.statements[query] = statement // queries are constants: their number is bounded
	return statement, nil
}

// Exec implements store.Tx.
func (s *session) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	statement, err := s.prepare(ctx, query) //nolint:sqlclosecheck // kept for the session's life
	if err != nil {
		return 0, err
	}
	result, err := statement.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// ExecEach implements store.Tx.
func (s *session) ExecEach(ctx context.Context, query string, rows [][]any) (int64, error) {
	var touched int64
	for _, args := range rows {
		n, err := s.Exec(ctx, query, args...)
		if err != nil {
			return touched, err
		}
		touched += n
	}
	return touched, nil
}

// Query implements store.Tx.
func (s *session) Query(ctx context.Context, each func(store.Row) error, query string, args ...any) error {
	statement, err := s.prepare(ctx, query) //nolint:sqlclosecheck // kept for the session's life
	if err != nil {
		return err
	}
	rows, err := statement.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // closed and checked below; here only when each fails
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
