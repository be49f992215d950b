// Package copier copies a store from an SQLite file into an empty PostgreSQL database, in
// one transaction: the target gets everything or nothing. It copies rows and knows of a
// few settings, not of what else the rows mean. Before a copy the caller creates the
// target's schema and stops all writes to the source. target.go says what counts as empty.
package copier

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ErrNotCopied means that the copy failed and the target is unchanged.
var ErrNotCopied = errors.New("the store was not copied")

// ErrNotEmpty means that the target has a store or other tables.
var ErrNotEmpty = errors.New("the target is not empty")

var (
	errUnknownOutcome = errors.New("unknown outcome: the target may have the store")
	errRolledBack     = errors.New("the server has rolled back")
)

// Options are the options of Copy.
type Options struct {
	// BrokerKind replaces the source's kind of broker; "" keeps it.
	BrokerKind string
	// Progress, if not nil, is called repeatedly with the number of rows sent so far, and
	// at the end of each table.
	Progress func(table string, rows, total int64)
	// Waits, if not nil, is called when the context of Copy ends during the commit, for which Copy waits nevertheless.
	Waits func()
}

// tables lists all tables; each follows those that it refers to.
func tables() []string {
	return []string{
		"settings", "operator_log", "apps", "keys", "users", "assets", "prices", "rewards", "open_rewards", "orders",
		"member_blocks", "member_parts", "past_members", "order_resolutions", "past_allocations", "past_lots",
		"order_lots", "lot_segments", "lot_blocks", "executed_spans", "holdings",
		"spending", "house_topups", "lease", "alarms",
		"broker_conflicts", "actions", "announcements", "positions", "switches", "effects", "payouts",
		"broker_activities", "order_corrections", "position_corrections", "house_holdings", "app_assets", "standstills",
		"events", "event_counter", "late_orders", "budgets", "budget_use", "reversals", "takings",
		"webhook_endpoints", "webhook_deliveries", "webhook_shards", "webhook_workers",
	}
}

// sealed is the setting that seals a copied source. It is not copied.
const sealed = "moved"

// Copy copies the store in the SQLite file at path to the database at url. After
// ErrNotCopied the target is unchanged. After any other error the outcome is unknown, and
// Inspect reports whether the target has the store.
func Copy(ctx context.Context, path, url string, o Options) error {
	from, err := openSource(ctx, path)
	if err != nil {
		return notCopied(err)
	}
	defer from.close() //nolint:errcheck // only read
	conn, err := connect(ctx, url)
	if err != nil {
		return notCopied(err)
	}
	defer disconnect(conn) //nolint:errcheck // the response to the commit decides
	c := &copying{from: from, to: conn, options: o}
	if err := c.run(ctx); err != nil {
		return notCopied(err)
	}
	if o.Waits != nil {
		defer context.AfterFunc(ctx, o.Waits)()
	}
	err = commit(context.WithoutCancel(ctx), conn) // a canceled commit would have an unknown outcome
	if errors.Is(err, errRolledBack) {
		return notCopied(err)
	}
	return err
}

func notCopied(err error) error { return fmt.Errorf("%w: %w", ErrNotCopied, err) }

// copying is a copy in progress.
type copying struct {
	from    *source
	to      *pgx.Conn
	options Options
}

// run does everything except the commit.
func (c *copying) run(ctx context.Context) error {
	if err := c.from.checkTables(ctx); err != nil {
		return err
	}
	if err := lock(ctx, c.to); err != nil {
		return err
	}
	target, err := inspect(ctx, c.to)
	if err != nil {
		return err
	}
	if !target.Empty {
		return ErrNotEmpty
	}
	for _, table := range []string{"lease", "event_counter", "webhook_shards"} { // the rows of a new schema
		if err := exec(ctx, c.to, `DELETE FROM `+table); err != nil {
			return err
		}
	}
	for _, table := range tables() {
		if err := c.table(ctx, table); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	return c.finish(ctx)
}

// finish adjusts the broker's kind, the sequence of asset ids, the segments of rewards and the statistics.
func (c *copying) finish(ctx context.Context) error {
	if c.options.BrokerKind != "" {
		err := exec(ctx, c.to, `UPDATE settings SET value = $1 WHERE name = 'broker_kind'`, c.options.BrokerKind)
		if err != nil {
			return err
		}
	}
	err := exec(ctx, c.to, `SELECT setval(pg_get_serial_sequence('assets', 'id'), (SELECT max(id) FROM assets))
		WHERE EXISTS (SELECT 1 FROM assets)`)
	if err != nil {
		return err
	}
	if err := c.segments(ctx); err != nil {
		return err
	}
	for _, table := range append(tables(), "segments") {
		if err := exec(ctx, c.to, `ANALYZE `+table); err != nil {
			return err
		}
	}
	return nil
}

// segments makes the rewards' segments. As in a store of an earlier version indexes have the keys and users, until
// `serve` has sealed the segments.
func (c *copying) segments(ctx context.Context) error {
	for _, statement := range []string{
		`UPDATE segments SET keys = 0, users = 0 WHERE EXISTS (SELECT 1 FROM rewards)`,
		`INSERT INTO segments (number, mark, keys, users)
			SELECT n, (random() * 9007199254740992)::bigint, (n > most)::int, (n > most)::int
			FROM (SELECT max(segment) AS most FROM rewards) AS r CROSS JOIN generate_series(1, most + 1) AS n`,
		`UPDATE reward_batches SET segment = (SELECT max(number) FROM segments)`,
		`CREATE UNIQUE INDEX rewards_by_key ON rewards (reward_key(segment, app_id, idempotency_key))`,
		`CREATE INDEX rewards_by_user ON rewards (user_entry(segment, user_id), substring(id FOR 6))`,
		`SELECT drop_reward_indexes()`,
	} {
		if err := exec(ctx, c.to, statement); err != nil {
			return err
		}
	}
	return nil
}

// Confirm waits until the store that Inspect found in the database at url is durable. The session that copied it may
// have ended while its commit waited for a standby: then everyone sees the store, but a fail-over loses it.
func Confirm(ctx context.Context, url string) error {
	conn, err := connect(ctx, url)
	if err != nil {
		return errors.Join(errUnknownOutcome, err)
	}
	defer disconnect(conn) //nolint:errcheck // the response to the commit decides
	err = exec(ctx, conn, `BEGIN`)
	if err == nil {
		err = exec(ctx, conn, `SELECT pg_logical_emit_message(true, 'stockrewards', '')`)
	}
	if err == nil {
		err = commit(ctx, conn)
	}
	if err != nil && !errors.Is(err, errUnknownOutcome) {
		err = errors.Join(errUnknownOutcome, err)
	}
	return err
}
