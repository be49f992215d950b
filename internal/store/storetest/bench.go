package storetest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// The sizes of benchmarks.
const (
	benchUsers   = 10_000
	benchBatch   = 64   // requests of a commit
	benchMembers = 1000 // rewards of an order
)

// bench is a store with an app, its users and an asset.
type bench struct {
	*store.Operator
	lease rewards.Lease
	app   rewards.AppID
	asset rewards.Asset
	users []rewards.UserID
}

func newBench(b *testing.B, engine store.Engine) *bench {
	b.Helper()
	ctx := b.Context()
	books, err := store.New(ctx, engine, time.Now, rand.Reader)
	must(b, err)
	s := books.As(rewards.Operator{Actor: "tester@bench", Command: "bench"})
	w := &bench{Operator: s}
	must(b, s.SeedAssets(ctx, []rewards.Asset{{Symbol: "AAPL", Name: "Apple"}}))
	assets, err := s.Assets(ctx)
	must(b, err)
	w.asset = assets[0]
	app, _, err := s.CreateApp(ctx, "bench", rewards.Key{Hash: rewards.HashKey("key")})
	must(b, err)
	w.app = app.ID
	w.lease, err = s.TakeLease(ctx, "bench", time.Hour, true)
	must(b, err)
	rows := make([][]any, benchUsers)
	w.users = make([]rewards.UserID, benchUsers)
	for i := range rows {
		_, _ = rand.Read(w.users[i][:])
		rows[i] = []any{w.app[:], w.users[i][:], "", "", fmt.Sprint("user-", i)}
	}
	must(b, engine.Write(ctx, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.ExecEach(ctx, `INSERT INTO users (app_id, id, email, email_folded, external_id)
			VALUES (?1, ?2, ?3, ?4, ?5)`, rows)
		return err
	}))
	return w
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// requests makes awards under random keys for random users.
func (w *bench) requests(n int) []rewards.NewReward {
	list := make([]rewards.NewReward, n)
	for i := range list {
		var key [16]byte
		_, _ = rand.Read(key[:])
		user := w.users[(int(key[0])<<16|int(key[1])<<8|int(key[2]))%len(w.users)]
		list[i] = rewards.NewReward{
			AppID: w.app, UserID: user, IdempotencyKey: hex.EncodeToString(key[:]),
			Amount: 1_500_000, Symbol: "AAPL", AssetID: w.asset.ID,
		}
		list[i].Fingerprint = rewards.NewFingerprint(list[i], "")
	}
	return list
}

func (w *bench) record(b *testing.B, n int) {
	b.Helper()
	for n > 0 {
		batch := w.requests(min(n, benchBatch))
		_, err := w.RecordRewards(b.Context(), batch)
		must(b, err)
		n -= len(batch)
	}
}

func (w *bench) plan(b *testing.B) rewards.Order {
	b.Helper()
	o, hold, err := w.PlanOrder(b.Context(), w.lease, rewards.PlanRequest{
		Asset: w.asset, Limits: Limits(), ClientOrderIDPrefix: "sr-bench-",
	})
	must(b, err)
	if hold != rewards.NoHold {
		b.Fatal("the pool is held")
	}
	return o
}

func (w *bench) open(b *testing.B, o rewards.Order) rewards.Order {
	b.Helper()
	o, err := w.BeginAttempt(b.Context(), w.lease, o, time.Now(), time.Now().Add(time.Hour))
	must(b, err)
	o.State, o.BrokerID, o.BrokerStatus, o.NextAttemptAt = rewards.OrderOpen, o.ID.String(), "new", time.Time{}
	must(b, w.SaveOrder(b.Context(), w.lease, rewards.OrderSubmitted, o))
	return o
}

func (w *bench) settle(b *testing.B, o rewards.Order) {
	b.Helper()
	o.BrokerStatus, o.FilledAvgPrice, o.FilledAt = "filled", dollar200, time.Now()
	o.FilledQty = money.Shares(int64(o.Notional) * 5) // at $200 a share
	must(b, w.SettleOrder(b.Context(), w.lease, rewards.OrderOpen, o, func(claims []rewards.Claim) (rewards.Settlement, error) {
		return rewards.Settle(o, claims, time.Now())
	}))
}

// Bench measures an engine with batches and orders of usual size. Each operation is one
// batch, one order or one read.
func Bench(b *testing.B, engine store.Engine) {
	b.Helper()
	w := newBench(b, engine)
	var replay []rewards.NewReward
	b.Run("record", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			replay = w.requests(benchBatch)
			b.StartTimer()
			_, err := w.RecordRewards(b.Context(), replay)
			must(b, err)
		}
	})
	b.Run("replay", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := w.RecordRewards(b.Context(), replay)
			must(b, err)
		}
	})
	b.Run("recordOne", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := w.RecordRewards(b.Context(), w.requests(1))
			must(b, err)
		}
	})
	b.Run("list100", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := w.Rewards(b.Context(), w.app, rewards.RewardFilter{}, rewards.Page[rewards.Reward]{Limit: 100})
			must(b, err)
		}
	})
	b.Run("plan", func(b *testing.B) { w.phase(b, func() func() { return func() { w.plan(b) } }) })
	b.Run("settle", func(b *testing.B) {
		w.phase(b, func() func() { o := w.open(b, w.plan(b)); return func() { w.settle(b, o) } })
	})
	b.Run("holdings", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_, err := w.Holdings(b.Context(), w.app, w.users[i%len(w.users)])
			must(b, err)
		}
	})
}

// phase measures one step of an order without the steps before it.
func (w *bench) phase(b *testing.B, prepare func() func()) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		w.record(b, benchMembers)
		step := prepare()
		b.StartTimer()
		step()
	}
}
