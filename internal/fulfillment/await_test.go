package fulfillment_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// hang answers nothing until the caller gives up.
func hang(r *http.Request, _ carrier) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// fleet makes the world one of two processes: their leases are short.
func fleet(w *world) { w.cfg.Exclusive, w.cfg.LeaseTTL = false, 6*time.Second }

// processes runs a number of processes for a while.
func (w *world) processes(n int, d time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	for range n {
		w.restart()
		worker := w.worker
		running.Go(func() { worker.Run(ctx) })
	}
	time.Sleep(d)
	cancel()
	running.Wait()
}

// While the broker does not answer when it is asked for prices, the first orders of many stocks are sent and booked
// within seconds, by one process and by a fleet.
func TestPricesThatDoNotComeHoldUpNoStock(t *testing.T) {
	t.Parallel()
	stocks := []string{"S1", "S2", "S3", "S4", "S5", "S6"}
	inWorlds(t, map[string]func(*world){"one process": func(*world) {}, "a fleet": fleet}, func(w *world, kind func(*world)) {
		kind(w)
		w.faulty(ofPrices, hang)
		var given []rewards.Reward
		for _, symbol := range stocks {
			given = append(given, w.give(symbol, 5*usd))
		}
		w.processes(2, 6*time.Second)
		w.wantAll(rewards.Executed, given...)
		w.wantBalanced(len(stocks))
	}, patient, func(w *world) { w.stocks = stocks })
}

// sluggish is a store that takes seconds to plan an order.
type sluggish struct{ *store.Operator }

func (s sluggish) PlanOrder(
	ctx context.Context, l rewards.Lease, r rewards.PlanRequest,
) (rewards.Order, rewards.Hold, error) {
	time.Sleep(8 * time.Second)
	return s.Operator.PlanOrder(ctx, l, r)
}

// The market closes in the middle of a step: what it has planned is sent in the next session, and nothing more is
// planned.
func TestNothingIsSentAfterTheClose(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.until("2000-01-03 15:59:00")
		w.run(10 * time.Second)
		w.restartWith(sluggish{w.store}, newClient(w.wire))
		w.until("2000-01-03 15:59:53")
		first, second := w.give("AAPL", 5*usd), w.give("KO", 5*usd)
		w.wantAfter(20*time.Second, first, rewards.Executing)
		w.want(second, rewards.Recorded)
		w.wantOrders(0)
		w.until("2000-01-04 09:30:00")
		w.run(time.Minute)
		w.wantAll(rewards.Executed, first, second)
		w.wantBalanced(2)
	}, usHours)
}

// A broker that takes almost 5 seconds for every answer slows ordering down. It stops none, and a fleet keeps its
// leader, also when the broker takes longer than the lease to answer some.
func TestASlowBrokerKeepsTheLeader(t *testing.T) {
	t.Parallel()
	const almost = 4900 * time.Millisecond
	inWorlds(t, map[string]time.Duration{"every answer": almost, "some": 8 * time.Second}, func(w *world, longest time.Duration) {
		pins(w)
		w.faulty(func(*http.Request) bool { return true }, func(r *http.Request, carry carrier) (*http.Response, error) {
			takes := almost
			if ofClock(r) || ofAccount(r) || isList(r) {
				takes = longest
			}
			select {
			case <-r.Context().Done():
				return nil, r.Context().Err()
			case <-time.After(takes):
				return carry()
			}
		})
		given := []rewards.Reward{w.give("AAPL", 5*usd), w.give("KO", 5*usd)}
		w.processes(2, 6*time.Minute)
		w.wantAll(rewards.Executed, given...)
		w.wantAlarm("", false)
		if n := w.worker.LeaderChanges(); n != 0 {
			w.t.Errorf("the leader changed %d times", n)
		}
	}, patient, fleet)
}

// A leader whose calls of the broker do not end loses the lease: the network of another process may be better.
func TestALeaderThatCannotReachTheBrokerLosesTheLease(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		pins(w)
		cut := &wire{next: w.brokerage.Transport(), fault: hang}
		whole := w.wire
		w.wire = cut
		w.restart()
		former := w.worker
		ctx, cancel := context.WithCancel(w.t.Context())
		var running sync.WaitGroup
		running.Go(func() { former.Run(ctx) })
		time.Sleep(time.Second / 2)
		w.wire = whole
		r := w.give("AAPL", 5*usd)
		w.processes(1, time.Minute)
		cancel()
		running.Wait()
		w.want(r, rewards.Executed)
	}, patient, fleet)
}

// A process knows how often the leader changed in the last five minutes.
func TestLeaderChangesAreCounted(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		want := func(changes int) {
			w.t.Helper()
			if n := w.worker.LeaderChanges(); n != changes {
				w.t.Errorf("the leader changed %d times, want %d", n, changes)
			}
		}
		want(0)
		w.run(time.Second)
		want(0)
		for n := range 3 {
			w.otherLeads()
			w.run(20 * time.Second)
			want(2 * (n + 1)) // to the other process, and back
		}
		w.run(5 * time.Minute)
		want(0)
	})
}
