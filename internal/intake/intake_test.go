package intake_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"stockrewards/internal/intake"
	"stockrewards/internal/rewards"
)

// gate is a store whose commits a test releases, to show how requests are batched. The tests
// of package api and test/ run the intake with the real store.
type gate struct {
	enter   chan int   // gets the size of each batch
	leave   chan error // releases a commit with this error
	mu      sync.Mutex
	batches []int
	keys    map[rewards.AppID][]string // in the order of the commits
	sync    chan error                 // ends a Durable with this error; nil: what is committed is durable
}

// errPanic makes a commit panic.
var errPanic = errors.New("a panic")

func (g *gate) CreateUsers(ctx context.Context, batch []rewards.User) ([]rewards.UserOutcome, error) {
	news := make([]rewards.NewReward, len(batch))
	if _, err := g.RecordRewards(ctx, news); err != nil {
		return nil, err
	}
	outcomes := make([]rewards.UserOutcome, len(batch))
	for i, u := range batch {
		outcomes[i].User = u
		if u.ExternalID == "taken" {
			outcomes[i].Taken = rewards.DuplicateDetails{Field: "externalId", UserID: rewards.UserID{7}}
		}
	}
	return outcomes, nil
}

func (g *gate) ChangeUsers(ctx context.Context, batch []rewards.UserChange) ([]rewards.UserOutcome, error) {
	users := make([]rewards.User, len(batch))
	for i, c := range batch {
		users[i] = rewards.User{AppID: c.AppID, ID: c.UserID, ExternalID: *c.ExternalID}
	}
	return g.CreateUsers(ctx, users)
}

func (g *gate) ReverseRewards(
	_ context.Context, batch []rewards.NewReversal,
) ([]rewards.ReversalOutcome, error) {
	outcomes := make([]rewards.ReversalOutcome, len(batch))
	for i, n := range batch {
		outcomes[i].Reversal = rewards.Reversal{AppID: n.AppID, RewardID: n.RewardID, Amount: n.Amount}
	}
	return outcomes, nil
}

func newGate() *gate {
	return &gate{enter: make(chan int), leave: make(chan error), keys: make(map[rewards.AppID][]string)}
}

func (g *gate) RecordRewards(_ context.Context, batch []rewards.NewReward) ([]rewards.Outcome, error) {
	g.mu.Lock()
	g.batches = append(g.batches, len(batch))
	for _, r := range batch {
		g.keys[r.AppID] = append(g.keys[r.AppID], r.IdempotencyKey)
	}
	g.mu.Unlock()
	g.enter <- len(batch)
	if err := <-g.leave; errors.Is(err, errPanic) {
		panic(err)
	} else if err != nil {
		return nil, err
	}
	outcomes := make([]rewards.Outcome, len(batch))
	for i, r := range batch {
		outcomes[i] = rewards.Outcome{Verdict: rewards.Created, Reward: rewards.Reward{IdempotencyKey: r.IdempotencyKey}}
	}
	return outcomes, nil
}

func (g *gate) Durable(context.Context) error {
	if g.sync == nil {
		return nil
	}
	return <-g.sync
}

// world runs an intake with a gate in fake time.
func world(t *testing.T, test func(t *testing.T, i *intake.Intake, g *gate)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		i := intake.New(g, func() {})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { i.Run(ctx) })
		test(t, i, g)
		stop()
		running.Wait()
	})
}

type answer struct {
	outcome rewards.Outcome
	err     error
}

// record records a reward in the background.
func record(t *testing.T, i *intake.Intake, key string) <-chan answer {
	t.Helper()
	c := make(chan answer, 1)
	go func() {
		o, err := i.Record(t.Context(), rewards.NewReward{IdempotencyKey: key})
		c <- answer{o, err}
	}()
	synctest.Wait()
	return c
}

func TestNaturalBatches(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		first := record(t, i, "0")
		if n := <-g.enter; n != 1 {
			t.Fatalf("the first batch holds %d", n)
		}
		var others []<-chan answer
		for n := range 50 {
			others = append(others, record(t, i, fmt.Sprint(n)))
		}
		if i.Depth() != 50 {
			t.Errorf("%d wait, want 50", i.Depth())
		}
		select {
		case a := <-first:
			t.Fatalf("answered before its commit: %+v", a)
		default:
		}
		g.leave <- nil
		if n := <-g.enter; n != 50 {
			t.Errorf("the second batch holds %d, want all that arrived meanwhile", n)
		}
		g.leave <- nil
		for n, c := range others {
			if a := <-c; a.err != nil || a.outcome.Reward.IdempotencyKey != fmt.Sprint(n) {
				t.Errorf("request %d was answered %+v", n, a)
			}
		}
	})
}

// After an error that one request may have caused, a batch is committed again in halves.
// After CodeUnavailable it fails as a whole.
func TestFailedBatches(t *testing.T) {
	t.Parallel()
	type commit struct {
		size int
		err  error
	}
	poison, full := errors.New("poison"), rewards.Unavailable("the disk is full", nil)
	for name, test := range map[string]struct {
		commits []commit
		failed  map[string]error // by request; the others succeed
	}{
		"one faulty request": {
			[]commit{{4, poison}, {2, nil}, {2, poison}, {1, poison}, {1, nil}}, map[string]error{"c": poison},
		},
		"unavailable": {[]commit{{4, full}}, map[string]error{"a": full, "b": full, "c": full, "d": full}},
	} {
		world(t, func(t *testing.T, i *intake.Intake, g *gate) {
			first := record(t, i, "first")
			<-g.enter
			answers := map[string]<-chan answer{}
			for _, key := range []string{"a", "b", "c", "d"} {
				answers[key] = record(t, i, key)
			}
			g.leave <- nil
			<-first
			for _, c := range test.commits {
				if n := <-g.enter; n != c.size {
					t.Fatalf("%s: a batch of %d, want %d", name, n, c.size)
				}
				g.leave <- c.err
			}
			for key, c := range answers {
				if a := <-c; !errors.Is(a.err, test.failed[key]) {
					t.Errorf("%s: %s was answered %+v", name, key, a)
				}
			}
		})
	}
}

func TestAFullQueueRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := intake.New(newGate(), func() {})
		ctx, cancel := context.WithCancel(t.Context())
		var asked sync.WaitGroup
		for range 4096 { // nothing is committed: half of the queue
			asked.Go(func() { _, _ = i.Record(ctx, rewards.NewReward{}) })
		}
		synctest.Wait()
		if _, err := i.Record(t.Context(), rewards.NewReward{}); rewards.CodeOf(err) != rewards.CodeUnavailable {
			t.Errorf("one too many: %v", err)
		}
		// Requests of other apps are queued; floods of several apps fill the queue together.
		for app := byte(1); app < 100; app++ {
			asked.Go(func() { _, _ = i.Record(ctx, rewards.NewReward{AppID: rewards.AppID{app}}) })
		}
		synctest.Wait()
		if i.Depth() != 4096+99 {
			t.Errorf("%d wait, want one of each other app beside the flood", i.Depth())
		}
		for range 4096 {
			asked.Go(func() { _, _ = i.Record(ctx, rewards.NewReward{AppID: rewards.AppID{1}}) })
		}
		synctest.Wait()
		if n := i.Depth(); n > 8192 || n < 4096+2048 {
			t.Errorf("%d wait", n)
		}
		cancel()
		asked.Wait()
		full := intake.New(newGate(), func() {})
		large := rewards.NewReward{Metadata: string(make([]byte, 65<<20))}
		if _, err := full.Record(t.Context(), large); rewards.CodeOf(err) != rewards.CodeUnavailable {
			t.Errorf("too many bytes: %v", err)
		}
	})
}

func TestStopCommitsTheQueueAndRefusesTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		commits := 0
		i := intake.New(g, func() { commits++ })
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { i.Run(ctx); close(done) }()
		first := record(t, i, "first")
		<-g.enter
		second := record(t, i, "second")
		stop()
		synctest.Wait()
		g.leave <- nil
		<-g.enter
		g.leave <- nil
		<-done
		for _, c := range []<-chan answer{first, second} {
			if a := <-c; a.err != nil {
				t.Errorf("an accepted request was answered %v", a.err)
			}
		}
		if _, err := i.Record(t.Context(), rewards.NewReward{}); rewards.CodeOf(err) != rewards.CodeUnavailable {
			t.Errorf("after the stop: %v", err)
		}
		if commits != 2 {
			t.Errorf("%d commits reported, want 2", commits)
		}
	})
}

func TestACanceledRequestIsStillCommitted(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := i.Record(ctx, rewards.NewReward{})
			left <- err
		}()
		<-g.enter
		leave()
		if err := <-left; rewards.CodeOf(err) != rewards.CodeUnavailable {
			t.Errorf("got %v", err)
		}
		g.leave <- nil
		synctest.Wait()
	})
}

// A request that lets the store panic fails alone, and the next one is committed.
func TestAPanicFailsItsRequest(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		busy := record(t, i, "busy")
		<-g.enter
		good, bad := record(t, i, "good"), record(t, i, "bad")
		g.leave <- nil
		for _, fault := range []error{errPanic, nil, errPanic} { // both, then each
			<-g.enter
			g.leave <- fault
		}
		if a, b, c := <-busy, <-good, <-bad; a.err != nil || b.err != nil || rewards.CodeOf(c.err) != rewards.CodeInternal {
			t.Errorf("answered %v, %v and %v", a.err, b.err, c.err)
		}
		next := record(t, i, "next")
		<-g.enter
		g.leave <- nil
		if a := <-next; a.err != nil {
			t.Error(a.err)
		}
	})
}

// A commit has few changes of users, since awards wait for it.
func TestFewChangesAreCommittedTogether(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		var asked sync.WaitGroup
		for n := range 10 {
			id := fmt.Sprint(n)
			asked.Go(func() {
				if _, err := i.ChangeUser(t.Context(), rewards.UserChange{ExternalID: &id}); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		for _, want := range []int{1, 8, 1} {
			if n := <-g.enter; n != want {
				t.Errorf("%d changes in a commit, want %d", n, want)
			}
			g.leave <- nil
		}
		asked.Wait()
	})
}
