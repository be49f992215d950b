package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/store/sqlite"
)

// Who waits for another process that updates the schema hears of it once, and can end.
func TestWaitingForTheSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rewards.db")
	unlock, err := sqlite.LockFile(path + ".setup.lock")
	check(t, err)
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		var notices atomic.Int32
		begin := func(ctx context.Context) <-chan error {
			done := make(chan error, 1)
			go func() {
				e, err := sqlite.Open(ctx, path, sqlite.Options{Waiting: func() { notices.Add(1) }})
				if err == nil {
					err = e.Close()
				}
				done <- err
			}()
			return done
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := begin(ctx)
		for _, want := range []int32{0, 1, 1} {
			time.Sleep(1500 * time.Millisecond)
			synctest.Wait()
			if said := notices.Load(); said != want {
				t.Errorf("it said %d times that it waits, want %d", said, want)
			}
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		opened := begin(t.Context())
		time.Sleep(time.Second)
		synctest.Wait()
		check(t, unlock())
		check(t, <-opened)
		if said := notices.Load(); said != 1 {
			t.Errorf("%d notices, want none for a second", said-1)
		}
	})
}
