package storetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

func testAppsAndKeys(t *testing.T, w *World) {
	other := w.NewApp(t, "second")
	_, _, err := w.CreateApp(t.Context(), "second", rewards.Key{Hash: rewards.HashKey("x")})
	wantCode(t, err, rewards.CodeConflict)
	key, app, err := w.AppByKey(t.Context(), rewards.HashKey("key of second"))
	check(t, err)
	if app != other || key.AppID != other.ID {
		t.Errorf("got app %v, key %v, want those of %v", app, key, other)
	}
	_, _, err = w.AppByKey(t.Context(), rewards.HashKey("unknown"))
	wantCode(t, err, rewards.CodeNotFound)
	for _, name := range []string{"second", other.ID.String()} {
		suspended, err := w.SetSuspended(t.Context(), name, true)
		check(t, err)
		if !suspended.Suspended || suspended.ID != other.ID {
			t.Errorf("suspending %s gave %+v", name, suspended)
		}
	}
	wantCode(t, failure(w.SetSuspended(t.Context(), "third", true)), rewards.CodeNotFound)
	limits := rewards.Limits{RequestsPerSecond: rewards.MaxRequestsPerSecond, Concurrent: 7}
	limited, err := w.SetLimits(t.Context(), "second", func(rewards.Limits) rewards.Limits { return limits })
	check(t, err)
	_, err = w.SetLimits(t.Context(), "second", func(rewards.Limits) rewards.Limits { return rewards.Limits{Concurrent: -1} })
	if err == nil || limited.Limits != limits {
		t.Errorf("limits %+v, a negative one: %v", limited.Limits, err)
	}
	_, app, err = w.AppByKey(t.Context(), rewards.HashKey("key of second"))
	check(t, err)
	other.Suspended, other.Limits = true, limits
	if app != other {
		t.Errorf("got %+v, want %+v", app, other)
	}
	apps := read(t, w.Apps)
	wantEqual(t, "apps", []rewards.App{w.App, other}, apps)
}

func testKeyRotation(t *testing.T, w *World) {
	old, err := w.CreateKey(t.Context(), "first", rewards.Key{Hash: rewards.HashKey("old"), Label: "l"})
	check(t, err)
	expires := w.Now().Add(time.Hour)
	fresh, err := w.RotateKey(t.Context(), old.ID, rewards.Key{Hash: rewards.HashKey("new")}, expires)
	check(t, err)
	if fresh.AppID != w.App.ID || fresh.Label != "l" {
		t.Errorf("rotated to %+v", fresh)
	}
	got, _, err := w.AppByKey(t.Context(), rewards.HashKey("old"))
	check(t, err)
	if !got.ExpiresAt.Equal(expires) || !got.ValidAt(w.Now()) || got.ValidAt(expires) {
		t.Errorf("the old key expires at %s, want %s", got.ExpiresAt, expires)
	}
	_, err = w.RotateKey(t.Context(), old.ID, rewards.Key{Hash: rewards.HashKey("later")}, expires.Add(time.Hour))
	check(t, err)
	if got, _, err = w.AppByKey(t.Context(), rewards.HashKey("old")); err != nil || !got.ExpiresAt.Equal(expires) {
		t.Errorf("rotated with a longer overlap the old key expires at %s, %v; want %s as before", got.ExpiresAt, err, expires)
	}
	check(t, w.RevokeKey(t.Context(), old.ID))
	check(t, w.RevokeKey(t.Context(), old.ID))
	outlives := w.endpoint(t, old.AppID)
	endpoints, err := w.EndpointsOfKey(t.Context(), old.ID)
	check(t, err)
	if len(endpoints) != 1 || endpoints[0].ID != outlives.ID {
		t.Errorf("endpoints that outlive a key: %+v, want %s", endpoints, outlives.ID)
	}
	got, _, err = w.AppByKey(t.Context(), rewards.HashKey("old"))
	check(t, err)
	if got.ValidAt(w.Now()) || got.ValidAt(w.Now().Add(-time.Hour)) {
		t.Error("the revoked key is valid, or is while a clock is behind")
	}
	wantCode(t, failure(w.RotateKey(t.Context(), old.ID, rewards.Key{Hash: rewards.HashKey("newer")}, expires)), rewards.CodeConflict)
	wantCode(t, w.RevokeKey(t.Context(), rewards.KeyID{1}), rewards.CodeNotFound)
	keys, err := w.Keys(t.Context(), w.App.ID.String())
	check(t, err)
	if len(keys) != 4 || keys[0].Hash != rewards.HashKey("key of first") {
		t.Errorf("got %d keys, want the first one and three", len(keys))
	}
}

func testUsers(t *testing.T, w *World) {
	anna, err := w.CreateUser(t.Context(), rewards.User{AppID: w.App.ID, Email: "Anna@Example.com", ExternalID: "a"})
	check(t, err)
	for _, duplicate := range []struct {
		user  rewards.User
		field string
	}{
		{rewards.User{Email: "aNNA@example.COM"}, "email"},
		{rewards.User{ExternalID: "a"}, "externalId"},
		{rewards.User{Email: "anna@example.com", ExternalID: "a"}, "email"},
	} {
		duplicate.user.AppID = w.App.ID
		err := failure(w.CreateUser(t.Context(), duplicate.user))
		wantCode(t, err, rewards.CodeConflict)
		var want any = rewards.DuplicateDetails{Field: duplicate.field, UserID: anna.ID}
		if got := err.(*rewards.Error).Details; got != want { //nolint:forcetypeassert,errorlint // wantCode proved it
			t.Errorf("details %v, want %v", got, want)
		}
	}
	for _, distinct := range []rewards.User{{ExternalID: "A"}, {Email: "änna@example.com"}, {Email: "ÄNNA@example.com"}} {
		distinct.AppID = w.App.ID
		check(t, failure(w.CreateUser(t.Context(), distinct))) // only ASCII letters fold, and only in emails
	}
	other := w.NewApp(t, "second")
	check(t, failure(w.CreateUser(t.Context(), rewards.User{AppID: other.ID, Email: "anna@example.com", ExternalID: "a"})))
	got, err := w.User(t.Context(), w.App.ID, anna.ID)
	check(t, err)
	wantEqual(t, "user", anna, got)
	for filter, want := range map[rewards.UserFilter]int{
		{Email: "anna@example.com"}: 1, {ExternalID: "a"}: 1, {Email: "anna@example.com", ExternalID: "a"}: 1,
		{Email: "anna@example.com", ExternalID: "b"}: 0, {Email: "nobody@example.com"}: 0,
	} {
		users, err := w.Store.Users(t.Context(), w.App.ID, filter, all[rewards.User]())
		check(t, err)
		if len(users) != want {
			t.Errorf("%+v finds %d users, want %d", filter, len(users), want)
		}
	}
}

func testUserPages(t *testing.T, w *World) {
	for i := range 10 {
		w.NewUser(t, w.App.ID, fmt.Sprint("more-", i))
	}
	var walked []string
	page := rewards.Page[rewards.User]{Limit: 4}
	for {
		users, err := w.Store.Users(t.Context(), w.App.ID, rewards.UserFilter{}, page)
		check(t, err)
		if len(users) == 0 {
			break
		}
		for _, u := range users {
			walked = append(walked, u.ExternalID)
		}
		page.Before = users[len(users)-1].ID
		w.NewUser(t, w.App.ID, fmt.Sprint("meanwhile-", len(walked)))
	}
	want := "more-9 more-8 more-7 more-6 more-5 more-4 more-3 more-2 more-1 more-0 user-2 user-1 user-0"
	if got := strings.Join(walked, " "); got != want {
		t.Errorf("walked %s\nwant %s", got, want)
	}
}

func testUsersAtOnce(t *testing.T, w *World) {
	const clients = 16
	var group sync.WaitGroup
	errs := make([]error, clients)
	for i := range clients {
		group.Go(func() {
			_, errs[i] = w.CreateUser(t.Context(), rewards.User{AppID: w.App.ID, Email: "same@example.com"})
		})
	}
	group.Wait()
	created := 0
	for _, err := range errs {
		if err == nil {
			created++
			continue
		}
		wantCode(t, err, rewards.CodeConflict)
	}
	if created != 1 {
		t.Errorf("%d of %d were created, want one", created, clients)
	}
}

func testTenancy(t *testing.T, w *World) {
	mine := w.Give(t, 5_000_000)
	other := w.NewApp(t, "second")
	wantCode(t, failure(w.Reward(t.Context(), other.ID, mine.ID)), rewards.CodeNotFound)
	wantCode(t, failure(w.User(t.Context(), other.ID, mine.UserID)), rewards.CodeNotFound)
	wantCode(t, failure(w.Holdings(t.Context(), other.ID, mine.UserID)), rewards.CodeNotFound)
	list, err := w.Rewards(t.Context(), other.ID, rewards.RewardFilter{UserID: &mine.UserID}, all[rewards.Reward]())
	check(t, err)
	users, err := w.Store.Users(t.Context(), other.ID, rewards.UserFilter{ExternalID: "user-0"}, all[rewards.User]())
	check(t, err)
	if len(list) != 0 || len(users) != 0 {
		t.Errorf("another app sees %d rewards and %d users", len(list), len(users))
	}
	foreign := w.Request(t, 5_000_000)
	foreign.AppID = other.ID // names a user of the first app
	same := w.Request(t, 7_000_000)
	same.AppID, same.UserID = other.ID, w.NewUser(t, other.ID, "own").ID
	same.IdempotencyKey = mine.IdempotencyKey // a key of the first app
	wantVerdicts(t, w.verdicts(t, foreign, same), rewards.NoSuchUser, rewards.Created)
}

func testPins(t *testing.T, w *World) {
	first := read(t, w.Installation)
	again := read(t, w.Installation)
	if diff := cmp.Diff(first, again); diff != "" || first.ID == "" || len(first.CursorKey) == 0 {
		t.Errorf("installation %+v, then %+v", first, again)
	}
	pinned := read(t, w.PinnedAccount)
	if pinned != "" {
		t.Errorf("bound to the account %q too early", pinned)
	}
	account := rewards.BrokerAccount{ID: "account"}
	check(t, w.PinBroker(t.Context(), "paper", account))
	check(t, w.PinBroker(t.Context(), "paper", account))
	pinned = read(t, w.PinnedAccount)
	if pinned != account.ID {
		t.Errorf("bound to the account %q, want %q", pinned, account.ID)
	}
	for _, other := range [][2]string{{"alpaca", "account"}, {"paper", "another"}} {
		if err := w.PinBroker(t.Context(), other[0], rewards.BrokerAccount{ID: other[1]}); err == nil {
			t.Errorf("%v was accepted for the store of another account", other)
		}
	}
	w.Give(t, 5_000_000)
	w.Open(t)
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM settings WHERE name = 'installation_id'`)
		return err
	}))
	if again, err := w.Installation(t.Context()); err == nil {
		t.Errorf("a store with orders is another installation: %+v", again)
	}
}

// testAccountMode: the mode follows from the account's number, which may become known
// after the store was bound to the account.
func testAccountMode(t *testing.T, w *World) {
	expect := func(when string, want rewards.Mode) {
		t.Helper()
		got := read(t, w.AccountMode)
		if got != want {
			t.Errorf("%s: the account's mode is %q, want %q", when, got, want)
		}
	}
	expect("before the first start", rewards.ModeUnknown)
	for _, step := range []struct {
		number string
		want   rewards.Mode
	}{{"", rewards.ModeUnknown}, {"PA3XYZ", rewards.ModeTest}, {"", rewards.ModeTest}, {"912345678", rewards.ModeLive}} {
		check(t, w.PinBroker(t.Context(), "alpaca", rewards.BrokerAccount{ID: "account", Number: step.number}))
		expect("the number "+step.number, step.want)
	}
	if err := w.PinBroker(t.Context(), "alpaca", rewards.BrokerAccount{ID: "another", Number: "PA9"}); err == nil {
		t.Error("another account was accepted")
	}
	expect("after another account was refused", rewards.ModeLive)
	w.reopen(t)
	expect("after a restart", rewards.ModeLive)
}

func testReopen(t *testing.T, w *World) {
	before := w.Give(t, 1_000_000)
	w.Advance(-time.Hour) // the clock is set back
	w.reopen(t)
	after := w.Give(t, 1_000_000)
	if string(after.ID[:]) <= string(before.ID[:]) {
		t.Errorf("the id %s does not follow %s", after.ID, before.ID)
	}
}
