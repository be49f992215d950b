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
type diary struct{ told []string }

func (d *diary) OrderEntered(state rewards.OrderState) { d.told = append(d.told, state.String()) }
func (d *diary) RewardsEnded(status rewards.Status, n int) {
	d.told = append(d.told, fmt.Sprint(status, " ", n))
}

// Every state that an order comes into is observed once, and every end of a reward.
func TestTheObserverIsToldOfEveryChange(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		d := &diary{}
		w.worker.Observe(d)
		if w.worker.Leads() {
			t.Error("it leads before its first step")
		}
		w.give("AAPL", 5_000_000)
		w.give("AAPL", 2_000_000)
		w.run(3 * time.Second)
		want := []string{"planned", "submitted", "open", "settled", "executed 2"}
		if diff := cmp.Diff(want, d.told); diff != "" {
			t.Errorf("bought (-want +got):\n%s", diff)
		}
		d.told = nil
		w.give("HALT", 5_000_000)
		w.run(3 * time.Second)
		if diff := cmp.Diff([]string{"planned", "submitted", "refused", "failed 1"}, d.told); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
		if !w.worker.Leads() || w.worker.Busy() != 0 {
			t.Errorf("leads %t, busy %s", w.worker.Leads(), w.worker.Busy())
		}
	})
}

// hanging is a broker whose calls end by their time-out, or never.
type hanging struct {
	fulfillment.Broker
	never chan struct{} // nil: by the time-out
}

var errHang = &rewards.BrokerError{Kind: rewards.BrokerUnknown, Err: errors.New("time-out")}

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

// A broker that hangs lets the worker move; a call that never ends does not.
func TestBusyTellsAStuckStepFromASlowOne(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.restart(nil, func(b fulfillment.Broker) fulfillment.Broker { return hanging{Broker: b} })
		var longest []time.Duration
		ctx, stop := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() {
			for ctx.Err() == nil {
				longest = append(longest, w.worker.Busy())
				time.Sleep(time.Second)
			}
		})
		for range 8 { // orders whose fate is unknown
			w.give("AAPL", 5_000_000)
			w.give("KO", 5_000_000)
			w.run(time.Minute)
		}
		w.run(4 * time.Minute)
		stop()
		watching.Wait()
		if most := slices.Max(longest); most < 5*time.Second || most > 30*time.Second {
			t.Errorf("it did not move for %s", most)
		}
		never := make(chan struct{})
		w.restart(nil, func(b fulfillment.Broker) fulfillment.Broker { return hanging{b, never} })
		quit, done := w.start()
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if busy := w.worker.Busy(); busy < 5*time.Minute {
			t.Errorf("stuck, but busy for %s only", busy)
		}
		quit()
		close(never)
		<-done
	})
}
