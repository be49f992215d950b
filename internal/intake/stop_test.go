package intake_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"stockrewards/internal/intake"
)

// A stop commits what is queued, also while the batch before it waits for its sync.
func TestAStopDuringASyncCommitsTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		g.sync = make(chan error)
		i := intake.New(g, func() {})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { i.Run(ctx) })
		first := record(t, i, "first")
		<-g.enter
		g.leave <- nil
		synctest.Wait() // the first one is in effect, and waits for its sync
		second := record(t, i, "second")
		wantNoCommit(t, g)
		stop()
		synctest.Wait()
		select {
		case <-g.enter:
			g.leave <- nil
		default:
			t.Error("after the stop the queued request is not committed")
		}
		for range 2 {
			select {
			case g.sync <- nil:
			default:
			}
			synctest.Wait()
		}
		running.Wait()
		for name, c := range map[string]<-chan answer{"first": first, "second": second} {
			select {
			case a := <-c:
				if a.err != nil {
					t.Errorf("%s: %v", name, a.err)
				}
			default:
				t.Errorf("%s has no answer although Run has returned", name)
			}
		}
	})
}
