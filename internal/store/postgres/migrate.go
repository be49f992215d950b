package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
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
	if err := checkPlace(ctx, lock); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	if e.options.KeepSchema {
		if err := findStore(ctx, lock); err != nil {
			return fmt.Errorf("postgres: %w", err)
		}
	}
	current, newest, err := provider.GetVersions(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("postgres: cannot read the schema's version: %w", withHint(err))
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
	awake, stop := keepAwake(ctx, lock)
	defer stop()
	err = up(awake, provider)
	if lost := context.Cause(awake); err != nil && lost != nil && ctx.Err() == nil {
		err = lost
	}
	if err != nil {
		return fmt.Errorf("postgres: cannot migrate: %w", withHint(err))
	}
	return nil
}

// place is a schema that has a store.
type place struct {
	schema, owner string
	begun         bool // and not more: the first migration alone
}

// checkPlace fails when a migration would begin a store beside another one of the database, or when another role owns
// the store's tables: this one would own the new ones.
func checkPlace(ctx context.Context, conn *pgx.Conn) error {
	var schema, user string
	err := conn.QueryRow(ctx, `SELECT coalesce(current_schema(), ''), current_user`).Scan(&schema, &user)
	if err != nil {
		return fmt.Errorf("cannot read the schema's name: %w", err)
	}
	// Names are looked up in pg_class, which needs no right on their schema.
	rows, err := conn.Query(ctx, `SELECT n.nspname, pg_get_userbyid(r.relowner),
			NOT EXISTS (SELECT FROM pg_class o WHERE o.relnamespace = n.oid AND o.relname = 'open_rewards')
		FROM pg_class r JOIN pg_namespace n ON n.oid = r.relnamespace WHERE r.relname = 'rewards' AND r.relkind = 'r'
			AND EXISTS (SELECT FROM pg_class v WHERE v.relnamespace = n.oid AND v.relname = 'goose_db_version')
		ORDER BY 1`)
	if err != nil {
		return fmt.Errorf("cannot look for the store: %w", err)
	}
	places, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p place, err error) {
		return p, row.Scan(&p.schema, &p.owner, &p.begun)
	})
	if err != nil {
		return fmt.Errorf("cannot look for the store: %w", err)
	}
	return judgePlace(schema, user, places)
}

func judgePlace(schema, user string, places []place) error {
	here := slices.IndexFunc(places, func(p place) bool { return p.schema == schema })
	whole := slices.IndexFunc(places, func(p place) bool { return p.schema != schema && !p.begun })
	switch {
	case whole >= 0 && (here < 0 || places[here].begun):
		return fmt.Errorf("the store is in the schema %q, but this role's tables would be made in %q: set the role's "+
			"search_path to it, and drop what an earlier attempt may have made in %[2]q", places[whole].schema, schema)
	case here >= 0 && places[here].owner != user:
		return fmt.Errorf("the role %q owns the store's tables, and %q would own the new ones: run "+
			"`stockrewards migrate` as %[1]q", places[here].owner, user)
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

// withHint adds the next step to an error about a missing privilege or index, a lock, or used-up transaction ids.
func withHint(err error) error {
	switch sqlState(err) {
	case insufficientPrivilege:
		return fmt.Errorf("%w; run `stockrewards migrate` as the role that owns the tables", err)
	case lockNotAvailable:
		return fmt.Errorf("%w; another session uses a table: end it (pg_stat_activity), "+
			"then run `stockrewards migrate` again", err)
	case limitReached:
		return fmt.Errorf("%w; if transaction ids are used up, end old and prepared transactions, "+
			"then run VACUUM in every database as a superuser", err)
	case noUniqueIndex:
		return fmt.Errorf("%w; a unique index is missing, as after an incomplete restore: "+
			"restore the backup into an empty database", err)
	}
	return err
}

// SQLSTATEs.
const (
	insufficientPrivilege = "42501"
	lockNotAvailable      = "55P03"
)

// frozen is how long the server waits for a process that migrates before it ends its transactions, and their locks.
const frozen = 30 * time.Second

// lookEvery is how often a process that migrates looks whether it still has the lock.
const lookEvery = time.Second

// errLostLock is why a migration ends: another process may have begun one.
var errLostLock = errors.New("the connection that kept other processes away is lost; run `stockrewards migrate` again")

// keepAwake shows the server that the process of the lock still runs, until stop is called. awake ends with
// errLostLock when the lock is lost.
func keepAwake(ctx context.Context, lock *pgx.Conn) (awake context.Context, stop func()) {
	awake, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-awake.Done():
				return
			case <-tick.C:
				if _, err := lock.Exec(context.WithoutCancel(ctx), "select 1"); err != nil {
					cancel(errLostLock)
				}
			}
		}
	}()
	return awake, func() {
		cancel(nil)
		<-ended
	}
}

// schemaLock is the advisory lock of migrations.
const schemaLock = turnLock - 1

// lockSchema takes the lock in a transaction on a separate connection, which holds it until it
// is closed. PgBouncer does not share a connection with an open transaction.
func (e *Engine) lockSchema(ctx context.Context) (*pgx.Conn, error) {
	conn, err := e.connect(ctx)
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
