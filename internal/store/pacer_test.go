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

func (e *slow) take(took time.Duration) {
	e.turn <- struct{}{}
	time.Sleep(took)
	<-e.turn
}

func (e *slow) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return f(ctx, none{})
}

func (e *slow) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	const took = 10 * time.Millisecond
	e.take(took)
	e.others += took
	return f(ctx, none{})
}

func (e *slow) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	e.take(time.Millisecond)
	return f(ctx, none{})
}

func (e *slow) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.WriteForClients(ctx, f)
}

func (e *slow) Backup(context.Context, string) error { return nil }
func (e *slow) Failed() <-chan error                 { return nil }
func (e *slow) Close() error                         { return nil }

// none is a transaction on empty tables.
type none struct{}

func (none) Exec(context.Context, string, ...any) (int64, error)                { return 1, nil }
func (none) ExecEach(context.Context, string, [][]any) (int64, error)           { return 0, nil }
func (none) Query(context.Context, func(store.Row) error, string, ...any) error { return nil }

// othersShare is the share of a second that other writers use, while clients write and rest in turn;
// without clients when rest is negative.
func othersShare(t *testing.T, rest time.Duration) float64 {
	t.Helper()
	e := newSlow()
	s, err := store.New(t.Context(), e, time.Now, zeros{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	var load sync.WaitGroup
	if rest >= 0 {
		load.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(rest) {
				if _, err := s.RecordRewards(ctx, make([]rewards.NewReward, 1)); err != nil {
					t.Error(err)
				}
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

func TestOthersPauseWhileClientsWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rest        time.Duration // of clients after a write of a millisecond
		least, most float64
	}{
		"full load":  {0, 0.08, 0.15},
		"half load":  {time.Millisecond, 0.2, 0.4},
		"no clients": {-1, 0.95, 1.02}, // the last write ends later
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if share := othersShare(t, c.rest); share < c.least || share > c.most {
					t.Errorf("others write in %.2f of the time, want %.2f to %.2f", share, c.least, c.most)
				}
			})
		})
	}
}
