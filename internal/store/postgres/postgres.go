// Package postgres is the engine for a fleet of processes, on PostgreSQL 15 or newer. A commit
// that returns without an error is as durable as the server makes it; with synchronous
// replication it is on the standby too. A commit with an unknown outcome fails with
// store.ErrUnknownOutcome. After a failover the engine finds the read-write primary by itself.
// session.go has the life of a transaction.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// Options are the options of Open.
type Options struct {
	// Connections is the maximum number of connections, besides one that listens (default 16).
	Connections int
	// Pooled means that the URL is that of PgBouncer in transaction mode, where nothing outlives
	// a transaction.
	Pooled bool
	// KeepSchema refuses an older schema instead of migrating it.
	KeepSchema bool
	// PlansFor is how long a connection keeps the plans of its statements (default 5 seconds).
	PlansFor time.Duration
}

const defaultPlansFor = 5 * time.Second

// The limits of a connection.
const (
	defaultConnections = 16
	statementTimeout   = 15 * time.Second // of one statement, but not of a commit that waits for the standby
	lockTimeout        = 10 * time.Second // of the wait for a turn
	idleTimeout        = 5 * time.Second  // of a transaction whose client froze
	txTimeout          = 20 * time.Second // of a whole transaction, on the client's side
	requestTimeout     = time.Minute      // no request has a later deadline
)

// Engine is the PostgreSQL engine.
type Engine struct {
	pool     *pgxpool.Pool
	options  Options
	turns    [turns]chan struct{} // one token each, so that one transaction of this process waits at the server
	schema   int64                // the version of the schema that this program writes
	failed   chan error
	connects *atomic.Int64
	timeline string
	newest   *newest
	held     held
}

var _ store.ConcurrentWriter = (*Engine)(nil)

// Open connects to the database of the URL
// ("postgres://user@host1,host2/name?target_session_attrs=read-write") and migrates its schema.
// It fails when the server is too old, when its settings lose commits (fsync off), and with
// store.ErrNewerSchema.
func Open(ctx context.Context, url string, o Options) (*Engine, error) {
	config, err := poolConfig(url, o)
	if err != nil {
		return nil, err
	}
	n := newNewest()
	n.prefer(ctx, config)
	config.PrepareConn = func(_ context.Context, conn *pgx.Conn) (bool, error) { return !n.isOld(conn.PgConn()), nil }
	connects := new(atomic.Int64)
	config.AfterConnect = func(context.Context, *pgx.Conn) error {
		connects.Add(1)
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		n.close()
		return nil, fmt.Errorf("postgres: cannot connect: %w", redact(err))
	}
	if o.PlansFor == 0 {
		o.PlansFor = defaultPlansFor
	}
	e := &Engine{pool: pool, options: o, failed: make(chan error, 1), connects: connects, newest: n}
	for i := range e.turns {
		e.turns[i] = make(chan struct{}, 1)
	}
	if err := e.prepare(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Connects is how often the engine has connected. Another server may have taken over before each time.
func (e *Engine) Connects() int64 { return e.connects.Load() }

func (e *Engine) prepare(ctx context.Context) error {
	if err := e.checkServer(ctx); err != nil {
		return err
	}
	if err := e.migrate(ctx); err != nil {
		return err
	}
	return e.checkAccess(ctx, "SELECT")
}

func poolConfig(url string, o Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("postgres: cannot parse the URL of the database: %w", redact(err))
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = defaultConnections
	}
	if o.Connections > 0 {
		config.MaxConns = int32(min(o.Connections, 1_000))
	}
	f := &files{url: url}
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error { // also of connections outside the pool
		useDialer(&c.Config)
		return f.renew(&c.Config)
	}
	c := config.ConnConfig
	c.ConnectTimeout = dialTimeout
	if c.ValidateConnect == nil { // as with target_session_attrs=read-write
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.OnNotice = noteWarning
	c.RuntimeParams["client_encoding"] = "UTF8" // PgBouncer passes it on
	if o.Pooled {
		c.DefaultQueryExecMode = pgx.QueryExecModeExec // nothing is prepared
		return config, nil
	}
	c.RuntimeParams["application_name"], c.RuntimeParams["timezone"] = "stockrewards", "UTC"
	for _, s := range settings() {
		c.RuntimeParams[s.name] = s.value
	}
	return config, nil
}

type setting struct{ name, value string }

// settings are the settings of every transaction.
//
// A statement has one plan for all arguments. Planning it for each took longer than running it:
// 137 µs of the server for a reward by its id instead of 55. Each query finds its rows by a key.
// The planner may not read a whole table or index instead, as it likes to while tables are small.
// Options.PlansFor bounds the life of a plan from such a time. Bitmap scans and memoize are off, because they cost more
// than they save where each key finds one row, and each row is asked for once.
func settings() []setting {
	return []setting{
		{"enable_seqscan", "off"},
		{"enable_hashjoin", "off"},
		{"enable_mergejoin", "off"},
		{"enable_bitmapscan", "off"},
		{"enable_memoize", "off"},
		{"enable_tidscan", "on"}, // else a list reads the whole table
		{"jit", "off"},
		{"row_security", "off"}, // a row that may not be read is an error, and not missing
		{"plan_cache_mode", "force_generic_plan"},
		{"statement_timeout", millis(statementTimeout)},
		{"lock_timeout", millis(lockTimeout)},
		{"idle_in_transaction_session_timeout", millis(idleTimeout)},
		{"idle_session_timeout", "0"},
		{"client_min_messages", "warning"}, // see noteWarning
		{"bytea_output", "hex"},
		{"standard_conforming_strings", "on"},
	}
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// redact removes the password of a URL from an error.
func redact(err error) error {
	if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		return errors.New(e.Error()) // pgx redacts this text
	}
	return err
}

// Read implements store.Engine.
func (e *Engine) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	begin, timeout := beginRead, txTimeout
	if deadline, ok := ctx.Deadline(); ok {
		if left := time.Until(deadline); left > requestTimeout { // a read of the whole store
			begin += "; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0"
			timeout = left
		} else {
			timeout = min(left, txTimeout)
		}
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		_ = store.Sleep(within, afterRequest)
		cancel()
	})()
	return ended(ctx, e.retry(ctx, within, func(conn *pgxpool.Conn) error {
		return e.run(within, conn, begin, false, f)
	}))
}

// afterRequest is how long a read may go on after its request ended. A short read ends by itself;
// interrupting it would cost its connection.
const afterRequest = 50 * time.Millisecond

// attempts is how often a transaction is begun that deadlocks or finds its connection lost.
const attempts = 3

// afterDeadlock is the pause after a deadlock, so that the other transaction ends first.
const afterDeadlock = 20 * time.Millisecond

// retry runs a transaction on a connection. When the connection was lost before the transaction
// began, or its server accepts no more writes, it closes all idle connections and tries a new one.
// It closes them too when the outcome is unknown. ctx is the request's, within bounds the transaction.
func (e *Engine) retry(ctx, within context.Context, run func(*pgxpool.Conn) error) (err error) {
	for attempt := 0; attempt < attempts; attempt++ {
		conn, acquireErr := e.pool.Acquire(ctx)
		if acquireErr != nil {
			return errors.Join(errBroken, acquireErr)
		}
		err = run(conn)
		switch {
		case errors.Is(err, errNotAll): // rolled back, to be run again; CommitAll comes twice at most
			attempt--
		case ctx.Err() != nil:
			return err
		case elsewhere(err):
			e.pool.Reset()
			if within.Err() != nil {
				return err
			}
		case errors.Is(err, store.ErrUnknownOutcome):
			e.pool.Reset()
			return err
		case deadlocked(err):
			_ = store.Sleep(within, afterDeadlock)
		default:
			return err
		}
	}
	return err
}

// Write implements store.Engine.
func (e *Engine) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.write(ctx, turnOthers, false, f)
}

// WriteForClients implements store.Engine.
func (e *Engine) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.write(ctx, turnClients, true, f)
}

// Durable implements store.Engine. Every commit is durable when it is in effect.
func (*Engine) Durable(context.Context) error { return nil }

// WriteBooks implements store.Engine.
func (e *Engine) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.write(ctx, turnOthers, true, f)
}

// WriteOrders implements store.ConcurrentWriter.
func (e *Engine) WriteOrders(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.write(ctx, turnOrders, false, f)
}

// WriteBookings implements store.ConcurrentWriter.
func (e *Engine) WriteBookings(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.write(ctx, turnBookings, false, f)
}

// turn is a class of writes that exclude each other among all processes.
type turn int

const (
	turnClients turn = iota // users and rewards of client requests
	turnOthers
	turnOrders   // orders that are planned and sent; excludes turnOthers too
	turnBookings // orders that are booked; likewise
	turns        // number of turns
)

// take waits for the transactions of this process that t excludes. give ends the turn.
func (e *Engine) take(ctx context.Context, t turn) (give func(), err error) {
	all, taken := []turn{t}, 0
	if t == turnOthers {
		all = []turn{turnOthers, turnOrders, turnBookings}
	}
	give = func() {
		for _, t := range all[:taken] {
			<-e.turns[t]
		}
	}
	for _, t := range all {
		select {
		case e.turns[t] <- struct{}{}:
			taken++
		case <-ctx.Done():
			give()
			return nil, busy(ctx.Err())
		}
	}
	return give, nil
}

// write runs f in a turn. durable is that of run.
func (e *Engine) write(
	ctx context.Context, turn turn, durable bool, f func(context.Context, store.Tx) error,
) error {
	give, err := e.take(ctx, turn)
	if err != nil {
		return err
	}
	defer give()
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), txTimeout)
	defer cancel()
	err = e.retry(ctx, within, func(conn *pgxpool.Conn) error {
		return e.run(within, conn, e.beginWrite(turn), durable, f)
	})
	if fenced(err) {
		err = e.outdated(within)
	}
	return classify(err)
}

func busy(err error) error { return rewards.Unavailable("the database is busy", err) }

// ErrBackup names PostgreSQL's own tools.
var ErrBackup = errors.New("PostgreSQL is backed up by its own tools: " +
	"pg_basebackup and WAL archiving, or pg_dump --encoding=UTF8")

// Backup implements store.Engine. It fails with ErrBackup.
func (e *Engine) Backup(context.Context, string) error { return ErrBackup }

// Failed implements store.Engine. It delivers only an error about the schema's version, because
// a lost connection is replaced.
func (e *Engine) Failed() <-chan error { return e.failed }

// Close implements store.Engine.
func (e *Engine) Close() error {
	e.newest.close()
	e.pool.Close()
	return nil
}
