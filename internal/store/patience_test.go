package store_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/store"
)

// Large writes of webhooks leave the writer to clients most of the time, even if these write only now
// and then, and take all of it without clients.
func TestPatientWritersPauseWhileClientsWrite(t *testing.T) {
	t.Parallel()
	const writers, lasts, took = 5, 20 * time.Second, 10 * time.Millisecond
	for name, c := range map[string]struct {
		load        load
		least, most float64 // the share of the time in which they write
	}{
		"a request now and then":  {load{1, 20 * time.Millisecond}, 0.07, 0.1},
		"a request after another": {load{requests: 1}, 0.07, 0.1},
		"no clients":              {load{}, 0.95, 1.02}, // the last write ends later
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := newSlow(took)
				s, err := store.New(t.Context(), e, time.Now, zeros{})
				if err != nil {
					t.Fatal(err)
				}
				e.others = 0
				ctx, stop := context.WithTimeout(t.Context(), lasts)
				defer stop()
				var all sync.WaitGroup
				all.Go(func() { c.load.send(ctx, t, s) })
				for range writers {
					all.Go(func() {
						for ctx.Err() == nil {
							if _, err := s.SaveWebhooks(ctx, nil); err != nil && ctx.Err() == nil {
								t.Error(err)
							}
						}
					})
				}
				all.Wait()
				if share := e.others.Seconds() / lasts.Seconds(); share < c.least || share > c.most {
					t.Errorf("they write in %.3f of the time, want %.2f to %.2f", share, c.least, c.most)
				}
			})
		})
	}
}
