package sqlite_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/storetest"
)

// undoing is an engine that rolls client writes back after they created users.
type undoing struct {
	store.Engine

	undo    bool
	created []rewards.UserID
}

func (e *undoing) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Engine.WriteForClients(ctx, func(ctx context.Context, tx store.Tx) error {
		if err := f(ctx, tx); err != nil || !e.undo {
			return err
		}
		return errors.Join(errRetried, tx.Query(ctx, func(row store.Row) error {
			var id []byte
			err := row.Scan(scanBytes{&id})
			e.created = append(e.created, rewards.UserID(id))
			return err
		}, `SELECT id FROM users WHERE external_id = 'undone'`))
	})
}

type scanBytes struct{ dest *[]byte }

func (s scanBytes) Scan(value any) error {
	b, ok := value.([]byte)
	if *s.dest = b; !ok {
		return errors.New("not bytes")
	}
	return nil
}

// A user whose transaction was rolled back does not exist, whatever the process remembers.
func TestAnUncommittedUserIsNotKnown(t *testing.T) {
	t.Parallel()
	e := &undoing{Engine: opener(migratedFile)(t)}
	w := storetest.NewWorld(t, e)
	e.undo = true
	if _, err := w.CreateUser(t.Context(), rewards.User{AppID: w.App.ID, ExternalID: "undone"}); !errors.Is(err, errRetried) {
		t.Fatalf("got %v, want the rollback", err)
	}
	e.undo = false
	if len(e.created) != 1 {
		t.Fatalf("%d users were rolled back, want 1", len(e.created))
	}
	r := w.Request(t, 1_000_000)
	r.UserID = e.created[0]
	outcomes, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
	if err != nil || outcomes[0].Verdict != rewards.NoSuchUser {
		t.Errorf("an award: %+v, %v, want no such user", outcomes, err)
	}
	if _, err := w.Holdings(t.Context(), r.AppID, r.UserID); rewards.CodeOf(err) != rewards.CodeNotFound {
		t.Errorf("holdings: %v, want not found", err)
	}
}

// Awards and portfolios do not look up a user whom this process created.
func TestKnownUsersAreNotLookedUp(t *testing.T) {
	t.Parallel()
	r := new(storetest.Recorder)
	w := storetest.NewWorld(t, r.On(opener(migratedFile)(t)))
	w.Give(t, 1_000_000)
	if _, err := w.Holdings(t.Context(), w.App.ID, w.Users[1].ID); err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Statements() {
		if strings.HasPrefix(s.Query, "SELECT 1 FROM users") {
			t.Errorf("the store ran %s", s.Query)
		}
	}
}
