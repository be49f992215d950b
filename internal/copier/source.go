package copier

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // the driver

	"stockrewards/internal/dbfile"
)

// source is a snapshot of the SQLite file.
type source struct {
	db   *sql.DB
	conn *sql.Conn
}

func openSource(ctx context.Context, path string) (*source, error) {
	options := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(1)", "mmap_size(0)"}}
	db, err := sql.Open("sqlite", dbfile.URI(path)+"?"+options.Encode())
	if err != nil {
		return nil, fmt.Errorf("cannot open %s: %w", path, err)
	}
	s := &source{db: db}
	if s.conn, err = db.Conn(ctx); err == nil {
		_, err = s.conn.ExecContext(ctx, `BEGIN`)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open %s: %w", path, err), s.close())
	}
	return s, nil
}

func (s *source) close() error {
	var errs []error
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	return errors.Join(append(errs, s.db.Close())...)
}

// segmentSize is about how many rewards a segment of PostgreSQL has.
const segmentSize = 1 << 19

// derived lists the tables that are not copied as they are: the index of rewards, which PostgreSQL makes, which
// rewards are not in open_rewards yet, and members, which are copied in blocks.
func derived() []string {
	return []string{
		"arrivals_after", "key_blocks", "members", "reward_keys", "reward_users", "segment_filters", "segments",
		"user_blocks",
	}
}

// from returns what a table is copied from.
func from(table string) string {
	switch table {
	case "webhook_shards": // the process that had them has ended: the target's need not wait for its leases
		return `(SELECT number, holder, epoch, 0 AS until FROM webhook_shards)`
	case "webhook_workers":
		return `webhook_workers WHERE false`
	case "settings":
		return `settings WHERE name <> '` + sealed + `'`
	case "rewards":
		return `(SELECT *, (rowid - 1) / ` + strconv.Itoa(segmentSize) + ` AS segment FROM rewards)`
	case "open_rewards":
		const columns = `SELECT app_id, id, asset_id, status, waiting, pending, `
		return `(` + columns + `place FROM open_rewards UNION ALL ` + columns + `0 AS place FROM arrivals)`
	case "member_blocks":
		return memberBlocks
	case "member_parts":
		return `(SELECT * FROM members WHERE rest > 0 OR shares > 0 OR before > 0 OR completes > 0)`
	default:
		return table
	}
}

// memberBlocks are the members of orders in blocks of 32, as PostgreSQL has them. One without a reward cannot be
// copied.
const memberBlocks = `(SELECT block,
		unhex(group_concat(CASE WHEN nth = 1 THEN hex(app_id) END, '' ORDER BY app)) AS apps,
		unhex(group_concat(printf('%02x', app - 1), '' ORDER BY place)) AS app_of,
		unhex(group_concat(hex(reward_id), '' ORDER BY place)) AS rewards,
		'{' || group_concat(amount, ',' ORDER BY place) || '}' AS amounts
	FROM (SELECT m.place, m.place / 32 AS block, r.app_id, r.id AS reward_id, m.amount,
		dense_rank() OVER (PARTITION BY m.place / 32 ORDER BY r.app_id) AS app,
		row_number() OVER (PARTITION BY m.place / 32, r.app_id ORDER BY m.place) AS nth
		FROM members m LEFT JOIN rewards r ON r.rowid = m.reward)
	GROUP BY block)`

// checkTables fails unless the file has exactly the tables that are copied or derived.
func (s *source) checkTables(ctx context.Context) error {
	found, err := s.strings(ctx, `SELECT name FROM sqlite_schema WHERE type = 'table'
		AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND name <> 'goose_db_version' ORDER BY name`)
	if err != nil {
		return err
	}
	want := slices.DeleteFunc(append(tables(), derived()...), func(table string) bool {
		return table == "member_blocks" || table == "member_parts" // made of members
	})
	slices.Sort(want)
	if !slices.Equal(found, want) {
		return fmt.Errorf("the source has the tables %v, want %v", found, want)
	}
	return nil
}

// columns returns the columns that a table is copied with.
func (s *source) columns(ctx context.Context, table string) ([]string, error) {
	switch table {
	case "member_blocks":
		return []string{"amounts", "app_of", "apps", "block", "rewards"}, nil
	case "member_parts":
		return []string{"before", "completes", "place", "rest", "shares"}, nil
	}
	list, err := s.strings(ctx, `SELECT name FROM pragma_table_info('`+table+`') ORDER BY name`)
	if table == "rewards" { // not used by this version, and the room for what becomes final
		list = slices.DeleteFunc(list, func(name string) bool { return name == "waiting" || name == "room" })
		list = append(list, "segment")
		slices.Sort(list)
	}
	return list, err
}

func (s *source) strings(ctx context.Context, query string) (list []string, err error) {
	rows, err := s.conn.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, rows.Err()
}

// read starts to read a table.
func (s *source) read(ctx context.Context, table string, columns []string) (r *tableRows, err error) {
	r = &tableRows{table: table, values: make([]any, len(columns)), dest: make([]any, len(columns))}
	if err := s.conn.QueryRowContext(ctx, `SELECT count(*) FROM `+from(table)).Scan(&r.total); err != nil {
		return nil, err
	}
	for i := range columns {
		r.dest[i] = &r.values[i]
	}
	list := `"` + strings.Join(columns, `", "`) + `"`
	query := `SELECT ` + list + ` FROM ` + from(table) //nolint:gosec // only constant names
	rows, err := s.conn.QueryContext(ctx, query)       //nolint:rowserrcheck // see tableRows.Err
	r.rows = rows
	return r, err
}
