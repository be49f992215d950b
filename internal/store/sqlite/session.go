package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// session is one connection with its prepared statements.
type session struct {
	conn      *sqlite.Conn
	interrupt chan struct{} // closing it interrupts the running statement; then it is replaced
}

var _ store.Tx = (*session)(nil)

// pool lends sessions.
type pool struct{ idle chan *session }

func newPool(sessions ...*session) *pool {
	p := &pool{idle: make(chan *session, len(sessions))}
	for _, s := range sessions {
		p.idle <- s
	}
	return p
}

var errClosed = errors.New("sqlite: the database is closed")

func (p *pool) take(ctx context.Context) (*session, error) {
	select {
	case s, open := <-p.idle:
		if open {
			return s, nil
		}
	default: // wait, also for ctx
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

// close waits for every session and closes it. The pool must not be used afterwards.
func (p *pool) close() error {
	var errs []error
	for range cap(p.idle) {
		errs = append(errs, (<-p.idle).close())
	}
	close(p.idle)
	return errors.Join(errs...)
}

func (s *session) close() error { return s.conn.Close() }

// commitError is the error of a COMMIT.
type commitError struct{ error }

func (e commitError) Unwrap() error { return e.error }

// commit ends the transaction.
func (s *session) commit() error {
	statement, err := s.conn.Prepare("COMMIT")
	if err == nil {
		_, err = s.step(statement)
	}
	return err
}

// run runs f in a transaction, which commit ends. A panic in f rolls back and continues.
func (s *session) run(
	ctx context.Context, begin string, commit func() error, f func(context.Context, store.Tx) error,
) (err error) {
	if _, err := s.Exec(ctx, begin); err != nil {
		// A failed rollback may have left a transaction open.
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
			// It fails if SQLite has already rolled back, as after some errors.
			_, _ = s.Exec(ctx, "ROLLBACK")
		}
	}()
	if err := f(ctx, s); err != nil {
		return err
	}
	if err := commit(); err != nil {
		return commitError{err}
	}
	committed = true
	return nil
}

// until runs f and interrupts its statements when ctx ends. The connection stays usable.
func (s *session) until(ctx context.Context, f func() error) error {
	if ctx.Done() == nil { // it never ends
		return f()
	}
	interrupt := s.interrupt
	stop := context.AfterFunc(ctx, func() { close(interrupt) })
	defer func() {
		if !stop() {
			<-interrupt // closed by now or soon
			s.allowInterrupt()
		}
	}()
	err := f()
	if code(err) == sqlite.ResultInterrupt || err != nil && errors.Is(err, ctx.Err()) {
		return rewards.Unavailable("the request ended before it was answered", ctx.Err())
	}
	return err
}

// allowInterrupt makes SQLite watch a new channel.
func (s *session) allowInterrupt() {
	s.interrupt = make(chan struct{})
	s.conn.SetInterrupt(s.interrupt)
}

// prepare returns a prepared statement with its arguments bound.
func (s *session) prepare(query string, args []any) (*sqlite.Stmt, error) {
	statement, err := s.conn.Prepare(query) // cached by its text; queries are constants
	if err != nil {
		return nil, err
	}
	return statement, bind(statement, args)
}

func bind(statement *sqlite.Stmt, args []any) error { return bindFrom(statement, 0, args) }

// bindFrom binds the arguments after the first ones.
func bindFrom(statement *sqlite.Stmt, first int, args []any) error {
	for i, arg := range args {
		i += first
		switch v := arg.(type) {
		case []byte:
			statement.BindBytes(i+1, v)
		case string:
			statement.BindText(i+1, v)
		case int64:
			statement.BindInt64(i+1, v)
		case int:
			statement.BindInt64(i+1, int64(v))
		case *string:
			statement.BindText(i+1, *v)
		case *int64:
			statement.BindInt64(i+1, *v)
		case store.FixedLength:
			statement.BindBytes(i+1, v.Bytes())
		default:
			return fmt.Errorf("sqlite: cannot bind argument %d of type %T", i+1, arg)
		}
	}
	return nil
}

// Exec implements store.Tx.
func (s *session) Exec(_ context.Context, query string, args ...any) (int64, error) {
	statement, err := s.prepare(query, args)
	if err != nil {
		return 0, err
	}
	return s.step(statement)
}

// step runs a statement and returns how many rows it changed.
func (s *session) step(statement *sqlite.Stmt) (_ int64, err error) {
	for more := true; more; {
		if more, err = statement.Step(); err != nil {
			return 0, err // Step has reset the statement
		}
	}
	return int64(s.conn.Changes()), statement.Reset()
}

// ExecEach implements store.Tx.
func (s *session) ExecEach(_ context.Context, query string, rows [][]any) (touched int64, err error) {
	if len(rows) >= manyRows {
		if many := insertMany(query, len(rows[0])); many != "" {
			whole := len(rows) - len(rows)%manyRows
			if touched, err = s.execEach(many, rows[:whole], manyRows); err != nil {
				return touched, err
			}
			rows = rows[whole:]
		}
	}
	n, err := s.execEach(query, rows, 1)
	return touched + n, err
}

// execEach runs a statement that takes the arguments of some rows at once.
func (s *session) execEach(query string, rows [][]any, atOnce int) (touched int64, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	statement, err := s.conn.Prepare(query)
	if err != nil {
		return 0, err
	}
	for ; len(rows) > 0; rows = rows[atOnce:] {
		for i, args := range rows[:atOnce] {
			if err := bindFrom(statement, i*len(rows[0]), args); err != nil {
				return touched, err
			}
		}
		n, err := s.step(statement)
		if err != nil {
			return touched, err
		}
		touched += n
	}
	return touched, nil
}

// Query implements store.Tx.
func (s *session) Query(ctx context.Context, each func(store.Row) error, query string, args ...any) (err error) {
	statement, err := s.prepare(query, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, statement.Reset()) }()
	for {
		if err := ctx.Err(); err != nil { // it ended between two rows
			return err
		}
		more, err := statement.Step()
		if err != nil || !more {
			return err
		}
		if err := each(row{statement}); err != nil {
			return err
		}
	}
}

// row is the current row of a statement.
type row struct{ statement *sqlite.Stmt }

// Scan implements store.Row.
func (r row) Scan(dest ...any) error {
	for i, d := range dest {
		switch v := d.(type) {
		case *int64:
			*v = r.statement.ColumnInt64(i)
		case *int:
			*v = int(r.statement.ColumnInt64(i))
		case *string:
			*v = r.statement.ColumnText(i)
		case *bool:
			*v = r.statement.ColumnBool(i)
		case store.FixedLength:
			if n := r.statement.ColumnLen(i); n != len(v.Bytes()) {
				return fmt.Errorf("sqlite: cannot scan column %d: %d bytes, want %d", i, n, len(v.Bytes()))
			}
			r.statement.ColumnBytes(i, v.Bytes())
		case sql.Scanner:
			if err := v.Scan(r.value(i)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("sqlite: cannot scan column %d into a %T", i, d)
		}
	}
	return nil
}

// value is a column as database/sql would pass it to a Scanner.
func (r row) value(column int) any {
	switch r.statement.ColumnType(column) {
	case sqlite.TypeInteger:
		return r.statement.ColumnInt64(column)
	case sqlite.TypeBlob:
		b := make([]byte, r.statement.ColumnLen(column))
		r.statement.ColumnBytes(column, b)
		return b
	case sqlite.TypeText:
		return r.statement.ColumnText(column)
	case sqlite.TypeFloat:
		return r.statement.ColumnFloat(column)
	default:
		return nil
	}
}
