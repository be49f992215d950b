package move

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// State is what a target holds.
type State struct {
	// Empty means: no tables at all, or those of ours without a row. A catalog, a
	// setting or a leader that once was make it somebody's.
	Empty bool
	// Installation is the id of the installation whose books are there, if any.
	Installation string
}

// Look tells what a target holds. It waits until a copy that was killed has ended
// at the server, one way or the other.
func Look(ctx context.Context, url string) (s State, err error) {
	conn, err := connect(ctx, url)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, disconnect(conn)) }()
	if s, err = look(ctx, conn); err != nil {
		return s, fmt.Errorf("move: look at the target: %w", err)
	}
	return s, nil
}

// Name names the database of a URL, without credentials: "host:5432/name".
func Name(url string) (string, error) {
	config, err := parse(url)
	if err != nil {
		return "", err
	}
	name := net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database
	if schema := config.RuntimeParams["search_path"]; schema != "" {
		name += "/" + schema
	}
	return name, nil
}

func parse(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		err = errors.New(e.Error()) // pgx has taken the password out
	}
	if err != nil {
		return nil, fmt.Errorf("move: the URL of the target: %w", err)
	}
	return config, nil
}

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
		return nil, fmt.Errorf("move: the target: %w", err)
	}
	// The server notices soon when this process's machine is gone, and rolls back.
	settings := fmt.Sprintf(`SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0;
		SET lock_timeout = %d; SET tcp_keepalives_idle = 15;
		SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 6; SET timezone = 'UTC'`, lockPatience.Milliseconds())
	if _, err := conn.PgConn().Exec(ctx, settings).ReadAll(); err != nil {
		return nil, errors.Join(fmt.Errorf("move: the target: %w", err), disconnect(conn))
	}
	// Not every server can do this.
	_, _ = conn.PgConn().Exec(ctx, `SET client_connection_check_interval = '10s'`).ReadAll()
	return conn, nil
}

func disconnect(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), closePatience) //nolint:forbidigo // the caller's may have ended
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

// look reads what the target holds now.
func look(ctx context.Context, conn *pgx.Conn) (s State, err error) {
	there, err := texts(ctx, conn, `SELECT c.relname::text FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'f')`)
	if err != nil {
		return s, err
	}
	found := make(map[string]bool, len(there))
	for _, table := range there {
		found[table] = true
	}
	if !found["goose_db_version"] {
		s.Empty = len(there) == 0
		return s, nil
	}
	if found["settings"] {
		ids, err := texts(ctx, conn, `SELECT value FROM settings WHERE name = 'installation_id'`)
		if err != nil {
			return s, err
		}
		s.Installation = strings.Join(ids, ",")
	}
	s.Empty, err = withoutRows(ctx, conn, found)
	return s, err
}

// withoutRows tells whether those of our tables that are there have no rows; the
// schema is made with a lease that nobody had.
func withoutRows(ctx context.Context, conn *pgx.Conn, found map[string]bool) (bool, error) {
	for _, table := range tables() {
		if !found[table] {
			continue
		}
		query := `SELECT EXISTS (SELECT 1 FROM ` + table + `)`
		if table == "lease" {
			query = `SELECT EXISTS (SELECT 1 FROM lease WHERE epoch <> 0 OR holder <> '')`
		}
		var rows bool
		if err := conn.QueryRow(ctx, query).Scan(&rows); err != nil || rows {
			return false, err
		}
	}
	return true, nil
}
