package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"stockrewards/internal/store"
)

// The statements that begin a transaction are sent together with its first statement.
const beginRead = "begin isolation level repeatable read read only"

// turnLock is the advisory lock of the first turn; the others follow.
const turnLock = 7_357_000

func (e *Engine) beginWrite(t turn) string {
	return "begin isolation level read committed read write; " + takeTurn(t) + "; " + fence(e.schema)
}

func takeTurn(t turn) string { return fmt.Sprintf("select pg_advisory_xact_lock(%d)", turnLock+int(t)) }

// localSettings makes settings in a transaction, where connections cannot keep them.
func localSettings() (statements string) {
	for _, s := range settings() {
		statements += "; set local " + s.name + " = " + s.value
	}
	return statements
}

// run runs f in a transaction and releases the connection. It closes a connection in an uncertain
// state, so that the server rolls back. With durable set it writes a trace even if f wrote
// nothing: f may have read a commit that was canceled while it waited for the standby. The
// answer must not leave before the standby has that commit.
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
	if e.plansAreOld(conn.Conn().PgConn()) {
		s.begin = slices.Insert(s.begin, 1, "discard plans")
	}
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

// planned is the key of the time of a connection's oldest plan in its data.
const planned = "planned"

// plansAreOld reports whether the connection must plan its statements again. A plan from when a
// table was small may read all rewards of an app for one key.
func (e *Engine) plansAreOld(conn *pgconn.PgConn) bool {
	if e.options.Pooled {
		return false
	}
	since, found := conn.CustomData()[planned].(time.Time)
	old := found && time.Since(since) >= e.options.PlansFor
	if old || !found {
		conn.CustomData()[planned] = time.Now()
	}
	return old
}

// abandon closes a connection without waiting for the server.
func abandon(conn *pgxpool.Conn) {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // canceled at once: it does not wait
	cancel()
	_ = conn.Conn().Close(ctx)
}

// errRolledBack means that the server answered a commit with a rollback.
var errRolledBack = errors.New("postgres: the transaction was rolled back")

// commit commits. Only the server's confirmation without a warning is a commit. An error that
// leaves the connection usable is a rollback. For everything else the outcome is unknown.
func commit(ctx context.Context, conn *pgconn.PgConn) error {
	delete(conn.CustomData(), warned)
	results, err := conn.Exec(ctx, "commit").ReadAll()
	if err != nil {
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.SeverityUnlocalized == "ERROR" {
			return fmt.Errorf("postgres: cannot commit: %w", err)
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

// warned is the key of the server's last warning in a connection's data.
const warned = "warned"

// noteWarning stores a warning of the server. At a commit it means that the transaction was not
// replicated.
func noteWarning(conn *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[warned] = n.Message
	}
}

// leaveTrace writes only to the write-ahead log, so that the commit waits for the disk and the
// standby.
const leaveTrace = "select pg_logical_emit_message(true, 'stockrewards', '')"

// session is a running transaction.
type session struct {
	conn  *pgx.Conn
	begin []string // statements to send before the first one
	wrote bool
}

var _ store.ColumnTx = (*session)(nil)

// AcceptsColumns implements store.Columns.
func (*session) AcceptsColumns() {}

// send sends the statement once for each row of arguments, in one round trip. The first call
// begins the transaction.
func (s *session) send(ctx context.Context, query string, rows ...[]any) (pgx.BatchResults, error) {
	var batch pgx.Batch
	begin := s.begin
	s.begin = nil
	for _, statement := range begin {
		batch.Queue(statement)
	}
	translated := dialect(query)
	for _, args := range rows {
		batch.Queue(translated, args...)
	}
	results := s.conn.SendBatch(ctx, &batch)
	for range begin {
		if _, err := results.Exec(); err != nil {
			err = errors.Join(errNotBegun, errBroken, fmt.Errorf("postgres: cannot begin: %w", err))
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

// dialects caches translated queries. Queries are constants, so that their number is bounded.
var dialects sync.Map //nolint:gochecknoglobals // a cache of a pure function

// dialect turns the parameters of a query (?1) into PostgreSQL's ($1).
func dialect(query string) string {
	if known, ok := dialects.Load(query); ok {
		translated, _ := known.(string) // only strings are stored
		return translated
	}
	translated := strings.ReplaceAll(query, "?", "$")
	dialects.Store(query, translated)
	return translated
}
