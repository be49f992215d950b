package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"stockrewards/internal/store"
)

// A transaction begins in the exchange of its first statement: its settings and, of a
// write, the turn.
const beginRead = "begin isolation level repeatable read read only"

// turnLock is the first of the advisory locks that stand for turns.
const turnLock = 7_357_000

func beginWrite(turn turn) string {
	return fmt.Sprintf("begin isolation level read committed read write; select pg_advisory_xact_lock(%d)",
		turnLock+int(turn))
}

// localSettings bound a transaction where a connection has no settings of its own.
func localSettings() string {
	return "; set local statement_timeout = " + millis(statementTimeout) +
		"; set local lock_timeout = " + millis(lockTimeout) +
		"; set local idle_in_transaction_session_timeout = " + millis(idleTimeout) + "; set local jit = off" +
		"; set local enable_seqscan = off; set local enable_hashjoin = off; set local enable_mergejoin = off"
}

// run runs f in a transaction on the connection and gives it back. One whose state
// is not certain is closed: the server then rolls back. A durable one leaves a trace
// when f wrote nothing: what f read may stand on a commit that was canceled while it
// waited for the standby, and is told to a client only when the standby has it too.
func (e *Engine) run(
	ctx context.Context, conn *pgxpool.Conn, begin string, durable bool, f func(context.Context, store.Tx) error,
) (err error) {
	clean := false
	defer func() {
		if !clean {
			abandon(conn)
		}
		conn.Release()
	}()
	if e.options.Pooled {
		first, rest, _ := strings.Cut(begin, ";")
		begin = first + localSettings() + ";" + rest
	}
	s := &session{conn: conn.Conn(), begin: strings.Split(begin, ";")}
	err = f(ctx, s)
	if err == nil && durable && !s.wrote {
		_, err = s.Exec(ctx, leaveTrace)
	}
	if len(s.begin) > 0 {
		clean = true
		return err
	}
	if err != nil {
		_, rollback := conn.Conn().PgConn().Exec(ctx, "rollback").ReadAll()
		if clean = rollback == nil; !clean {
			err = errors.Join(errBroken, err)
		}
		return err
	}
	err = commit(ctx, conn.Conn().PgConn())
	clean = err == nil
	return err
}

// abandon closes a connection without waiting for the server.
func abandon(conn *pgxpool.Conn) {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // nothing is waited for
	cancel()
	_ = conn.Conn().Close(ctx) // it is broken, or to be
}

// errRolledBack says that the server ended a transaction otherwise than was asked.
var errRolledBack = errors.New("postgres: the transaction was rolled back")

// commit commits. Only an answer that says so, without a warning, is a commit: an
// error of the server that leaves the connection in use is none; everything else is
// not known.
func commit(ctx context.Context, conn *pgconn.PgConn) error {
	delete(conn.CustomData(), warned)
	results, err := conn.Exec(ctx, "commit").ReadAll()
	if err != nil {
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.SeverityUnlocalized == "ERROR" {
			return fmt.Errorf("postgres: commit: %w", err)
		}
		return unknown(err)
	}
	if len(results) != 1 || results[0].CommandTag.String() != "COMMIT" {
		return errRolledBack
	}
	if warning, found := conn.CustomData()[warned]; found {
		return unknown(fmt.Errorf("postgres: commit: warning: %v", warning))
	}
	return nil
}

// warned is where a connection keeps the last warning of its server.
const warned = "warned"

// noteWarning keeps what the server warns of: at a commit it says that the
// transaction was not replicated.
func noteWarning(conn *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[warned] = n.Message
	}
}

// leaveTrace writes a little into the write-ahead log and nothing else, so that the
// commit waits for the disk and for the standby.
const leaveTrace = "select pg_logical_emit_message(true, 'stockrewards', '')"

// session is a running transaction.
type session struct {
	conn  *pgx.Conn
	begin []string // what is to be sent before the first statement
	wrote bool
}

var _ store.ColumnTx = (*session)(nil)

// AcceptsColumns implements store.Columns.
func (*session) AcceptsColumns() {}

// send sends statements, all before the first answer is read; the transaction begins
// with the first ones.
func (s *session) send(ctx context.Context, query string, rows ...[]any) (pgx.BatchResults, error) {
	var batch pgx.Batch
	begin := s.begin
	s.begin = nil
	for _, statement := range begin {
		batch.Queue(statement)
	}
	text := dialect(query)
	for _, args := range rows {
		batch.Queue(text, args...)
	}
	results := s.conn.SendBatch(ctx, &batch)
	for range begin {
		if _, err := results.Exec(); err != nil {
			err = errors.Join(errNotBegun, errBroken, fmt.Errorf("postgres: begin: %w", err))
			return nil, errors.Join(err, results.Close())
		}
	}
	return results, nil
}

// Exec implements store.Tx.
func (s *session) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return s.ExecEach(ctx, query, [][]any{args})
}

// ExecEach implements store.Tx.
func (s *session) ExecEach(ctx context.Context, query string, rows [][]any) (touched int64, err error) {
	if len(rows) == 0 {
		return 0, nil
	}
	results, err := s.send(ctx, query, rows...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, results.Close()) }()
	for range rows {
		tag, err := results.Exec()
		if err != nil {
			return touched, err
		}
		touched += tag.RowsAffected()
	}
	s.wrote = s.wrote || touched > 0
	return touched, nil
}

// Query implements store.Tx.
func (s *session) Query(
	ctx context.Context, each func(store.Row) error, query string, args ...any,
) (err error) {
	results, err := s.send(ctx, query, args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, results.Close()) }()
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	rows.Close()
	s.wrote = s.wrote || rows.CommandTag().Insert() && rows.CommandTag().RowsAffected() > 0
	return rows.Err()
}

// dialects keeps queries with their marks as PostgreSQL writes them. Queries are
// constants: their number is bounded.
var dialects sync.Map //nolint:gochecknoglobals // a cache of a pure function

// dialect turns the marks of store (?1) into PostgreSQL's ($1).
func dialect(query string) string {
	if known, ok := dialects.Load(query); ok {
		text, _ := known.(string) // only strings are stored
		return text
	}
	translated := strings.ReplaceAll(query, "?", "$")
	dialects.Store(query, translated)
	return translated
}
