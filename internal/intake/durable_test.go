package intake_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/intake"
)

// recordMany records n rewards in the background.
func recordMany(t *testing.T, i *intake.Intake, n int) (answers []<-chan answer) {
	t.Helper()
	for k := range n {
		answers = append(answers, record(t, i, fmt.Sprint(n, "-", k)))
	}
	return answers
}

// wantAnswers checks how many requests are answered, and that all of them have that error.
func wantAnswers(t *testing.T, answers []<-chan answer, want int, fault error) {
	t.Helper()
	synctest.Wait()
	answered := 0
	for _, c := range answers {
		select {
		case a := <-c:
			answered++
			if !errors.Is(a.err, fault) {
				t.Errorf("answered with %v, want %v", a.err, fault)
			}
		default:
		}
	}
	if answered != want {
		t.Errorf("%d requests are answered, want %d", answered, want)
	}
}

// wantNoCommit checks that no commit begins.
func wantNoCommit(t *testing.T, g *gate) {
	t.Helper()
	synctest.Wait()
	select {
	case n := <-g.enter:
		t.Errorf("a commit of %d during the sync", n)
	default:
	}
}

// Once many wait, the next batch is committed before the last one is durable. No request is answered
// before its commit is durable.
func TestACrowdIsCommittedDuringASync(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		g.sync = make(chan error)
		first := recordMany(t, i, 1)
		<-g.enter
		second := recordMany(t, i, 20)
		g.leave <- nil
		wantNoCommit(t, g)
		second = append(second, recordMany(t, i, 12)...)
		if n := <-g.enter; n != 32 {
			t.Errorf("a commit of %d, want 32", n)
		}
		wantAnswers(t, first, 0, nil)
		time.Sleep(time.Second)
		if busy := i.Busy(); busy != time.Second {
			t.Errorf("busy for %s", busy)
		}
		g.leave <- nil
		wantAnswers(t, second, 0, nil)
		g.sync <- nil
		wantAnswers(t, first, 1, nil)
		wantAnswers(t, second, 0, nil)
		g.sync <- nil
		wantAnswers(t, second, 32, nil)
		if busy := i.Busy(); busy != 0 {
			t.Errorf("busy for %s after the last answer", busy)
		}
	})
}

// A few requests wait for the sync of the batch before theirs, and are then committed together.
func TestAFewAreCommittedAfterASync(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		g.sync = make(chan error)
		first := recordMany(t, i, 1)
		<-g.enter
		g.leave <- nil
		synctest.Wait()
		second := recordMany(t, i, 3)
		wantNoCommit(t, g)
		g.sync <- nil
		if n := <-g.enter; n != 3 {
			t.Errorf("a commit of %d, want 3", n)
		}
		wantAnswers(t, first, 1, nil)
		g.leave <- nil
		g.sync <- nil
		wantAnswers(t, second, 3, nil)
	})
}

// When a sync fails, nobody hears that a reward is recorded.
func TestAFailedSyncIsAnswered(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		g.sync = make(chan error)
		fault := errors.New("the disk is broken")
		answers := recordMany(t, i, 1)
		<-g.enter
		g.leave <- nil
		g.sync <- fault
		wantAnswers(t, answers, 1, fault)
	})
}

// A bulk is answered when all of its commits are durable, also when they become so at once.
func TestABulkOverManyCommits(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		g.sync = make(chan error)
		first := recordBulk(t, i, 1, 1)
		<-g.enter
		bulks := []<-chan bulkAnswer{first, recordBulk(t, i, 1, 300), recordBulk(t, i, 2, 300)}
		for waiting := 600; waiting > 0; {
			g.leave <- nil
			for stuck := true; stuck; {
				select {
				case n := <-g.enter:
					waiting, stuck = waiting-n, false
				case g.sync <- nil: // too many commits are not durable
				}
			}
		}
		g.leave <- nil
		for answered := 0; answered < len(bulks); {
			select {
			case g.sync <- nil:
			case a := <-bulks[answered]:
				answered++
				for _, o := range a.outcomes {
					if o.Err != nil || a.err != nil {
						t.Fatal(o.Err, a.err)
					}
				}
			}
		}
	})
}
