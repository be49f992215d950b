// Package sqlite is the embedded engine: one SQLite file in WAL mode, with one writer and a pool
// of readers. A commit is durable when Durable returns: see durable.go. When the outcome of a commit
// is unknown, the engine reports it on Failed and the process must stop. Never open the live file by
// other means: closing it would drop SQLite's locks.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"

	"stockrewards/internal/dbfile"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// Options are the options of Open.
type Options struct {
	// Connections is the number of connections: one writer, the rest readers. A single
	// connection is both. Default: a writer and a reader per core.
	Connections int
	// KeepSchema refuses an older schema instead of migrating it, so that a tool does not change
	// the schema under a running service of an older version.
	KeepSchema bool
	// OlderSchema opens an older schema as it is, for Backup only.
	OlderSchema bool
	// Sole makes the engine a store.SoleProcess. The caller holds the lock of Lock.
	Sole bool
	// Waiting is called once when another process has kept the lock of the schema for two seconds. Nil: nobody is.
	Waiting func()
}

// Engine is the SQLite engine.
type Engine struct {
	writer  *pool
	readers *pool // the writer's pool when there is one connection
	sync    *syncer
	carry   *checkpointer // nil: SQLite checkpoints during writes
	failed  chan error
	dead    atomic.Bool // a fatal error forbids all writes
	memory  bool        // the database is in memory
	schema  int64       // the version of the schema
	older   bool        // it is older than this program's
	sole    bool        // see Options
}

var (
	_ store.SoleProcess = (*Engine)(nil)
	_ store.EarlyReader = (*Engine)(nil)
	_ store.Filed       = (*Engine)(nil)
)

// Open opens or creates the file (mode 0600) and migrates its schema. It fails with
// store.ErrNewerSchema, and for files that package dbfile refuses.
func Open(ctx context.Context, path string, o Options) (*Engine, error) {
	if o.Connections == 0 {
		o.Connections = 1 + max(2, runtime.GOMAXPROCS(0))
	}
	path, err := prepare(path, &o)
	if err != nil {
		return nil, err
	}
	if !o.Sole {
		if err := CheckServed(ctx, path); err != nil {
			return nil, err
		}
	}
	e := &Engine{failed: make(chan error, 1), memory: path == Memory, sole: o.Sole}
	if err := e.open(ctx, path, o); err != nil {
		if errors.Is(err, store.ErrDamaged) { // the connection that closes last would write the log into the file
			return nil, err
		}
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// OlderSchema reports whether the database has the schema of an older version: see Options.
func (e *Engine) OlderSchema() bool { return e.older }

// prepare checks the files of a database, creates its file if it is missing, and returns its
// real path.
func prepare(path string, o *Options) (string, error) {
	if path == Memory {
		o.Connections = 1
		return path, nil
	}
	path, err := dbfile.Prepare(path)
	if err != nil {
		return "", fmt.Errorf("sqlite: %w", err)
	}
	return path, prepareFile(path)
}

func (e *Engine) open(ctx context.Context, path string, o Options) error {
	name := fileName(path)
	if o.Sole {
		reservePages(o.Connections)
	}
	writer, err := dial(name)
	if err != nil {
		return unusable(path, err)
	}
	e.writer = newPool(writer)
	if e.memory {
		if e.schema, err = writer.fill(); err != nil {
			return err
		}
	}
	if err := refuseForeign(ctx, writer, path); err != nil {
		return err
	}
	if err := writer.set(ctx, "synchronous = NORMAL", writing(o.Connections == 1)); err != nil { // see syncer
		return err
	}
	e.readers = e.writer
	if err := checkLibrary(ctx, writer); err != nil {
		return err
	}
	if !e.memory {
		if e.schema, e.older, err = migrate(ctx, name, path, o); err != nil {
			return err
		}
	}
	if e.sync, err = openSyncer(ctx, writer, path); err != nil {
		return err
	}
	if o.Connections == 1 {
		return nil
	}
	var readers []*session
	for range o.Connections - 1 {
		reader, err := connect(ctx, name, "query_only = 1")
		if err != nil {
			return errors.Join(err, newPool(readers...).close())
		}
		readers = append(readers, reader)
	}
	e.readers = newPool(readers...)
	carrier, err := connect(ctx, name, cacheSize(250)) // it copies pages, and keeps none
	if err != nil {
		return err
	}
	e.carry = newCheckpointer(e, carrier)
	return nil
}

// fileName returns the path as a SQLite URI.
func fileName(path string) string {
	if path == Memory {
		return memoryName()
	}
	return dbfile.URI(path)
}

// writing is a setting of the writer. If it is alone, it checkpoints the log; otherwise the
// checkpointer does.
func writing(alone bool) string {
	if alone {
		return "wal_autocheckpoint = 4000"
	}
	return "wal_autocheckpoint = 0"
}

// connect opens a connection with the common settings and its own.
func connect(ctx context.Context, name string, own ...string) (*session, error) {
	s, err := dial(name)
	if err != nil {
		return nil, err
	}
	if err := s.set(ctx, own...); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// dial opens a connection without settings.
func dial(name string) (*session, error) {
	conn, err := sqlite.OpenConn(name, sqlite.OpenReadWrite, sqlite.OpenCreate, sqlite.OpenURI)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn}
	s.allowInterrupt()
	conn.SetBusyTimeout(busyTimeout)
	return s, nil
}

// set gives a connection the common settings and its own.
func (s *session) set(ctx context.Context, own ...string) error {
	for _, setting := range append([]string{
		"journal_mode = WAL", "synchronous = FULL", "foreign_keys = 1", "mmap_size = 0",
		cacheSize(cachePages), "journal_size_limit = 67108864", "temp_store = MEMORY",
	}, own...) {
		if _, err := s.Exec(ctx, "PRAGMA "+setting); err != nil {
			return fmt.Errorf("sqlite: cannot open: %w", err)
		}
	}
	return nil
}

// busyTimeout is how long a write waits for another process.
const busyTimeout = 5 * time.Second

// prepareFile creates a database file that only its owner can read. If root makes it, it belongs to the owner of its
// folder. It never opens an existing one.
func prepareFile(path string) error {
	f, err := dbfile.Create(path, "")
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sqlite: cannot create the database: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	return dbfile.SyncFolder(filepath.Dir(path))
}

// oldestLibrary is the first SQLite without the WAL-reset bug, which could corrupt a database
// with two writing connections.
const oldestLibrary = "3.51.3"

func checkLibrary(ctx context.Context, s *session) error {
	var version string
	err := s.Query(ctx, func(row store.Row) error { return row.Scan(&version) }, `SELECT sqlite_version()`)
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	if olderVersion(version, oldestLibrary) {
		return fmt.Errorf("sqlite: the library has version %s; %s or newer is required", version, oldestLibrary)
	}
	return nil
}

func olderVersion(version, than string) bool {
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range min(len(a), len(b)) {
		if len(a[i]) != len(b[i]) {
			return len(a[i]) < len(b[i])
		}
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return len(a) < len(b)
}

// Read implements store.Engine. It waits for the sync of what it may have seen without its connection.
func (e *Engine) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	err := e.read(ctx, f)
	return e.durably(err, e.sync.wait(ctx))
}

// ReadEarly implements store.EarlyReader.
func (e *Engine) ReadEarly(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return classify(e.read(ctx, f))
}

func (e *Engine) read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	s, err := e.readers.take(ctx)
	if err != nil {
		return busy(err)
	}
	defer e.readers.give(s)
	return s.run(context.WithoutCancel(ctx), "BEGIN", s.commit, func(_ context.Context, tx store.Tx) error {
		return s.until(ctx, func() error { return f(ctx, tx) })
	})
}

// durably classifies the error of a transaction and that of the wait for the sync after it.
func (e *Engine) durably(err, failed error) error {
	if failed != nil {
		if _, unsynced := errors.AsType[unsyncedError](failed); unsynced {
			e.fail(failed)
		}
		err = errors.Join(failed, err)
	}
	return classify(err)
}

// fail forbids all writes and reports the error on Failed.
func (e *Engine) fail(err error) {
	if !e.dead.Swap(true) {
		e.failed <- inWords(err)
	}
}

// Write implements store.Engine.
func (e *Engine) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return classify(e.write(ctx, nil, f))
}

// WriteOf implements store.EarlyReader.
func (e *Engine) WriteOf(ctx context.Context, apps []rewards.AppID, f func(context.Context, store.Tx) error) error {
	return classify(e.write(ctx, apps, f))
}

// WriteForClients implements store.Engine. It is a Write: there is one writer.
func (e *Engine) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Write(ctx, f)
}

// WriteBooks implements store.Engine. It is a Write too.
func (e *Engine) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Write(ctx, f)
}

// CheckFiles implements store.Filed.
func (e *Engine) CheckFiles() error {
	err := e.sync.look()
	if err != nil {
		e.fail(err)
	}
	return err
}

// Durable implements store.Engine.
func (e *Engine) Durable(ctx context.Context) error { return e.durably(nil, e.sync.wait(ctx)) }

// DurableOf implements store.EarlyReader.
func (e *Engine) DurableOf(ctx context.Context, app rewards.AppID) error {
	return e.durably(nil, e.sync.waitFor(ctx, app))
}

// write runs a transaction of the writer. Some apps can see what it changes; none: all can.
func (e *Engine) write(ctx context.Context, apps []rewards.AppID, f func(context.Context, store.Tx) error) error {
	s, err := e.writer.take(ctx)
	if err != nil {
		return busy(err)
	}
	defer e.writer.give(s)
	if e.dead.Load() {
		return rewards.Unavailable("the service is stopping", nil)
	}
	commit := func() error { return e.sync.commit(apps, s.commit) }
	err = s.run(context.WithoutCancel(ctx), "BEGIN IMMEDIATE", commit, func(ctx context.Context, tx store.Tx) error {
		if err := checkSchema(ctx, tx, e.schema); err != nil {
			return err
		}
		return f(ctx, tx)
	})
	if fatal(err) {
		e.fail(err)
	}
	if e.carry != nil {
		e.carry.written()
	}
	return err
}

func busy(err error) error {
	return rewards.Unavailable("the database is busy", err)
}

// Sole implements store.SoleProcess.
func (e *Engine) Sole() bool { return e.sole }

// Failed implements store.Engine.
func (e *Engine) Failed() <-chan error { return e.failed }

// Close implements store.Engine.
func (e *Engine) Close() error {
	var errs []error
	if e.carry != nil {
		errs = append(errs, e.carry.close())
	}
	if e.sync != nil {
		errs = append(errs, e.sync.close()) // before the last connection, which removes the log
	}
	if e.writer != nil && (e.sync == nil || !e.sync.indexLost()) { // closing all would copy the log as its index has it
		errs = append(errs, e.writer.close())
	}
	if e.readers != nil && e.readers != e.writer {
		errs = append(errs, e.readers.close())
	}
	return errors.Join(errs...)
}
