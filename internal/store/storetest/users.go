package storetest

import (
	"context"
	"fmt"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// created is the outcome for one user of a batch. The zero value means created.
type created struct {
	Field string // the duplicate member
	By    int    // the position of the existing user in the batch, or -1
}

func (w *World) create(t *testing.T, batch ...rewards.User) []created {
	t.Helper()
	outcomes, err := w.CreateUsers(t.Context(), batch)
	check(t, err)
	list := make([]created, len(outcomes))
	place := make(map[rewards.UserID]int)
	for i, o := range outcomes {
		if o.Taken.Field == "" {
			place[o.User.ID] = i
			got, err := w.User(t.Context(), batch[i].AppID, o.User.ID)
			check(t, err)
			wantEqual(t, fmt.Sprint("stored user ", i), o.User, got)
		}
	}
	for i, o := range outcomes {
		list[i].Field = o.Taken.Field
		if at, inBatch := place[o.Taken.UserID]; inBatch {
			list[i].By = at
		} else if o.Taken.Field != "" {
			list[i].By = -1
		}
	}
	return list
}

// testUserBatch: a batch has the same outcomes as its users one by one.
func testUserBatch(t *testing.T, w *World) {
	mine, other := w.App.ID, w.NewApp(t, "second").ID
	user := func(app rewards.AppID, email, externalID string) rewards.User {
		return rewards.User{AppID: app, Email: email, ExternalID: externalID}
	}
	got := w.create(t,
		user(mine, "a@example.com", "a"),
		user(mine, "A@EXAMPLE.com", ""),           // 1: the email of 0
		user(mine, "b@example.com", "a"),          // 2: the external id of 0; the email stays free
		user(mine, "B@example.com", "b"),          // 3: created
		user(mine, "c@example.com", "b"),          // 4: the external id of 3, although 5 gets the email
		user(mine, "c@example.com", "c"),          // 5: created
		user(mine, "a@example.com", "c"),          // 6: the email is checked first
		user(other, "a@example.com", "a"),         // 7: of another app
		user(mine, "new@example.com", "user-0"),   // 8: exists already
		user(mine, "new@example.com", ""),         // 9: created
		user(mine, "", "A"),                       // 10: external ids do not fold
		user(other, "", "user-0"),                 // 11: of another app
		user(mine, "new@example.com", "a"),        // 12: the email of 9
		user(other, "ä@example.com", "only here"), // 13
	)
	want := []created{
		1: {"email", 0}, 2: {"externalId", 0}, 4: {"externalId", 3}, 6: {"email", 0}, 8: {"externalId", -1}, 12: {"email", 9}, 13: {},
	}
	wantEqual(t, "outcomes", want, got)
}

// testUserPoison: an invalid user fails its batch, and nothing of the batch is stored.
func testUserPoison(t *testing.T, w *World) {
	good, poison := rewards.User{AppID: w.App.ID, ExternalID: "good"}, rewards.User{AppID: w.App.ID, ExternalID: "poison\x00"}
	if !w.fleet(t) { // PostgreSQL refuses a NUL by itself
		check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
			_, err := tx.Exec(ctx, `CREATE TRIGGER poisoned BEFORE INSERT ON users
				WHEN NEW.external_id LIKE 'poison%' BEGIN SELECT RAISE(ABORT, 'poison'); END`)
			return err
		}))
	}
	_, err := w.CreateUsers(t.Context(), []rewards.User{good, poison})
	if err == nil || rewards.CodeOf(err) == rewards.CodeUnavailable {
		t.Fatalf("got %v, want an error about the row", err)
	}
	if got := w.create(t, good); got[0].Field != "" {
		t.Errorf("a user of a failed batch is stored: %v", got)
	}
}
