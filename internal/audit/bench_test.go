package audit_test

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"stockrewards/internal/audit"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
)

// BenchmarkRun audits books of 20,000 executed rewards, or of as many as
// AUDIT_BENCH_REWARDS says.
func BenchmarkRun(b *testing.B) {
	n := 20_000
	if text := os.Getenv("AUDIT_BENCH_REWARDS"); text != "" {
		var err error
		n, err = strconv.Atoi(text)
		check(b, err)
	}
	path := filepath.Join(b.TempDir(), "books.db")
	fillBooks(b, path, n)
	b.ReportAllocs()
	for b.Loop() {
		books, err := audit.OpenSQLite(b.Context(), path)
		check(b, err)
		report, err := audit.Run(b.Context(), books, audit.Options{})
		if err != nil || !report.OK() {
			b.Fatalf("%v, %+v", err, report)
		}
		check(b, books.Close())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/reward")
}

// bulk writes consistent books quickly.
type bulk struct {
	b      *testing.B
	tx     *sql.Tx
	now    time.Time
	app    rewards.AppID
	random *counter
	ids    *rewards.IDs

	prepared map[string]*sql.Stmt
}

// counter is a source of bytes that never repeats soon.
type counter struct{ n uint64 }

func (c *counter) Read(p []byte) (int, error) {
	for i := range p {
		c.n = c.n*6364136223846793005 + 1442695040888963407
		p[i] = byte(c.n >> 56)
	}
	return len(p), nil
}

func (k *bulk) exec(query string, args ...any) {
	k.b.Helper()
	statement := k.prepared[query]
	if statement == nil {
		var err error
		statement, err = k.tx.PrepareContext(k.b.Context(), query)
		check(k.b, err)
		k.prepared[query] = statement
	}
	_, err := statement.ExecContext(k.b.Context(), args...)
	check(k.b, err)
}

const (
	benchMembers = 200 // in an order
	benchUsers   = 10  // rewards of a user
)

func fillBooks(b *testing.B, path string, n int) {
	b.Helper()
	engine, err := sqlite.Open(b.Context(), path, sqlite.Options{})
	check(b, err)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s, err := store.New(b.Context(), engine, func() time.Time { return now }, rand.Reader)
	check(b, err)
	app, _, err := s.As(rewards.Operator{Actor: "tester@bench", Command: "bench"}).CreateApp(b.Context(), "app", rewards.Key{})
	check(b, err)
	check(b, s.Close())
	db, err := sql.Open("sqlite", path)
	check(b, err)
	b.Cleanup(func() { check(b, db.Close()) })
	k := &bulk{
		b: b, now: now, app: app.ID, random: new(counter), prepared: make(map[string]*sql.Stmt),
	}
	k.ids = rewards.NewIDs(func() time.Time { return k.now }, k.random)
	k.tx, err = db.BeginTx(b.Context(), nil)
	check(b, err)
	k.fill(n)
	check(b, k.tx.Commit())
}

func (k *bulk) fill(n int) {
	k.exec(`INSERT INTO assets (id, symbol, name) VALUES (1, 'AAPL', 'Apple')`)
	app := k.app
	users := make([]rewards.UserID, max(1, n/benchUsers))
	for i := range users {
		users[i] = rewards.NewID[rewards.User](k.ids)
		u := rewards.User{AppID: app, ID: users[i], ExternalID: fmt.Sprint("user-", i)}
		seal := u.Seal()
		k.exec(`INSERT INTO users (app_id, id, email, email_folded, external_id, seal) VALUES (?, ?, '', '', ?, ?)`,
			app[:], users[i][:], u.ExternalID, seal[:])
	}
	for first := 0; first < n; first += benchMembers {
		k.now = k.now.Add(time.Minute)
		k.order(app, users, first, min(benchMembers, n-first))
	}
}

// order gives rewards to users and books their order as filled.
func (k *bulk) order(app rewards.AppID, users []rewards.UserID, first, n int) {
	members, owners := make([]rewards.Member, n), make([]rewards.UserID, n)
	amounts := make([]money.USD, n)
	var sum money.USD
	at := k.now.Add(time.Second).UnixMicro()
	for i := range members {
		owners[i] = users[(first+i)*7919%len(users)]
		amounts[i] = money.USD(1_000_000 + (first+i)%9_000_000)
		sum += amounts[i]
		r := rewards.NewReward{
			AppID: app, IdempotencyKey: fmt.Sprintf("key-%08d", first+i),
			UserID: owners[i], Amount: amounts[i], Symbol: "AAPL", Source: "signup", Metadata: `{"campaign":"spring","n":1}`,
		}
		f := rewards.NewFingerprint(r, r.Metadata)
		members[i] = rewards.Member{AppID: app, RewardID: rewards.NewID[rewards.Reward](k.ids), Amount: amounts[i]}
		k.exec(`INSERT INTO rewards (app_id, id, user_id, idempotency_key, fingerprint, amount, asset_id, symbol,
			source, metadata, status, waiting, booked, executed_at) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, ?, 3, 0, ?, ?)`,
			app[:], members[i].RewardID[:], owners[i][:], r.IdempotencyKey, f[:], int64(amounts[i]),
			r.Symbol, r.Source, r.Metadata, int64(amounts[i]), at)
	}
	notional, err := sum.UpToCent()
	check(k.b, err)
	const price = 187_310_000_000
	qty, err := money.SharesFor(notional, price)
	check(k.b, err)
	allocations, house, err := rewards.Allocate(amounts, qty, notional)
	check(k.b, err)
	id, seal := rewards.NewID[rewards.Order](k.ids), rewards.HashMembers(members)
	k.exec(`INSERT INTO orders (id, client_order_id, asset_id, symbol, notional, house, members_hash, state, attempts,
		first_attempt_at, broker_id, broker_status, filled_qty, filled_avg_price, filled_at, house_shares, settled_at)
		VALUES (?, ?, 1, 'AAPL', ?, ?, ?, 6, 1, ?, 'b', 'filled', ?, ?, ?, ?, ?)`, id[:], fmt.Sprintf("sr-test-%x", id[8:]),
		int64(notional), int64(notional-sum), seal[:], at, int64(qty), price, at, int64(house), at)
	for i, m := range members {
		k.exec(`INSERT INTO order_rewards VALUES (?, ?, ?, ?, ?)`, id[:], i, app[:], m.RewardID[:], int64(m.Amount))
		k.exec(`INSERT INTO allocations VALUES (?, ?, ?, ?, ?)`,
			app[:], m.RewardID[:], id[:], int64(m.Amount), int64(allocations[i].Shares))
		k.exec(`INSERT INTO holdings VALUES (?, ?, 1, ?, ?)
			ON CONFLICT DO UPDATE SET quantity = quantity + excluded.quantity, cost_basis = cost_basis + excluded.cost_basis`,
			app[:], owners[i][:], int64(allocations[i].Shares), int64(amounts[i]))
	}
	day := k.now.Truncate(24 * time.Hour).UnixMicro()
	k.exec(`INSERT INTO spending VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET notional = notional + excluded.notional,
		house = house + excluded.house`, day, int64(notional), int64(notional-sum))
}
