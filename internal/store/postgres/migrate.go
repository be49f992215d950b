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
	unlock, err := e.lockSchema(ctx)
	if err != nil {
		return fmt.Errorf("postgres: cannot lock the schema: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
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
	switch {
	case err != nil:
		return fmt.Errorf("postgres: cannot read the schema's version: %w", withOwnerHint(err))
	case current > newest:
		return fmt.Errorf("postgres: version %d, known is %d: %w", current, newest, store.ErrNewerSchema)
	case current == newest:
		return nil
	case e.options.KeepSchema:
		return fmt.Errorf("postgres: %w", store.ErrOlderSchema)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("postgres: cannot migrate: %w", withOwnerHint(err))
	}
	return nil
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

// lockSchema takes the lock in a transaction on a separate connection, which stays open until
// unlock. PgBouncer does not share a connection with an open transaction.
func (e *Engine) lockSchema(ctx context.Context) (unlock func() error, err error) {
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
	return func() error { return conn.Close(context.WithoutCancel(ctx)) }, nil
}
