package rewards_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/rewards"
)

// awayStore is a store whose database is away for a minute, which it notices after a second.
type awayStore struct {
	rewards.Store
	until time.Time
}

func (s awayStore) NewestEvent(context.Context) (int64, error) {
	time.Sleep(time.Second)
	if time.Now().Before(s.until) {
		return 0, errors.New("the database is away")
	}
	return 7, nil
}

// Whoever waits for what another request loads leaves when its own time ends, and learns of a load that succeeds.
func TestAWaitForAnotherLoadEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := rewards.NewService(awayStore{until: time.Now().Add(time.Minute)}, nil, nil, time.Now)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := s.NewestEvent(t.Context()); err == nil {
					t.Error("no error while the database is away")
				}
			})
		}
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := s.NewestEvent(ctx)
		if took := time.Since(began); rewards.CodeOf(err) != rewards.CodeUnavailable || took > 100*time.Millisecond {
			t.Errorf("after %s: %v", took, err)
		}
		all.Wait()
		time.Sleep(time.Minute)
		began = time.Now()
		for range 8 {
			all.Go(func() {
				if n, err := s.NewestEvent(t.Context()); n != 7 || err != nil || time.Since(began) > time.Second {
					t.Errorf("sequence %d after %s: %v", n, time.Since(began), err)
				}
			})
		}
		all.Wait()
	})
}
