package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"stockrewards/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate migrates the schema, under a lock so that processes which start together do it once. A schema that is current
// needs no lock: nobody waits for a process that froze while it migrates.
func (e *Engine) migrate(ctx context.Context) (err error) {
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(e.pool)
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, folder)
	if err != nil {
		return fmt.Errorf("postgres: cannot read the migrations: %w", err)
	}
	sources := provider.ListSources()
	e.schema = sources[len(sources)-1].Version
	if e.isCurrent(ctx) {
		return nil
	}
	return e.migrateAlone(ctx, provider)
}

// isCurrent reports whether the schema is known to have the newest version.
func (e *Engine) isCurrent(ctx context.Context) bool {
	var version int64
	err := e.pool.QueryRow(ctx, `select max(version_id) from goose_db_version where is_applied`).Scan(&version)
	return err == nil && version == e.schema
}

// migrateAlone migrates under the lock.
func (e *Engine) migrateAlone(ctx context.Context, provider *goose.Provider) (err error) {
	lock, err := e.lockSchema(ctx)
	if err != nil {
		return fmt.Errorf("postgres: cannot lock the schema: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close(context.WithoutCancel(ctx))) }()
	if e.options.KeepSchema {
		if err := findStore(ctx, lock); err != nil {
			return fmt.Errorf("postgres: %w", err)
		}
	}
	current, newest, err := provider.GetVersions(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("postgres: cannot read the schema's version: %w", withOwnerHint(err))
	case current > newest:
		return differs(current, newest)
	case current == newest:
		return nil
	case e.options.KeepSchema:
		return fmt.Errorf("postgres: %w", store.ErrOlderSchema)
	}
	if err := excludeWriters(ctx, lock); err != nil {
		return fmt.Errorf("postgres: cannot stop the writers before a migration: %w", err)
	}
	defer keepAwake(ctx, lock)()
	if err := up(ctx, provider); err != nil {
		return fmt.Errorf("postgres: cannot migrate: %w", withOwnerHint(err))
	}
	return nil
}

// findStore fails when the schema of the connection has no store: it is empty, or has only tables of another program.
func findStore(ctx context.Context, conn *pgx.Conn) error {
	var tables, ours int
	err := conn.QueryRow(ctx, `SELECT count(*), count(*) FILTER (WHERE c.relname = 'goose_db_version') FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'f')`).Scan(&tables, &ours)
	switch {
	case err != nil:
		return fmt.Errorf("cannot list the tables: %w", err)
	case ours > 0:
		return nil
	case tables > 0:
		return errors.New("the database has tables of another program, and no store: name another database")
	default:
		return errors.New("the database is empty: `stockrewards serve` or `stockrewards app create` makes the store")
	}
}

// up runs the migrations. A reader may lock tables in another order: then the server undoes the one that it ended.
func up(ctx context.Context, provider *goose.Provider) error {
	const attempts = 5
	for attempt := 1; ; attempt++ {
		if _, err := provider.Up(ctx); err == nil || attempt == attempts || !deadlocked(err) {
			return err
		}
	}
}

// withOwnerHint adds the next step to an error about a missing privilege.
func withOwnerHint(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == insufficientPrivilege {
		return fmt.Errorf("%w; run `stockrewards migrate` as the role that owns the tables", err)
	}
	return err
}

// insufficientPrivilege is a SQLSTATE.
const insufficientPrivilege = "42501"

// frozen is how long the server waits for a process that migrates before it ends its transactions, and their locks.
const frozen = 30 * time.Second

// keepAwake shows the server that the process of the lock still runs, until stop is called.
func keepAwake(ctx context.Context, lock *pgx.Conn) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(frozen / 6)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_, _ = lock.Exec(context.WithoutCancel(ctx), "select 1") // a lost connection has lost the lock already
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// schemaLock is the advisory lock of migrations.
const schemaLock = turnLock - 1

// lockSchema takes the lock in a transaction on a separate connection, which holds it until it
// is closed. PgBouncer does not share a connection with an open transaction.
func (e *Engine) lockSchema(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, e.pool.Config().ConnConfig)
	if err != nil {
		return nil, redact(err)
	}
	begin := fmt.Sprintf("begin; set local statement_timeout = 0; set local lock_timeout = '1min'; "+
		"set local idle_in_transaction_session_timeout = %s; select pg_advisory_xact_lock(%d)",
		millis(frozen), schemaLock)
	_, err = conn.PgConn().Exec(ctx, begin).ReadAll()
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// excludeWriters takes every turn to write, of all processes, until conn is closed. Who waits
// for a turn meanwhile finds the new version afterwards.
func excludeWriters(ctx context.Context, conn *pgx.Conn) error {
	for t := range turns {
		if _, err := conn.Exec(ctx, takeTurn(t)); err != nil {
			return err
		}
	}
	return nil
}
