package sqlite

import (
	"context"
	"maps"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/storetest"
)

// appReads are what clients of an app read of a user and of an award of AAPL.
func appReads(s *store.Store, u rewards.User, r rewards.Reward) map[string]func(context.Context) error {
	some := rewards.Page[rewards.Reward]{Limit: 9}
	list := func(f rewards.RewardFilter) func(context.Context) error {
		return func(ctx context.Context) error { return second(s.Rewards(ctx, u.AppID, f, some)) }
	}
	return map[string]func(context.Context) error{
		"an award":            func(ctx context.Context) error { return second(s.Reward(ctx, u.AppID, r.ID)) },
		"all awards":          list(rewards.RewardFilter{}),
		"awards that wait":    list(rewards.RewardFilter{Status: rewards.Recorded}),
		"executed awards":     list(rewards.RewardFilter{Status: rewards.Executed}),
		"failed awards":       list(rewards.RewardFilter{Status: rewards.Failed}),
		"awards of a user":    list(rewards.RewardFilter{UserID: &u.ID}),
		"an award by its key": list(rewards.RewardFilter{IdempotencyKey: r.IdempotencyKey}),
		"counts of awards":    func(ctx context.Context) error { return second(s.CountRewards(ctx, u.AppID, 9)) },
		"shares of awards": func(ctx context.Context) error {
			return second(s.SharesOf(ctx, u.AppID, []rewards.RewardID{r.ID}))
		},
		"a user":   func(ctx context.Context) error { return second(s.User(ctx, u.AppID, u.ID)) },
		"holdings": func(ctx context.Context) error { return second(s.Holdings(ctx, u.AppID, u.ID)) },
		"users": func(ctx context.Context) error {
			return second(s.Users(ctx, u.AppID, rewards.UserFilter{}, rewards.Page[rewards.User]{Limit: 9}))
		},
		"a user by an external id": func(ctx context.Context) error {
			f := rewards.UserFilter{ExternalID: u.ExternalID}
			return second(s.Users(ctx, u.AppID, f, rewards.Page[rewards.User]{Limit: 9}))
		},
		"activity": func(ctx context.Context) error {
			return second(s.Activity(ctx, u.AppID, u.ID, rewards.ActivityPage{Limit: 9}))
		},
		"events": func(ctx context.Context) error {
			return second(s.EventsAfter(ctx, u.AppID, 0, rewards.AllEvents, 9))
		},
		"budgets": func(ctx context.Context) error { return second(s.Budgets(ctx, u.AppID)) },
		"webhook endpoints": func(ctx context.Context) error {
			return second(s.WebhookEndpoints(ctx, u.AppID, rewards.Page[rewards.WebhookEndpoint]{Limit: 9}))
		},
		"corporate actions": func(ctx context.Context) error {
			return second(s.ActionsOfApp(ctx, u.AppID, rewards.ActionFilter{}, rewards.ActionPage{Limit: 9}))
		},
		"reversals": func(ctx context.Context) error {
			return second(s.Reversals(ctx, u.AppID, rewards.ReversalFilter{}, rewards.Page[rewards.Reversal]{Limit: 9}))
		},
	}
}

// sharedReads are what no award and no user changes.
func sharedReads(s *store.Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"an API key":       func(ctx context.Context) error { return third(s.AppByKey(ctx, rewards.HashKey("key of first"))) },
		"the account":      func(ctx context.Context) error { return second(s.AccountMode(ctx)) },
		"the newest event": func(ctx context.Context) error { return second(s.NewestEvent(ctx)) },
		"the catalog":      func(ctx context.Context) error { return second(s.Assets(ctx)) },
	}
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

// What an app reads waits for the sync of what it can see, and not for another app's awards and users. The disk is so
// slow here that it answers only when the test says so.
func TestAppsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		e, err := Open(ctx, filepath.Join(t.TempDir(), "rewards.db"), Options{})
		check(t, err)
		defer func() { check(t, e.Close()) }()
		w := storetest.NewWorld(t, e)
		award := w.Give(t, 1)
		next := w.Request(t, 1)
		next.AppID = w.NewApp(t, "beside").ID
		theirs := w.NewUser(t, next.AppID, "theirs")
		next.UserID = theirs.ID
		third := next
		third.AppID = w.NewApp(t, "third").ID
		third.UserID = w.NewUser(t, third.AppID, "of the third").ID
		give := func() rewards.Reward {
			next.IdempotencyKey += "-"
			third.IdempotencyKey += "-"
			outcomes, err := w.RecordRewards(ctx, []rewards.NewReward{third, next})
			check(t, err)
			return outcomes[1].Reward
		}
		join := func() {
			_, err := w.CreateUsers(ctx, []rewards.User{{AppID: third.AppID}, {AppID: next.AppID}})
			check(t, err)
		}
		kept := give()
		check(t, w.Durable(ctx))

		disk := fakeLog{make(chan struct{}), make(chan error)}
		e.sync.flush = func() error {
			disk.began <- struct{}{}
			return <-disk.end
		}
		give()
		join()
		all := appReads(w.Store, w.Users[0], award)
		maps.Copy(all, sharedReads(w.Store))
		for what, read := range all {
			if err := read(ctx); err != nil {
				t.Fatalf("%s, after another app's awards and users: %v", what, err)
			}
		}
		for what, read := range appReads(w.Store, theirs, kept) {
			give()
			disk.wantWait(t, "after an award of the app: "+what, func() error { return read(ctx) })
			join()
			disk.wantWait(t, "after a user of the app: "+what, func() error { return read(ctx) })
		}
		give()
		disk.wantWait(t, "what operators read", func() error {
			return e.Read(ctx, func(context.Context, store.Tx) error { return nil })
		})
		for what, read := range all {
			check(t, e.Write(ctx, func(ctx context.Context, tx store.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO settings (name, value) VALUES (?1, '')`, what)
				return err
			}))
			disk.wantWait(t, "after what all can see: "+what, func() error { return read(ctx) })
		}
	})
}

// wantWait reads, and the answer comes after a sync.
func (l fakeLog) wantWait(t *testing.T, what string, read func() error) {
	t.Helper()
	answer := make(chan error, 1)
	go func() { answer <- read() }()
	select {
	case <-l.began:
	case err := <-answer:
		t.Fatalf("%s: no sync, %v", what, err)
	}
	synctest.Wait()
	if len(answer) > 0 {
		t.Fatalf("%s: answered before the sync was done: %v", what, <-answer)
	}
	l.end <- nil
	if err := <-answer; err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
