package fulfillment_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/rewards"
)

// diary is an observer that writes everything down.
type diary struct{ seen []string }

func (d *diary) OrderEntered(state rewards.OrderState) { d.seen = append(d.seen, state.String()) }
func (d *diary) RewardsEnded(status rewards.Status, n int) {
	d.seen = append(d.seen, fmt.Sprint(status, " ", n))
}

// Every state that an order enters is observed once, and every end of a reward.
func TestTheObserverSeesEveryChange(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		d := &diary{}
		w.worker.Observe(d)
		if w.worker.Leads() {
			w.t.Error("it leads before its first step")
		}
		w.give("AAPL", 5*usd)
		w.give("AAPL", 2*usd)
		w.run(4 * time.Second)
		want := []string{"planned", "submitted", "open", "settled", "executed 2"}
		if diff := cmp.Diff(want, d.seen); diff != "" {
			w.t.Errorf("bought (-want +got):\n%s", diff)
		}
		d.seen = nil
		w.give("HALT", 5*usd)
		w.run(4 * time.Second)
		if diff := cmp.Diff([]string{"planned", "submitted", "refused", "failed 1"}, d.seen); diff != "" {
			w.t.Errorf("refused (-want +got):\n%s", diff)
		}
		if !w.worker.Leads() || w.worker.Busy() != 0 {
			w.t.Errorf("leads %t, busy %s", w.worker.Leads(), w.worker.Busy())
		}
	})
}

// hanging is a broker whose calls end by their timeout, or never.
type hanging struct {
	fulfillment.Broker
	never chan struct{} // nil: by the timeout
}

var errHang = &rewards.BrokerError{Kind: rewards.BrokerUnknown, Err: errors.New("timeout")}

func (b hanging) hang() error {
	if b.never != nil {
		<-b.never
	}
	time.Sleep(10 * time.Second)
	return errHang
}

func (b hanging) Submit(context.Context, rewards.OrderRequest) (rewards.BrokerOrder, error) {
	return rewards.BrokerOrder{}, b.hang()
}

func (b hanging) OrderByClientID(context.Context, string) (rewards.BrokerOrder, error) {
	return rewards.BrokerOrder{}, b.hang()
}

// The heartbeat of a worker whose broker is slow continues; a call that never ends stops it.
func TestBusyShowsAStuckStepFromASlowOne(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.restartWith(w.store, hanging{Broker: newClient(w.wire)})
		var longest []time.Duration
		ctx, stop := context.WithCancel(w.t.Context())
		var watching sync.WaitGroup
		watching.Go(func() {
			for ctx.Err() == nil {
				longest = append(longest, w.worker.Busy())
				time.Sleep(time.Second)
			}
		})
		for range 4 { // orders with unknown outcomes
			w.give("AAPL", 5*usd)
			w.give("KO", 5*usd)
			w.run(time.Minute)
		}
		stop()
		watching.Wait()
		if most := slices.Max(longest); most < 5*time.Second || most > 30*time.Second {
			w.t.Errorf("no heartbeat for %s", most)
		}
		never := make(chan struct{})
		w.restartWith(w.store, hanging{newClient(w.wire), never})
		quit, done := w.start()
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if busy := w.worker.Busy(); busy < 5*time.Minute {
			w.t.Errorf("stuck, but busy for %s only", busy)
		}
		quit()
		close(never)
		<-done
	})
}
