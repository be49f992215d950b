package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store/sqlite"
)

// made numbers unique names.
var made atomic.Int64

func unique(prefix string) string { return fmt.Sprintf("%s-%06d", prefix, made.Add(1)) }

// body is a JSON object of alternating names and raw values; "" omits the member.
func body(pairs ...string) string {
	var b strings.Builder
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(pairs[i]) + ":" + pairs[i+1])
	}
	return "{" + b.String() + "}"
}

// quote encodes a JSON string.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// award is the body of a valid request for an award of $10 of AAPL under a new key, with
// changes: names and raw values as in body.
func award(user string, changes ...string) string {
	pairs := []string{
		"userId", quote(user), "idempotencyKey", quote(unique("award")), "amountUsd", "10", "assetSymbol", `"AAPL"`,
	}
	for i := 0; i+1 < len(changes); i += 2 {
		at := slices.Index(pairs, changes[i])
		if at < 0 || at%2 == 1 {
			pairs = append(pairs, changes[i], changes[i+1])
			continue
		}
		pairs[at+1] = changes[i+1]
	}
	return body(pairs...)
}

// newUser creates a user of the app and returns its id.
func (c client) newUser(t *testing.T) string {
	t.Helper()
	u, err := c.world.store.CreateUser(t.Context(), rewards.User{AppID: c.app.ID, ExternalID: unique("user")})
	check(t, err)
	return u.ID.String()
}

// newUsers creates users of the app and returns their ids, newest first.
func (c client) newUsers(t *testing.T, n int) []string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		ids[n-1-i] = c.newUser(t)
	}
	return ids
}

// give awards stock and returns the id of the reward.
func (c client) give(t *testing.T, user string, changes ...string) string {
	t.Helper()
	return c.post(t, "/v1/rewards", award(user, changes...)).
		wantStatus(t, http.StatusCreated).text(t, "reward", "id")
}

// giveMany records rewards in the store directly, and returns their ids newest first.
func (c client) giveMany(t *testing.T, user string, n int, metadata ...string) []string {
	t.Helper()
	userID := parseID[rewards.User](t, user)
	batch, asset := make([]rewards.NewReward, n), c.world.asset(t, "AAPL")
	for i := range batch {
		batch[i] = rewards.NewReward{
			AppID: c.app.ID, UserID: userID, IdempotencyKey: unique("many"), Amount: money.Dollar,
			Symbol: "AAPL", AssetID: asset, Metadata: strings.Join(metadata, ""),
		}
	}
	outcomes, err := c.world.store.RecordRewards(t.Context(), batch)
	check(t, err)
	ids := make([]string, n)
	for i, o := range outcomes {
		ids[n-1-i] = o.Reward.ID.String()
	}
	return ids
}

func parseID[V any](t *testing.T, s string) rewards.ID[V] {
	t.Helper()
	id, err := rewards.ParseID[V](s)
	check(t, err)
	return id
}

// setStatus sets a reward's status in the database, with all that depends on it.
func (c client) setStatus(t *testing.T, reward string, status rewards.Status, executedAt time.Time) {
	t.Helper()
	id := parseID[rewards.Reward](t, reward)
	stored, bought, executed, reason := status, 0, int64(0), ""
	switch status {
	case rewards.Recorded:
	case rewards.Executing:
		stored = rewards.Recorded
	case rewards.Executed:
		bought, executed = 1, executedAt.UnixMicro()
	case rewards.Failed:
		reason = "asset_not_tradable: not today"
	}
	if status == rewards.Executed { // by an order of an earlier version, with the same id
		c.world.exec(t, `INSERT INTO orders (id, client_order_id, asset_id, symbol, notional, house, members_hash, state,
			attempts, first_attempt_at, settled_at) SELECT id, ?3, asset_id, symbol, 1000000, 0, ?4, 6,
			1, 1, 1 FROM rewards WHERE app_id = ?1 AND id = ?2 ON CONFLICT (id) DO NOTHING`, c.app.ID[:], id[:], reward,
			make([]byte, 32))
		c.world.exec(t, `INSERT INTO past_allocations (app_id, reward_id, order_id, amount, shares) SELECT app_id, id, id, amount, 0
			FROM rewards WHERE app_id = ?1 AND id = ?2 ON CONFLICT (app_id, reward_id, order_id) DO NOTHING`, c.app.ID[:], id[:])
	}
	c.world.sortArrivals(t)
	c.world.exec(t, `DELETE FROM open_rewards WHERE app_id = ?1 AND id = ?2`, c.app.ID[:], id[:])
	c.world.exec(t, `UPDATE rewards SET status = ?3, booked = amount * ?4, executed_at = ?5, failure_reason = ?6
		WHERE app_id = ?1 AND id = ?2`, c.app.ID[:], id[:], int(stored), bought, executed, reason)
	if stored == rewards.Recorded {
		c.world.exec(t, `INSERT INTO open_rewards (app_id, id, asset_id, status, waiting, pending) SELECT app_id, id,
			asset_id, ?3, ?4, amount FROM rewards WHERE app_id = ?1 AND id = ?2`, c.app.ID[:], id[:], int64(status),
			int64(rewards.Executing-status))
	}
}

// sortArrivals moves the newest rewards to open_rewards. PostgreSQL has them there.
func (w *world) sortArrivals(t *testing.T) {
	t.Helper()
	if _, embedded := w.engine.(*sqlite.Engine); !embedded {
		return
	}
	w.exec(t, `INSERT INTO open_rewards (app_id, id, asset_id, status, waiting, pending)
		SELECT app_id, id, asset_id, status, waiting, pending FROM arrivals`)
	w.exec(t, `UPDATE arrivals_after SET number = (SELECT max(rowid) FROM rewards), id = (SELECT max(id) FROM rewards)`)
}

// hold creates a user's holding in the database.
func (c client) hold(t *testing.T, user, symbol string, quantity money.Shares, cost money.USD) {
	t.Helper()
	id := parseID[rewards.User](t, user)
	c.world.exec(t, `INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis) VALUES (?1, ?2, ?3, ?4, ?5)`,
		c.app.ID[:], id[:], int64(c.world.asset(t, symbol)), int64(quantity), int64(cost))
	c.world.exec(t, `INSERT INTO app_assets (app_id, asset_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING`,
		c.app.ID[:], int64(c.world.asset(t, symbol)))
	if _, embedded := c.world.engine.(*sqlite.Engine); !embedded { // whose processes have holdings in memory
		c.world.exec(t, `UPDATE holding_changes SET number = number + 256, users = ''
			WHERE number = (SELECT min(number) FROM holding_changes)`)
	}
}
