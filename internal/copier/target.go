package copier

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Target is what a target holds.
type Target struct {
	// Empty means: no tables at all, or those of ours without a row. A catalog, a
	// setting or a leader that once was make it somebody's.
	Empty bool
	// Installation is the id of the installation whose books are there, if any.
	Installation string
}

// Inspect tells what a target holds. It waits until a copy that was killed has ended
// at the server, one way or the other.
func Inspect(ctx context.Context, url string) (s Target, err error) {
	conn, err := connect(ctx, url)
	if err != nil {
		return s, err
	}
	defer disconnect(conn) //nolint:errcheck // it was only read
	if s, err = inspect(ctx, conn); err != nil {
		return s, fmt.Errorf("copier: look at the target: %w", err)
	}
	return s, nil
}

// TargetName names the database of a URL, without credentials: "host:5432/name".
func TargetName(url string) (string, error) {
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

// look reads what the target holds now.
func inspect(ctx context.Context, conn *pgx.Conn) (s Target, err error) {
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
