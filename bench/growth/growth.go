// Package growth fills an empty store with a past: the users, rewards, orders, allocations
// and holdings of months, millions of them. It calls the methods that the service calls, in
// large batches and with a clock that runs through the past, so it knows nothing of the
// store's layout. `stockrewards audit` finds no violation in the store, and `serve` runs on
// it. day.go has what happens in a day, order.go what happens to an order.
//
// The broker does not know the orders. The service still runs, because it compares only
// the orders of the last 36 hours; `stockrewards audit --broker` reports them as missing.
package growth

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/sqlite"
)

// Options say what to make; their tags are the flags of bench/grow.
type Options struct {
	Database string       `arg:"" help:"Fill this empty store: sqlite:PATH or postgres://USER@HOST/NAME."`
	Rewards  int          `default:"10000000" help:"Number of final rewards, of which one in 200 failed (default ${default})."`
	Waiting  int          `default:"3000" help:"Number of rewards that wait to be bought (default ${default})."`
	Users    int          `default:"1000000" help:"Number of users (default ${default})."`
	Apps     int          `default:"100" help:"Number of apps; the first has three tenths of the users (default ${default})."`
	Assets   int          `default:"300" help:"Number of stocks that rewards are for (default ${default})."`
	Days     int          `default:"100" help:"Length of the past in days; it ends two days ago (default ${default})."`
	Seed     uint64       `default:"1" help:"Seed of the past; the same seed makes the same past (default ${default})."`
	End      time.Time    `kong:"-"` // the present; the last order is two days older
	Progress func(string) `kong:"-"`
}

// Key is an app with its API key.
type Key struct {
	App    rewards.AppID
	Name   string
	Secret string
}

// Report describes the filled store.
type Report struct {
	Users, Rewards, Orders int
	Keys                   []Key // one for each app
	Took                   time.Duration
}

// settled is the age of the last order: more than the 36 hours whose orders the service
// compares with the broker's.
const settled = 48 * time.Hour

// Fill fills a store. It fails when the store is not empty.
func Fill(ctx context.Context, o Options) (r Report, err error) {
	if o.Users < 1 || o.Apps < 1 || o.Assets < 1 || o.Days < 1 || o.Rewards < 0 || o.Waiting < 0 {
		return r, errors.New("growth: users, apps, assets and days must be at least 1, the others at least 0")
	}
	began := time.Now()
	p := newPast(o)
	engine, err := openEngine(ctx, o.Database)
	if err != nil {
		return r, fmt.Errorf("growth: %w", err)
	}
	if p.store, err = store.New(ctx, engine, p.now, p.bytes); err != nil {
		return r, errors.Join(fmt.Errorf("growth: %w", err), engine.Close())
	}
	err = p.install(ctx)
	if err == nil {
		err = p.generate(ctx)
	}
	if err = errors.Join(err, p.store.Close()); err != nil {
		return r, fmt.Errorf("growth: %w", err)
	}
	return Report{p.users, p.awards, p.orders, p.keys, time.Since(began)}, nil
}

func onPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

func openEngine(ctx context.Context, database string) (store.Engine, error) {
	if onPostgres(database) {
		return postgres.Open(ctx, database, postgres.Options{})
	}
	path, found := strings.CutPrefix(database, "sqlite:")
	if !found {
		return nil, fmt.Errorf("database %q: must be sqlite:PATH or postgres://…", database)
	}
	return sqlite.Open(ctx, path, sqlite.Options{})
}

func newRandom(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return rand.NewChaCha8(key)
}
