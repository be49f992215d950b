package store_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// slow is an engine without rows, whose writes take time and exclude each other.
type slow struct {
	turn   chan struct{}
	others time.Duration // spent in writes that are not for clients
}

func newSlow() *slow { return &slow{turn: make(chan struct{}, 1)} }

func (e *slow) run(ctx context.Context, took time.Duration, f func(context.Context, store.Tx) error) error {
	e.turn <- struct{}{}
	defer func() { <-e.turn }()
	err := f(ctx, none{})
	time.Sleep(took)
	return err
}

func (e *slow) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return f(ctx, none{})
}

func (e *slow) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	const took = 10 * time.Millisecond
	e.others += took
	return e.run(ctx, took, f)
}

func (e *slow) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.run(ctx, time.Millisecond, f)
}

func (e *slow) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.WriteForClients(ctx, f)
}

func (e *slow) Durable(context.Context) error        { return nil }
func (e *slow) Backup(context.Context, string) error { return nil }
func (e *slow) Failed() <-chan error                 { return nil }
func (e *slow) Close() error                         { return nil }

// none is a transaction on empty tables.
type none struct{}

func (none) Exec(context.Context, string, ...any) (int64, error)                { return 1, nil }
func (none) ExecEach(context.Context, string, [][]any) (int64, error)           { return 0, nil }
func (none) Query(context.Context, func(store.Row) error, string, ...any) error { return nil }

// othersShare is the share of a second that other writers use, while a client writes that many requests
// at once, again and again, and the last order had that many members. Without requests no client writes.
func othersShare(t *testing.T, requests, planned int) float64 {
	t.Helper()
	e := newSlow()
	s, err := store.New(t.Context(), e, time.Now, zeros{})
	if err != nil {
		t.Fatal(err)
	}
	s.Planned(planned)
	record := func() {
		if _, err := s.RecordRewards(t.Context(), make([]rewards.NewReward, requests)); err != nil {
			t.Error(err)
		}
	}
	const before = 300 // commits after which the pacer knows the load
	for range before {
		record()
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	var load sync.WaitGroup
	if requests > 0 {
		load.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
				record()
			}
		})
	}
	for ctx.Err() == nil {
		if err := s.RaiseAlarm(ctx, "tested", "nothing is wrong"); err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
	}
	load.Wait()
	return e.others.Seconds()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// For a crowd, others write little. When few come, they write more, and most when fulfillment is behind.
func TestOthersPauseWhileClientsWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		requests    int // in a client write
		planned     int // members of the last order
		least, most float64
	}{
		"a crowd":                 {64, 10, 0.04, 0.08},
		"a crowd, and behind":     {64, 1000, 0.04, 0.08},
		"one request":             {1, 10, 0.08, 0.15},
		"one request, and behind": {1, 1000, 0.7, 0.85},
		"no clients":              {0, 10, 0.95, 1.02}, // the last write ends later
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if share := othersShare(t, c.requests, c.planned); share < c.least || share > c.most {
					t.Errorf("others write in %.2f of the time, want %.2f to %.2f", share, c.least, c.most)
				}
			})
		})
	}
}
