package intake_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"stockrewards/internal/intake"
)

// Every commit is observed, including failed ones and their halves.
func TestEveryCommitIsObserved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		i := intake.New(g, func() {})
		var observed []intake.Commit
		i.Observe(func(c intake.Commit) { observed = append(observed, c) })
		first, second := record(t, i, "first"), record(t, i, "second")
		fault := errors.New("a row")
		done := make(chan struct{})
		go func() { i.Step(t.Context()); close(done) }()
		<-g.enter
		time.Sleep(3 * time.Second)
		if busy := i.Busy(); busy != 3*time.Second {
			t.Errorf("busy for %s", busy)
		}
		g.leave <- fault
		<-g.enter
		g.leave <- nil
		<-g.enter
		g.leave <- fault
		<-done
		if a, b := <-first, <-second; a.err != nil || !errors.Is(b.err, fault) {
			t.Errorf("answered %v and %v", a.err, b.err)
		}
		time.Sleep(time.Second)
		want := []intake.Commit{
			{Requests: 2, Took: 3 * time.Second, Err: fault},
			{Requests: 1, Created: 1},
			{Requests: 1, Err: fault},
		}
		if diff := cmp.Diff(want, observed, cmpopts.EquateErrors()); diff != "" || i.Busy() != 0 {
			t.Errorf("busy %s; (-want +got):\n%s", i.Busy(), diff)
		}
	})
}
