// Package postgres is the engine for a fleet of processes: PostgreSQL 15 or newer,
// reached through pgx. It promises that a commit that returned without an error is
// durable as the server is set to make it (with synchronous replication: on the
// standby too), that a commit whose outcome is not known is told as
// store.ErrUnknownOutcome, and that the read-write primary is found again by itself
// after a fail-over. Read session.go for the life of a transaction.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// Options says how to use a database.
type Options struct {
	// Connections is the most connections of this process, besides one that listens;
	// 0 means 16.
	Connections int
	// Pooled says that PgBouncer is in between, in transaction mode: nothing outlives
	// a transaction.
	Pooled bool
	// KeepSchema refuses an older schema instead of bringing it up to date.
	KeepSchema bool
}

// The limits of a connection.
const (
	defaultConnections = 16
	statementTimeout   = 15 * time.Second // of one statement, the commit with its replication too
	lockTimeout        = 10 * time.Second // of the wait for the turn
	idleTimeout        = 5 * time.Second  // of a transaction whose client froze
	patience           = 20 * time.Second // of a whole transaction, on our side
)

// Engine is the PostgreSQL engine.
type Engine struct {
	pool    *pgxpool.Pool
	options Options
	url     string
	turns   [turns]chan struct{} // one token each: one transaction of ours waits at the server
	failed  chan error
}

var _ store.ConcurrentWriter = (*Engine)(nil)

// Open connects to the database that the URL names
// ("postgres://user@host1,host2/name?target_session_attrs=read-write"), and brings
// its schema up to date. It fails when the server is too old, when it would lose
// commits (fsync off), and when the schema is of a newer version.
func Open(ctx context.Context, url string, o Options) (*Engine, error) {
	config, err := poolConfig(url, o)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", redact(err))
	}
	e := &Engine{pool: pool, options: o, url: url, failed: make(chan error)}
	for i := range e.turns {
		e.turns[i] = make(chan struct{}, 1)
	}
	if err := e.prepare(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return e, nil
}

func (e *Engine) prepare(ctx context.Context) error {
	if err := e.checkServer(ctx); err != nil {
		return err
	}
	return e.migrate(ctx)
}

func poolConfig(url string, o Options) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("postgres: the URL of the database: %w", redact(err))
	}
	config.MaxConns = defaultConnections
	if o.Connections > 0 {
		config.MaxConns = int32(min(o.Connections, 1_000))
	}
	c := config.ConnConfig
	c.ConnectTimeout = dialTimeout
	c.DialFunc = dial
	if c.ValidateConnect == nil { // as with target_session_attrs=read-write
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	c.OnNotice = noteWarning
	if o.Pooled {
		c.DefaultQueryExecMode = pgx.QueryExecModeExec // nothing is prepared
		return config, nil
	}
	for name, value := range map[string]string{
		"application_name": "stockrewards", "timezone": "UTC", "jit": "off",
		// Every query finds its rows by an index. A plan that was made while a table was
		// small, or not analyzed yet, must not read all of it when it has grown.
		"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off",
		"statement_timeout": millis(statementTimeout), "lock_timeout": millis(lockTimeout),
		"idle_in_transaction_session_timeout": millis(idleTimeout),
	} {
		c.RuntimeParams[name] = value
	}
	return config, nil
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// redact keeps the password of a URL out of an error.
func redact(err error) error {
	if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		return errors.New(e.Error()) // pgx has taken the password out
	}
	return err
}

// Read implements store.Engine.
func (e *Engine) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	begin, most := beginRead, patience
	if deadline, told := ctx.Deadline(); told {
		if most = time.Until(deadline); most > patience { // all of the books are read
			begin += "; set local statement_timeout = 0"
		}
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		pause(within, afterRequest)
		cancel()
	})()
	return ended(ctx, e.retry(ctx, within, func(conn *pgxpool.Conn) error {
		return e.run(within, conn, begin, false, f)
	}))
}

// afterRequest is how long a reading may go on when its request has ended: a short one
// ends by itself, while an interrupted one costs its connection.
const afterRequest = 50 * time.Millisecond

// attempts is how often a transaction is begun that met another one, or a connection
// to a server that is gone.
const attempts = 3

// afterDeadlock is how long the transaction that was met is let go first: otherwise the
// two often meet again.
const afterDeadlock = 20 * time.Millisecond

// retry runs a transaction on a connection. When a connection turns out to be lost
// before anything was done, the others that are idle are given up too, and a new one is
// made. ctx is the request's, within bounds the transaction.
func (e *Engine) retry(ctx, within context.Context, run func(*pgxpool.Conn) error) (err error) {
	for range attempts {
		conn, acquireErr := e.pool.Acquire(ctx)
		if acquireErr != nil {
			return errors.Join(errBroken, acquireErr)
		}
		err = run(conn)
		switch {
		case ctx.Err() != nil:
			return err
		case lostBefore(err):
			e.pool.Reset()
		case deadlocked(err):
			pause(within, afterDeadlock)
		default:
			return err
		}
	}
	return err
}

// Write implements store.Engine.
func (e *Engine) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.write(ctx, turnBooks, f)
}

// WriteForClients implements store.Engine.
func (e *Engine) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.write(ctx, turnClients, f)
}

// WritesConcurrently implements store.Beside.
func (*Engine) WritesConcurrently() {}

// A turn is what a transaction is alone in, among all processes: what clients send
// (users and rewards), or all other writing.
type turn int

const (
	turnClients turn = iota
	turnBooks
	turns
)

func (e *Engine) write(ctx context.Context, turn turn, f func(context.Context, store.Tx) error) error {
	select {
	case e.turns[turn] <- struct{}{}:
		defer func() { <-e.turns[turn] }()
	case <-ctx.Done():
		return busy(ctx.Err())
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	return classify(e.retry(ctx, within, func(conn *pgxpool.Conn) error {
		return e.run(within, conn, beginWrite(turn), turn == turnClients, f)
	}))
}

func busy(err error) error { return rewards.Unavailable("the database is busy", err) }

// Backup implements store.Engine: PostgreSQL has its own tools.
func (e *Engine) Backup(context.Context, string) error {
	return errors.New("PostgreSQL is backed up by its own tools: pg_basebackup and WAL archiving, or pg_dump")
}

// Failed implements store.Engine. It never delivers: connections are made anew.
func (e *Engine) Failed() <-chan error { return e.failed }

// Close implements store.Engine.
func (e *Engine) Close() error {
	e.pool.Close()
	return nil
}
