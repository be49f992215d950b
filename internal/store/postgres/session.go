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
	begin := "begin isolation level read committed; " // the server says whether it accepts writes
	if t == turnOrders || t == turnBookings {
		begin += fmt.Sprintf("select pg_advisory_xact_lock_shared(%d); ", turnLock+int(turnOthers))
	}
	return begin + takeTurn(t) + "; " + fence(e.schema)
}

func takeTurn(t turn) string { return fmt.Sprintf("select pg_advisory_xact_lock(%d)", turnLock+int(t)) }

// localSettings makes settings in a transaction, where connections cannot keep them.
func localSettings() (statements string) {
	for _, s := range settings() {
		statements += "; set local " + s.name + " = " + s.value
	}
	return statements
}

// session is a running transaction.
type session struct {
	conn  *pgx.Conn
	begin []string   // statements to send before the first one
	later []deferred // statements to send before the next one
	wrote bool
	ended bool                      // its commit was sent, or its only statement
	isOld func(*pgconn.PgConn) bool // whether the connection's server is an old primary

	committed bool // by CommitAll
	mayBeOnly bool // a statement can be sent without a transaction
}

// deferred is a statement of ExecLater.
type deferred struct {
	query string
	args  []any
}

var (
	_ store.ColumnTx  = (*session)(nil)
	_ store.NetworkTx = (*session)(nil)
)

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
	s := &session{
		conn: conn.Conn(), begin: strings.Split(begin, ";"),
		mayBeOnly: begin == beginRead, // otherwise it has settings
		isOld:     e.newest.isOld,
	}
	if e.plansAreOld(conn.Conn().PgConn()) {
		s.begin = slices.Insert(s.begin, 1, "discard plans")
	}
	err = f(ctx, s)
	switch {
	case err != nil && s.committed:
		err = unknown(err)
	case err == nil && s.ended && len(s.later) > 0:
		err = errEnded
	case err != nil || s.ended:
	case durable && !s.wrote:
		err = s.end(ctx, leaveTrace)
	case strings.HasPrefix(begin, beginRead) && len(s.begin) == 0:
		_ = s.end(ctx, "") // everything was read, from one snapshot
	case len(s.begin) == 0 || len(s.later) > 0:
		err = s.end(ctx, "")
	}
	if clean = s.idle(ctx); !clean && err != nil {
		err = errors.Join(errBroken, err)
	}
	return err
}

// idle rolls back what is open and reports whether the connection can be used again.
func (s *session) idle(ctx context.Context) bool {
	conn := s.conn.PgConn()
	if conn.IsClosed() || conn.TxStatus() == noTransaction {
		return !conn.IsClosed()
	}
	_, err := conn.Exec(ctx, "rollback").ReadAll()
	return err == nil
}

// noTransaction is the status of a connection without a transaction.
const noTransaction = 'I'

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

// leaveTrace writes only to the write-ahead log, so that the commit waits for the disk and the
// standby.
const leaveTrace = "select pg_logical_emit_message(true, 'stockrewards', '')"

// AcceptsColumns implements store.ColumnTx.
func (*session) AcceptsColumns() {}

// send sends the statement once for each row of arguments, in one round trip. The first call
// begins the transaction.
func (s *session) send(ctx context.Context, query string, rows ...[]any) (pgx.BatchResults, error) {
	if s.ended {
		return nil, errEnded
	}
	batch, begun := s.batch()
	before := batch.Len()
	translated := dialect(query)
	for _, args := range rows {
		batch.Queue(translated, args...)
	}
	results := s.conn.SendBatch(ctx, batch)
	for i := range before {
		_, err := results.Exec()
		if err != nil && i < begun {
			err = notBegun(err)
		}
		if err != nil {
			return nil, errors.Join(err, results.Close())
		}
	}
	return results, nil
}

// batch returns a batch with the statements that begin the transaction, unless it has begun, and
// their number. The statements of ExecLater follow them.
func (s *session) batch() (*pgx.Batch, int) {
	batch, begin := new(pgx.Batch), s.begin
	s.begin = nil
	for _, statement := range begin {
		batch.Queue(statement)
	}
	for _, d := range s.later {
		batch.Queue(dialect(d.query), d.args...)
	}
	s.later = nil
	return batch, len(begin)
}

// ExecLater implements store.NetworkTx.
func (s *session) ExecLater(query string, args ...any) {
	s.later = append(s.later, deferred{query, args})
	s.wrote = true
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
		s.wrote = s.wrote || tag.RowsAffected() > 0 && !tag.Select()
	}
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
	current := row{rows, rows.FieldDescriptions()}
	for rows.Next() {
		if err := each(current); err != nil {
			return err
		}
	}
	rows.Close()
	s.wrote = s.wrote || rows.CommandTag().Insert() && rows.CommandTag().RowsAffected() > 0
	return rows.Err()
}

// QueryOnly implements store.NetworkTx. Without a transaction the statement has a snapshot too. A
// connection that was lost before the first row counts as lost before the transaction.
func (s *session) QueryOnly(ctx context.Context, each func(store.Row) error, query string, args ...any) error {
	if !s.mayBeOnly || s.begin == nil {
		return s.Query(ctx, each, query, args...)
	}
	s.begin = s.begin[1:]
	read := false
	err := s.Query(ctx, func(row store.Row) error {
		read = true
		return each(row)
	}, query, args...)
	s.ended = true
	if err != nil && !read {
		return errors.Join(errNotBegun, err)
	}
	return err
}

// TryQuery implements store.NetworkTx.
func (s *session) TryQuery(
	ctx context.Context, each func(store.Row) error, query string, args ...any,
) (damage, err error) {
	if _, err := s.Exec(ctx, "savepoint try"); err != nil {
		return nil, err
	}
	damage = s.Query(ctx, each, query, args...)
	switch {
	case damage == nil:
		_, err = s.Exec(ctx, "release savepoint try")
	case damaged(damage):
		_, err = s.Exec(ctx, "rollback to savepoint try")
	default:
		return nil, damage
	}
	return damage, err
}

// ExcludeClients implements store.NetworkTx.
func (s *session) ExcludeClients(ctx context.Context) error {
	_, err := s.Exec(ctx, takeTurn(turnClients))
	return err
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
