package intake_test

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

	"stockrewards/internal/intake"
	"stockrewards/internal/rewards"
)

// bulkAnswer is what became of a batch.
type bulkAnswer struct {
	outcomes []rewards.BatchOutcome
	err      error
}

// recordBulk records an app's batch of n rewards with numbered keys in the background.
func recordBulk(t *testing.T, i *intake.Intake, app byte, n int) <-chan bulkAnswer {
	t.Helper()
	c := make(chan bulkAnswer, 1)
	batch := make([]rewards.NewReward, n)
	for k := range batch {
		batch[k] = rewards.NewReward{AppID: rewards.AppID{app}, IdempotencyKey: fmt.Sprint(k)}
	}
	go func() {
		outcomes, err := i.RecordAll(t.Context(), rewards.AppID{app}, batch)
		c <- bulkAnswer{outcomes, err}
	}()
	synctest.Wait()
	return c
}

// The batch of an app that sends alone is one commit. Its outcomes have the order of its requests.
func TestABulkIsOneCommit(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		c := recordBulk(t, i, 1, rewards.MaxBatch)
		if n := <-g.enter; n != rewards.MaxBatch {
			t.Errorf("a commit of %d, want the whole batch", n)
		}
		g.leave <- nil
		a := <-c
		for k, o := range a.outcomes {
			if o.Err != nil || o.Outcome.Reward.IdempotencyKey != fmt.Sprint(k) {
				t.Fatalf("request %d was answered %+v", k, o)
			}
		}
		if len(a.outcomes) != rewards.MaxBatch || a.err != nil {
			t.Errorf("%d outcomes, %v", len(a.outcomes), a.err)
		}
	})
}

// Under batches of several apps every commit stays small and takes another app's request.
func TestABulkLeavesRoomInEveryCommit(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		first := recordBulk(t, i, 1, 1)
		<-g.enter
		bulks := []<-chan bulkAnswer{recordBulk(t, i, 1, 300), recordBulk(t, i, 2, 300)}
		other := make(chan string, 1)
		recordAll(t.Context(), i, 3, 0, 1, other)
		g.leave <- nil
		for commits, waiting := 0, 601; waiting > 0; commits++ {
			n := <-g.enter
			if n > 64 {
				t.Errorf("a commit of %d", n)
			}
			waiting -= n
			g.leave <- nil
			synctest.Wait()
			if len(other) != 1 {
				t.Errorf("after commit %d the other app has no answer", commits)
			}
		}
		for _, c := range append(bulks, first) {
			if a := <-c; a.err != nil {
				t.Error(a.err)
			}
		}
		want := make([]string, 300)
		for k := range want {
			want[k] = fmt.Sprint(k)
		}
		if diff := cmp.Diff(want, g.keys[rewards.AppID{2}]); diff != "" { // in the order of the batch
			t.Error(diff)
		}
	})
}

// While another app sends, batches rest after each commit for twice as long as it took. A single
// request is committed meanwhile without them.
func TestBulksRestBesideSingleRequests(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		const took = 10 * time.Millisecond
		flood := recordBulk(t, i, 1, 200)
		<-g.enter
		other := make(chan string, 100)
		recordAll(t.Context(), i, 2, 0, 1, other)
		more := recordBulk(t, i, 1, 100)
		g.leave <- nil // the first commit has 200, as the app was alone
		for round, want := range []int{1 + 63, 37} {
			if n := <-g.enter; n != want {
				t.Errorf("round %d: a commit of %d, want %d", round, n, want)
			}
			time.Sleep(took)
			g.leave <- nil
			synctest.Wait()
			rested := time.Now()
			recordAll(t.Context(), i, 2, round, round+1, other)
			if n := <-g.enter; n != 1 {
				t.Errorf("round %d: a single request is committed with %d", round, n-1)
			}
			g.leave <- nil
			synctest.Wait()
			if since := time.Since(rested); since > 0 || len(other) != 2+round {
				t.Errorf("round %d: %d answers after %s", round, len(other), since)
			}
			if round == 0 {
				time.Sleep(2*took - 1)
				synctest.Wait()
				select {
				case n := <-g.enter:
					t.Errorf("a commit of %d during the rest", n)
				default:
				}
			}
		}
		if a, b := <-flood, <-more; a.err != nil || b.err != nil {
			t.Error(a.err, b.err)
		}
	})
}

// A stop commits resting batches at once.
func TestAStopEndsTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		i := intake.New(g, func() {})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { i.Run(ctx) })
		other := make(chan string, 1)
		recordAll(t.Context(), i, 2, 0, 1, other)
		<-g.enter
		c := recordBulk(t, i, 1, 100)
		for range 2 {
			time.Sleep(10 * time.Millisecond)
			g.leave <- nil
			if len(other) == 1 {
				break
			}
			<-g.enter
		}
		synctest.Wait()
		stop()
		began := time.Now()
		for {
			synctest.Wait()
			select {
			case <-g.enter:
				g.leave <- nil
				continue
			default:
			}
			break
		}
		running.Wait()
		if a := <-c; a.err != nil || time.Since(began) > 0 {
			t.Errorf("%v after %s", a.err, time.Since(began))
		}
	})
}

// Batches get half of the queue, and of that half an app only as much as it leaves for others. A
// batch is queued as a whole or refused.
func TestBulksGetHalfOfTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := intake.New(newGate(), func() {})
		ctx, cancel := context.WithCancel(t.Context())
		var asked sync.WaitGroup
		send := func(app byte, n int, metadata string) error {
			batch := slices.Repeat([]rewards.NewReward{{AppID: rewards.AppID{app}, Metadata: metadata}}, n)
			refused := make(chan error, 1)
			asked.Go(func() {
				_, err := i.RecordAll(ctx, rewards.AppID{app}, batch)
				refused <- err
			})
			synctest.Wait()
			select {
			case err := <-refused:
				return err
			default:
				return nil // it waits
			}
		}
		for _, step := range []struct {
			app     byte
			n       int
			refused bool
		}{
			{1, 1000, false},
			{1, 1000, false},
			{1, 1000, false},
			{1, 1, true},
			{2, 1000, false},
			{2, 97, true},
			{3, 1000, false},
			{3, 1, true},
			{4, 1, false}, // the first of an app is never refused
		} {
			depth := i.Depth()
			err := send(step.app, step.n, "")
			if step.refused != (rewards.CodeOf(err) == rewards.CodeUnavailable) {
				t.Errorf("%+v: %v", step, err)
			}
			if want := depth + step.n; !step.refused && i.Depth() != want || step.refused && i.Depth() != depth {
				t.Errorf("%+v: %d are queued, before it %d", step, i.Depth(), depth)
			}
		}
		for app := byte(1); app < 100; app++ { // the other half is for single requests
			asked.Go(func() { _, _ = i.Record(ctx, rewards.NewReward{AppID: rewards.AppID{app}}) })
		}
		synctest.Wait()
		if got := i.Depth(); got != 5001+99 {
			t.Errorf("%d are queued, want the bulks and a request of each app", got)
		}
		cancel()
		asked.Wait()

		i = intake.New(newGate(), func() {})
		ctx, cancel = context.WithCancel(t.Context())
		if err := send(1, 33, string(make([]byte, 1<<20))); rewards.CodeOf(err) != rewards.CodeUnavailable {
			t.Errorf("too many bytes: %v", err)
		}
		if err := send(1, 31, string(make([]byte, 1<<20))); err != nil {
			t.Errorf("31 MiB: %v", err)
		}
		cancel()
		asked.Wait()
	})
}

// The queue has its room again after a commit, so that batches go on, without a rest while their
// app sends alone.
func TestBulksGoOn(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		for range 10 {
			began := time.Now()
			c := recordBulk(t, i, 1, 1000)
			<-g.enter
			time.Sleep(time.Millisecond)
			g.leave <- nil
			if a := <-c; a.err != nil || time.Since(began) > time.Millisecond {
				t.Fatal(a.err, time.Since(began))
			}
		}
	})
}

// Of a batch that fails only the request that causes it gets the error.
func TestAFaultyRequestOfABulk(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		poison := errors.New("poison")
		c := recordBulk(t, i, 1, 4)
		for _, err := range []error{poison, nil, poison, poison, nil} {
			<-g.enter
			g.leave <- err
		}
		a := <-c
		for k, o := range a.outcomes {
			if failed := o.Err != nil; failed != (k == 2) {
				t.Errorf("request %d: %v", k, o.Err)
			}
		}
	})
}

// A client that leaves is not waited for. Its batch is committed.
func TestACanceledBulkIsStillCommitted(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := i.RecordAll(ctx, rewards.AppID{1}, make([]rewards.NewReward, 7))
			left <- err
		}()
		if n := <-g.enter; n != 7 {
			t.Errorf("a commit of %d", n)
		}
		leave()
		if err := <-left; rewards.CodeOf(err) != rewards.CodeUnavailable {
			t.Errorf("got %v", err)
		}
		g.leave <- nil
		synctest.Wait()
	})
}
