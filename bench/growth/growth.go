// Package growth fills an empty store with a past: the rewards, orders, allocations and
// holdings of a simulated year, millions of them, by bulk loading. `stockrewards audit`
// finds no violation in the store, and `serve` runs on it. Package rewards plans and settles
// the orders, as in the service; only the writing differs. order.go has the orders of a
// day, table.go the columns.
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
	Days     int          `default:"365" help:"Length of the past in days; it ends two days ago (default ${default})."`
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
	Rows  []Count // by table
	Sizes []Size  // by table and index
	Total int64   // bytes of the database
	Keys  []Key   // one for each app
	Wrote time.Duration
	Index time.Duration // to build indexes and to sync
}

// Count is the number of rows of a table.
type Count struct {
	Table string
	Rows  int64
}

// Size is the size of a table or an index.
type Size struct {
	Name  string
	Table string // the table, or the one that the index belongs to
	Bytes int64
}

// settled is the age of the last order: more than the 36 hours whose orders the service
// compares with the broker's.
const settled = 48 * time.Hour

// Fill fills a store. It fails when the store is not empty.
func Fill(ctx context.Context, o Options) (Report, error) {
	if o.Users < 1 || o.Apps < 1 || o.Assets < 1 || o.Days < 1 || o.Rewards < 0 || o.Waiting < 0 {
		return Report{}, errors.New("growth: users, apps, assets and days must be at least 1, the others at least 0")
	}
	began := time.Now()
	p := newPast(o)
	if err := p.install(ctx); err != nil {
		return Report{}, fmt.Errorf("growth: %w", err)
	}
	to, err := openTarget(ctx, o.Database)
	if err != nil {
		return Report{}, fmt.Errorf("growth: %w", err)
	}
	r := Report{Keys: p.keys}
	if err := write(ctx, to, p, &r); err != nil {
		return Report{}, errors.Join(fmt.Errorf("growth: %w", err), to.close())
	}
	r.Wrote = time.Since(began)
	p.progress("building indexes")
	if err := to.finish(ctx); err != nil {
		return Report{}, errors.Join(fmt.Errorf("growth: %w", err), to.close())
	}
	r.Index = time.Since(began) - r.Wrote
	p.progress("measuring")
	r.Sizes, r.Total, err = to.sizes(ctx)
	return r, errors.Join(err, to.close())
}

// target is a database that is bulk loaded.
type target interface {
	// begin drops the indexes, except those of constraints.
	begin(ctx context.Context) error
	insert(ctx context.Context, t table, rows [][]any) error
	exec(ctx context.Context, statement string) error
	// finish builds the dropped indexes and makes everything durable.
	finish(ctx context.Context) error
	sizes(ctx context.Context) (sizes []Size, total int64, err error)
	close() error
}

func onPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

func openTarget(ctx context.Context, database string) (target, error) {
	if onPostgres(database) {
		return openPostgres(ctx, database)
	}
	return openSQLite(ctx, strings.TrimPrefix(database, "sqlite:"))
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

// write generates the past and writes it at the same time.
func write(ctx context.Context, to target, p *past, r *Report) error {
	if err := to.begin(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches, generated := make(chan batch, 1), make(chan error, 1)
	go func() {
		generated <- p.generate(func(b batch) bool {
			select {
			case batches <- b:
				return true
			case <-ctx.Done():
				return false
			}
		})
		close(batches)
	}()
	rows := make([]int64, tableCount)
	for b := range batches {
		for i, t := range tables() {
			if err := to.insert(ctx, t, b[i]); err != nil {
				cancel()
				return errors.Join(fmt.Errorf("table %s: %w", t.name, err), <-generated)
			}
			rows[i] += int64(len(b[i]))
		}
	}
	for i, t := range tables() {
		r.Rows = append(r.Rows, Count{t.name, rows[i]})
	}
	return errors.Join(<-generated, to.exec(ctx, markUsed(p.stocks)))
}

func newRandom(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return rand.NewChaCha8(key)
}
