package copier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The timeouts of the connection to the target.
const (
	connectTimeout = 10 * time.Second // unless the URL has one
	lockTimeout    = 2 * time.Minute  // by then a killed copy has ended
	closeTimeout   = 5 * time.Second
)

// lastWarning is the key of the server's last warning in a connection's custom data.
const lastWarning = "last_warning"

// connect connects to the target's primary, because a standby may lag behind.
func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	config.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec // without named prepared statements
	config.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			conn.CustomData()[lastWarning] = n.Message
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the target: %w", err)
	}
	// With keepalives the server soon notices that this machine is gone, and rolls back. A commit waits for the standby
	// whatever the role's settings are, and its warning arrives.
	settings := fmt.Sprintf(`SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
		SET lock_timeout = %d; SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5;
		SET tcp_keepalives_count = 6; SET client_min_messages = warning;
		SELECT set_config('synchronous_commit', 'on', false)
			WHERE current_setting('synchronous_commit') <> 'remote_apply'`, lockTimeout.Milliseconds())
	if _, err := conn.PgConn().Exec(ctx, settings).ReadAll(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot set up the session at the target: %w", err), disconnect(conn))
	}
	// Not every server supports this.
	_, _ = conn.PgConn().Exec(ctx, `SET client_connection_check_interval = '10s'`).ReadAll()
	return conn, nil
}

func disconnect(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout) //nolint:forbidigo // ctx may have ended
	defer cancel()
	return conn.Close(ctx)
}

// lock begins the transaction and locks all tables against others.
func lock(ctx context.Context, conn *pgx.Conn) error {
	if err := exec(ctx, conn, `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE`); err != nil {
		return err
	}
	return exec(ctx, conn, `LOCK TABLE `+strings.Join(tables(), ", ")+` IN ACCESS EXCLUSIVE MODE`)
}

func exec(ctx context.Context, conn *pgx.Conn, statement string, args ...any) error {
	_, err := conn.Exec(ctx, statement, args...)
	return err
}

func stringsOf(ctx context.Context, conn *pgx.Conn, query string, args ...any) ([]string, error) {
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// commit commits a transaction at the target. Only a response without a warning proves a commit: a warning may
// mean that it was not replicated. Only an error of the server after which the connection
// still works proves a rollback: errRolledBack. Otherwise the outcome is unknown.
func commit(ctx context.Context, conn *pgx.Conn) error {
	delete(conn.PgConn().CustomData(), lastWarning)
	results, err := conn.PgConn().Exec(ctx, "COMMIT").ReadAll()
	warning := conn.PgConn().CustomData()[lastWarning]
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.SeverityUnlocalized == "ERROR" {
		return fmt.Errorf("%w: %w", errRolledBack, err)
	}
	switch {
	case err != nil:
		return errors.Join(errUnknownOutcome, err)
	case len(results) != 1 || results[0].CommandTag.String() != "COMMIT":
		return errRolledBack
	case warning != nil:
		return fmt.Errorf("%w: the server warns: %v", errUnknownOutcome, warning)
	}
	return nil
}

func parse(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		err = errors.New(e.Error()) // drops the wrapped error, which may have the password
	}
	if err != nil {
		return nil, fmt.Errorf("invalid URL of the target: %w", err)
	}
	ofServe := func(name, _ string) bool { return strings.HasPrefix(name, "pool_") }
	maps.DeleteFunc(config.RuntimeParams, ofServe)
	return config, nil
}
