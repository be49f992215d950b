package copier

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Target describes a database.
type Target struct {
	// Empty means no tables at all, or our schema without rows. A catalog, a setting or a
	// former leader makes the target not empty.
	Empty bool
	// Installation is the id of the store's installation, or "".
	Installation string
}

// Inspect describes the database at url. It waits until the server has committed or
// rolled back a killed copy.
func Inspect(ctx context.Context, url string) (s Target, err error) {
	conn, err := connect(ctx, url)
	if err != nil {
		return s, err
	}
	defer disconnect(conn) //nolint:errcheck // only read
	if s, err = inspect(ctx, conn); err != nil {
		return s, fmt.Errorf("cannot inspect the target: %w", err)
	}
	return s, nil
}

// TargetName returns the name of the database at a URL without credentials, such as
// "host:5432/name".
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

// inspect describes the target in the current transaction, if there is one.
func inspect(ctx context.Context, conn *pgx.Conn) (s Target, err error) {
	existing, err := stringsOf(ctx, conn, `SELECT c.relname::text FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'f')`)
	if err != nil {
		return s, err
	}
	found := make(map[string]bool, len(existing))
	for _, table := range existing {
		found[table] = true
	}
	if !found["goose_db_version"] {
		s.Empty = len(existing) == 0
		return s, nil
	}
	if found["settings"] {
		ids, err := stringsOf(ctx, conn, `SELECT value FROM settings WHERE name = 'installation_id'`)
		if err != nil {
			return s, err
		}
		s.Installation = strings.Join(ids, ",")
	}
	s.Empty, err = withoutRows(ctx, conn, found)
	return s, err
}

// withoutRows reports whether the tables found have no rows, except the unused leases of a
// new schema.
func withoutRows(ctx context.Context, conn *pgx.Conn, found map[string]bool) (bool, error) {
	for _, table := range tables() {
		if !found[table] {
			continue
		}
		query := `SELECT EXISTS (SELECT 1 FROM ` + table
		switch table {
		case "lease", "webhook_shards":
			query += ` WHERE epoch <> 0 OR holder <> '')`
		case "event_counter":
			continue // it has one row
		default:
			query += `)`
		}
		var rows bool
		if err := conn.QueryRow(ctx, query).Scan(&rows); err != nil || rows {
			return false, err
		}
	}
	return true, nil
}
