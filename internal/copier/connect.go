package copier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The limits of the connection to the target.
const (
	connectPatience = 10 * time.Second // unless the URL says otherwise
	lockPatience    = 2 * time.Minute  // a killed copy has ended by then
)

// warned is where a connection keeps the last warning of its server.
const warned = "warned"

// connect connects to the read-write server of the target: a standby may not know
// yet what is there.
func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectPatience
	}
	config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	config.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec // nothing is prepared by name
	config.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.SeverityUnlocalized == "WARNING" {
			conn.CustomData()[warned] = n.Message
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("copier: the target: %w", err)
	}
	// The server notices soon when this process's machine is gone, and rolls back.
	settings := fmt.Sprintf(`SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
		SET lock_timeout = %d; SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5;
		SET tcp_keepalives_count = 6`, lockPatience.Milliseconds())
	if _, err := conn.PgConn().Exec(ctx, settings).ReadAll(); err != nil {
		return nil, errors.Join(fmt.Errorf("copier: the target: %w", err), disconnect(conn))
	}
	// Not every server can do this.
	_, _ = conn.PgConn().Exec(ctx, `SET client_connection_check_interval = '10s'`).ReadAll()
	return conn, nil
}

func disconnect(conn *pgx.Conn) error {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience) //nolint:forbidigo // the caller's may have ended
	defer cancel()
	return conn.Close(ctx)
}

// lock begins the transaction, alone in all tables.
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

func texts(ctx context.Context, conn *pgx.Conn, query string, args ...any) ([]string, error) {
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func parse(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		err = errors.New(e.Error()) // pgx has taken the password out
	}
	if err != nil {
		return nil, fmt.Errorf("copier: the URL of the target: %w", err)
	}
	return config, nil
}
