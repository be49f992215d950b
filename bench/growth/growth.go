// Package growth fills empty books with a past: millions of rewards of a simulated
// year, their orders, allocations and holdings, by bulk loading. It promises books
// that are right: `stockrewards audit` finds nothing, and `serve` runs on them. What
// is decided about an order is decided by package rewards, as in the service; only
// the writing is another. Read order.go for a day's orders, table.go for the columns.
//
// The broker does not know the orders. That stops nothing: the service compares the
// orders that a broker lists with its own, those of the last 36 hours. Only
// `stockrewards audit --broker` misses them.
package growth

import (
	"context"
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

// Options says what is made.
type Options struct {
	Database string    // "sqlite:PATH" or a URL of PostgreSQL; without books
	Rewards  int       // final ones: executed, and a few in a thousand failed
	Waiting  int       // recorded ones besides, for the worker to buy
	Users    int       // at least one
	Apps     int       // at least one; the first has three tenths of the users
	Assets   int       // how many of the catalog are given
	Days     int       // how long the past is
	Seed     uint64    // the same one makes the same past
	End      time.Time // the present: nothing is later, the orders end two days before
	Progress func(string)
}

// Key is an app with its API key.
type Key struct {
	App    rewards.AppID
	Name   string
	Secret string
}

// Report is what was made.
type Report struct {
	Rows  []Count // by table
	Sizes []Size  // by table and index
	Total int64   // bytes of the whole database
	Keys  []Key   // one for each app
	Wrote time.Duration
	Index time.Duration // to build indexes and to bring all to the disk
}

// Count is how many rows a table was given.
type Count struct {
	Table string
	Rows  int64
}

// Size is how many bytes a table or an index takes.
type Size struct {
	Name  string
	Table string // that it is, or that it is an index of
	Bytes int64
}

// settled is how long before the present the last order was: a broker that does not
// know them is asked for those of the last 36 hours.
const settled = 48 * time.Hour

// Fill fills the books. It fails when there are some already.
func Fill(ctx context.Context, o Options) (Report, error) {
	if o.Users < 1 || o.Apps < 1 || o.Assets < 1 || o.Days < 1 || o.Rewards < 0 || o.Waiting < 0 {
		return Report{}, errors.New("growth: there must be a user, an app, an asset and a day")
	}
	began := time.Now()
	p := newPast(o)
	if err := p.found(ctx); err != nil {
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
	p.say("building indexes")
	if err := to.finish(ctx); err != nil {
		return Report{}, errors.Join(fmt.Errorf("growth: %w", err), to.close())
	}
	r.Index = time.Since(began) - r.Wrote
	p.say("measuring")
	r.Sizes, r.Total, err = to.sizes(ctx)
	return r, errors.Join(err, to.close())
}

// target is a database that is loaded in bulk.
type target interface {
	// begin drops the indexes that can be built later.
	begin(ctx context.Context) error
	// insert writes rows of a table.
	insert(ctx context.Context, t table, rows [][]any) error
	// exec runs a statement.
	exec(ctx context.Context, statement string) error
	// finish builds the indexes as they were and makes all durable.
	finish(ctx context.Context) error
	// sizes measures.
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
		return nil, fmt.Errorf("the database %q: must be sqlite:PATH or postgres://…", database)
	}
	return sqlite.Open(ctx, path, sqlite.Options{})
}

// write makes the past and writes it, both at once.
func write(ctx context.Context, to target, p *past, r *Report) error {
	if err := to.begin(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches, made := make(chan batch, 1), make(chan error, 1)
	go func() {
		made <- p.make(func(b batch) bool {
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
				return errors.Join(fmt.Errorf("table %s: %w", t.name, err), <-made)
			}
			rows[i] += int64(len(b[i]))
		}
	}
	for i, t := range tables() {
		r.Rows = append(r.Rows, Count{t.name, rows[i]})
	}
	return errors.Join(<-made, to.exec(ctx, markGiven(p.given)))
}

// newRandom is the source of everything that is drawn.
func newRandom(seed uint64) *rand.ChaCha8 {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(seed >> (8 * i))
	}
	return rand.NewChaCha8(key)
}
