package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"stockrewards/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate migrates the schema, under a lock so that processes which start together do it once.
func (e *Engine) migrate(ctx context.Context) (err error) {
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
	current, newest, err := provider.GetVersions(ctx)
	e.schema = newest
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
		"set local idle_in_transaction_session_timeout = 0; select pg_advisory_xact_lock(%d)", schemaLock)
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
