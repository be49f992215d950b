package intake_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/intake"
	"stockrewards/internal/rewards"
)

// recordAll records an app's rewards with the keys from to to-1 in the background. done gets
// the key of each outcome.
func recordAll(ctx context.Context, i *intake.Intake, app byte, from, to int, done chan<- string) {
	for n := from; n < to; n++ {
		go func() {
			o, err := i.Record(ctx, rewards.NewReward{AppID: rewards.AppID{app}, IdempotencyKey: fmt.Sprint(n)})
			if err != nil {
				done <- err.Error()
				return
			}
			done <- o.Reward.IdempotencyKey
		}()
		synctest.Wait()
	}
}

// While several apps send, commits stay small, and each takes requests of every app in turn.
func TestAFloodLeavesRoomInEveryCommit(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		flood, other := make(chan string, 1000), make(chan string, 10)
		recordAll(t.Context(), i, 1, 0, 1, flood)
		<-g.enter
		recordAll(t.Context(), i, 1, 1, 301, flood)
		recordAll(t.Context(), i, 2, 0, 3, other)
		g.leave <- nil
		for commits, waiting := 0, 303; waiting > 0; commits++ {
			n := <-g.enter
			if want := min(64, waiting); n != want {
				t.Errorf("commit %d takes %d requests, want %d", commits, n, want)
			}
			waiting -= n
			g.leave <- nil
			synctest.Wait()
			if commits == 0 && len(other) != 3 {
				t.Errorf("after the first commit %d of the other app's 3 requests are answered", len(other))
			}
		}
		for n, key := range g.keys[rewards.AppID{1}] { // the requests of one app keep their order
			if key != fmt.Sprint(n) {
				t.Fatalf("request %s is committed as number %d", key, n)
			}
		}
	})
}

// An app that has sent alone for a second gets large commits again.
func TestAnAppAloneGetsLargeCommits(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		flood, other := make(chan string, 1000), make(chan string, 1)
		recordAll(t.Context(), i, 2, 0, 1, other)
		<-g.enter
		recordAll(t.Context(), i, 1, 0, 300, flood)
		time.Sleep(time.Second)
		g.leave <- nil
		if n := <-g.enter; n != 300 {
			t.Errorf("a commit of %d, want all queued requests", n)
		}
		g.leave <- nil
		for range 300 {
			<-flood
		}
		<-other
	})
}

// Apps with many queued requests get equal parts of every commit.
func TestAppsShareACommit(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		first := make(chan string, 1)
		recordAll(t.Context(), i, 9, 0, 1, first)
		<-g.enter
		var done []chan string
		for app := range byte(4) {
			done = append(done, make(chan string, 100))
			recordAll(t.Context(), i, app, 0, 40, done[app])
		}
		g.leave <- nil
		<-g.enter
		g.leave <- nil
		synctest.Wait()
		for app, c := range done {
			if len(c) != 16 {
				t.Errorf("app %d has %d of the first 64 answers, want 16", app, len(c))
			}
		}
		for left := 96; left > 0; {
			left -= <-g.enter
			g.leave <- nil
		}
		synctest.Wait()
	})
}

// Users are committed in batches, separately from rewards.
func TestUsersAreCommittedTogether(t *testing.T) {
	t.Parallel()
	world(t, func(t *testing.T, i *intake.Intake, g *gate) {
		answers := make(chan error, 20)
		create := func(externalID string) {
			go func() {
				u, err := i.CreateUser(t.Context(), rewards.User{ExternalID: externalID})
				if err == nil && u.ExternalID != externalID {
					err = fmt.Errorf("%s was answered %+v", externalID, u)
				}
				answers <- err
			}()
			synctest.Wait()
		}
		create("first")
		<-g.enter
		for n := range 9 {
			create(fmt.Sprint(n))
		}
		create("taken")
		g.leave <- nil
		if n := <-g.enter; n != 10 {
			t.Errorf("the second commit has %d users, want all that arrived meanwhile", n)
		}
		g.leave <- nil
		conflicts := 0
		for range 11 {
			switch err := <-answers; {
			case rewards.CodeOf(err) == rewards.CodeConflict:
				conflicts++
			case err != nil:
				t.Error(err)
			}
		}
		if conflicts != 1 {
			t.Errorf("%d conflicts, want that of the taken external id", conflicts)
		}
	})
}
