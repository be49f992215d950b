package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// testUserChanges: a batch of changes has the same outcomes as its changes one by one.
func testUserChanges(t *testing.T, w *World) {
	other := w.NewApp(t, "second").ID
	ann, bob := w.Users[0], w.Users[1]
	set := func(app rewards.AppID, id rewards.UserID, email, externalID *string) rewards.UserChange {
		return rewards.UserChange{AppID: app, UserID: id, Email: email, ExternalID: externalID}
	}
	mine := w.App.ID
	outcomes, err := w.ChangeUsers(t.Context(), []rewards.UserChange{
		set(mine, ann.ID, new("Ann@example.com"), nil),
		set(mine, bob.ID, new("ann@EXAMPLE.com"), nil),             // 1: the email of 0
		set(mine, bob.ID, nil, new(ann.ExternalID)),                // 2: ann's
		set(mine, ann.ID, nil, new("")),                            // 3: the email stays
		set(mine, bob.ID, new("bob@example.com"), &ann.ExternalID), // 4: free since 3
		set(mine, ann.ID, new(""), nil),                            // 5: nothing would stay
		set(other, ann.ID, new("theft@example.com"), nil),          // 6: of another app
		set(mine, ann.ID, new("ANN@example.com"), new("ann")),      // 7
		set(mine, bob.ID, new("new@example.com"), new("ann")),      // 8: the external id of 7; the email stays free
		set(mine, ann.ID, new("new@example.com"), nil),             // 9
	})
	check(t, err)
	user := func(u rewards.User, email, externalID string) rewards.UserOutcome {
		u.Email, u.ExternalID = email, externalID
		return rewards.UserOutcome{User: u}
	}
	taken := func(field string, by rewards.User) rewards.UserOutcome {
		return rewards.UserOutcome{Taken: rewards.DuplicateDetails{Field: field, UserID: by.ID}}
	}
	for i, want := range map[int]rewards.UserOutcome{
		0: user(ann, "Ann@example.com", ann.ExternalID), 1: taken("email", ann), 2: taken("externalId", ann),
		3: user(ann, "Ann@example.com", ""), 4: user(bob, "bob@example.com", ann.ExternalID), 7: user(ann, "ANN@example.com", "ann"),
		8: taken("externalId", ann), 9: user(ann, "new@example.com", "ann"),
	} {
		wantEqual(t, fmt.Sprint("outcome ", i), want, outcomes[i])
	}
	wantCode(t, outcomes[5].Refused, rewards.CodeBadRequest)
	wantCode(t, outcomes[6].Refused, rewards.CodeNotFound)
	for _, want := range []rewards.User{outcomes[9].User, outcomes[4].User} {
		got, err := w.User(t.Context(), mine, want.ID)
		check(t, err)
		wantEqual(t, "the user", want, got)
		w.wantSeal(t, want)
	}
	w.record(t, w.Request(t, 1_000_000))
}

func (w *World) wantSeal(t *testing.T, u rewards.User) {
	t.Helper()
	seal := u.Seal()
	w.wantRows(t, "the sealed user", 1, `SELECT count(*) FROM users WHERE app_id = ?1 AND id = ?2 AND seal = ?3
		AND email_folded = ?4`, u.AppID[:], u.ID[:], seal[:], rewards.FoldEmail(u.Email))
}

// testErase: an operator erases both members, once, and the log has neither of them.
func testErase(t *testing.T, w *World) {
	ann := w.Users[0]
	_, err := w.ChangeUsers(t.Context(), []rewards.UserChange{{AppID: w.App.ID, UserID: ann.ID, Email: new("ann@example.com")}})
	check(t, err)
	w.Give(t, 5_000_000)
	rows := len(w.log(t))
	for range 2 {
		u, err := w.EraseUser(t.Context(), ann.ID)
		check(t, err)
		if !u.Erased() || u.ID != ann.ID || u.AppID != w.App.ID {
			t.Errorf("erased: %+v", u)
		}
	}
	w.wantChain(t, rows+1)
	list, err := w.LogEntries(t.Context(), store.LogFilter{Object: ann.Object(), Limit: 9})
	check(t, err)
	app := w.App.ID.String()
	if len(list) != 1 || list[0].Before != `app="`+app+`" erased="no"` || list[0].After != `app="`+app+`" erased="yes"` {
		t.Errorf("the log has %+v", list)
	}
	u, err := w.UserOfAnyApp(t.Context(), ann.ID)
	check(t, err)
	wantEqual(t, "the user", rewards.User{AppID: w.App.ID, ID: ann.ID}, u)
	w.wantSeal(t, u)
	for _, f := range []rewards.UserFilter{{Email: "ann@example.com"}, {ExternalID: ann.ExternalID}} {
		found, err := w.Store.Users(t.Context(), w.App.ID, f, all[rewards.User]())
		if err != nil || len(found) > 0 {
			t.Errorf("%+v finds %v, %v", f, found, err)
		}
	}
	w.Give(t, 5_000_000)
	wantCode(t, failure(w.EraseUser(t.Context(), rewards.UserID{9})), rewards.CodeNotFound)
	wantCode(t, failure(w.UserOfAnyApp(t.Context(), rewards.UserID{9})), rewards.CodeNotFound)
	got := w.create(t, rewards.User{AppID: w.App.ID, Email: "ann@example.com", ExternalID: ann.ExternalID})
	wantEqual(t, "both are free", created{}, got[0])
}

// testEraseDuringChanges: a change at the same time never brings back what an operator erased.
func testEraseDuringChanges(t *testing.T, w *World) {
	ann := w.Users[0]
	const rounds = 20
	for i := range rounds {
		_, err := w.ChangeUsers(t.Context(), []rewards.UserChange{{
			AppID: w.App.ID, UserID: ann.ID, Email: new(fmt.Sprint("secret-", i, "@example.com")), ExternalID: new("a"),
		}})
		check(t, err)
		var running sync.WaitGroup
		running.Go(func() {
			if _, err := w.EraseUser(t.Context(), ann.ID); err != nil {
				t.Error(err)
			}
		})
		running.Go(func() {
			change := rewards.UserChange{AppID: w.App.ID, UserID: ann.ID, ExternalID: new("b")}
			if _, err := w.ChangeUsers(t.Context(), []rewards.UserChange{change}); err != nil {
				t.Error(err)
			}
		})
		running.Wait()
		u, err := w.User(t.Context(), w.App.ID, ann.ID)
		check(t, err)
		if u.Email != "" || u.ExternalID != "" && u.ExternalID != "b" {
			t.Fatalf("after erasing: %+v", u)
		}
		w.wantSeal(t, u)
	}
}

// TestEraseWithinAChange erases a user after a change has read it, when the engine allows both at
// once. The change begins again, from nothing.
func TestEraseWithinAChange(t *testing.T, engine store.Engine) {
	t.Helper()
	e := &interposed{Engine: engine}
	w := NewWorld(t, e)
	ann := w.Users[0]
	e.before = func() { check(t, failure(w.EraseUser(t.Context(), ann.ID))) }
	outcomes, err := w.ChangeUsers(t.Context(), []rewards.UserChange{{AppID: w.App.ID, UserID: ann.ID, Email: new("new@example.com")}})
	check(t, err)
	want := rewards.User{AppID: w.App.ID, ID: ann.ID, Email: "new@example.com"}
	wantEqual(t, "the outcome", []rewards.UserOutcome{{User: want}}, outcomes)
	got, err := w.User(t.Context(), w.App.ID, ann.ID)
	check(t, err)
	wantEqual(t, "the user", want, got)
}

// interposed is an engine that runs before once, before the next statement of a client that changes
// something.
type interposed struct {
	store.Engine
	before func()
}

// WriteForClients implements store.Engine.
func (e *interposed) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Engine.WriteForClients(ctx, func(ctx context.Context, tx store.Tx) error {
		columns, ok := tx.(store.ColumnTx)
		if !ok {
			return errors.New("the engine has no columns")
		}
		return f(ctx, interposedTx{columns, e})
	})
}

type interposedTx struct {
	store.ColumnTx
	e *interposed
}

// Exec implements store.Tx.
func (x interposedTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if before := x.e.before; before != nil {
		x.e.before = nil
		before()
	}
	return x.ColumnTx.Exec(ctx, query, args...)
}
