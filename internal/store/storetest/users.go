package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// created is the outcome of a batch of users in short: "" for one that was created, else
// the member and the batch's place of the holder (-1: who was there before).
type created struct {
	Field string
	By    int
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
			if diff := cmp.Diff(o.User, got); diff != "" {
				t.Errorf("user %d (-answered +stored):\n%s", i, diff)
			}
		}
	}
	for i, o := range outcomes {
		list[i].Field = o.Taken.Field
		if at, ours := place[o.Taken.UserID]; ours {
			list[i].By = at
		} else if o.Taken.Field != "" {
			list[i].By = -1
		}
	}
	return list
}

// A batch of users is answered as if they had come one by one.
func testUserBatch(t *testing.T, w *World) {
	mine, other := w.App.ID, w.NewApp(t, "second").ID
	user := func(app rewards.AppID, email, externalID string) rewards.User {
		return rewards.User{AppID: app, Email: email, ExternalID: externalID}
	}
	got := w.create(t,
		user(mine, "a@example.com", "a"),
		user(mine, "A@EXAMPLE.com", ""),           // 1: of 0
		user(mine, "b@example.com", "a"),          // 2: the external id of 0; its email stays free
		user(mine, "B@example.com", "b"),          // 3: created
		user(mine, "c@example.com", "b"),          // 4: the external id of 3, although 5 gets the email
		user(mine, "c@example.com", "c"),          // 5: created
		user(mine, "a@example.com", "c"),          // 6: the email first
		user(other, "a@example.com", "a"),         // 7: another app's
		user(mine, "new@example.com", "user-0"),   // 8: was there before
		user(mine, "new@example.com", ""),         // 9: created
		user(mine, "", "A"),                       // 10: external ids do not fold
		user(other, "", "user-0"),                 // 11: another app's
		user(mine, "new@example.com", "a"),        // 12: the email of 9
		user(other, "ä@example.com", "only here"), // 13
	)
	want := []created{
		{},
		{"email", 0},
		{"externalId", 0},
		{},
		{"externalId", 3},
		{},
		{"email", 0},
		{},
		{"externalId", -1},
		{},
		{},
		{},
		{"email", 9},
		{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// A user that cannot be stored fails its batch, of which nothing is stored.
func testUserPoison(t *testing.T, w *World) {
	good, poison := rewards.User{AppID: w.App.ID, ExternalID: "good"}, rewards.User{AppID: w.App.ID} // no member: the schema refuses it
	_, err := w.CreateUsers(t.Context(), []rewards.User{good, poison})
	if err == nil || rewards.CodeOf(err) == rewards.CodeUnavailable {
		t.Fatalf("got %v, want an error of the row", err)
	}
	if got := w.create(t, good); got[0].Field != "" {
		t.Errorf("a user of a failed batch is stored: %v", got)
	}
}
