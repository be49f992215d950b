package store

import (
	"bytes"
	"context"
	"slices"

	"stockrewards/internal/rewards"
)

const userColumns = `app_id, id, email, external_id`

func scanUser(row Row) (u rewards.User, err error) {
	err = row.Scan(toID(&u.AppID), toID(&u.ID), &u.Email, &u.ExternalID)
	return u, err
}

const (
	userByEmail = `SELECT ` + userColumns + ` FROM users
		WHERE app_id = ?1 AND email_folded = ?2 AND email_folded <> ''`
	userByExternalID = `SELECT ` + userColumns + ` FROM users
		WHERE app_id = ?1 AND external_id = ?2 AND external_id <> ''`
	userByID = `SELECT ` + userColumns + ` FROM users WHERE app_id = ?1 AND id = ?2`
)

func errNoUser() error { return notFound("user not found") }

type userKey struct {
	app  rewards.AppID
	user rewards.UserID
}

func (k userKey) ofApp() rewards.AppID { return k.app }

// userExistsByRow reports whether a user exists. It reads the database only for users who are not
// known.
func (s *Store) userExistsByRow(ctx context.Context, tx Tx, k userKey) (bool, error) {
	if s.known.has(k) {
		return true, nil
	}
	var one int
	return fetchValues(ctx, tx, []any{&one}, `SELECT 1 FROM users WHERE app_id = ?1 AND id = ?2`, k.app[:], k.user[:])
}

// User implements rewards.Store.
func (s *Store) User(ctx context.Context, app rewards.AppID, id rewards.UserID) (rewards.User, error) {
	return readOf(ctx, s, app, func(ctx context.Context, tx Tx) (rewards.User, error) {
		u, found, err := fetchOne(ctx, only(tx), scanUser, userByID, app[:], id[:])
		if err == nil && !found {
			err = errNoUser()
		}
		return u, err
	})
}

// Users implements rewards.Store.
func (s *Store) Users(
	ctx context.Context, app rewards.AppID, f rewards.UserFilter, p rewards.Page[rewards.User],
) ([]rewards.User, error) {
	switch {
	case f.Email != "":
		return s.findUser(ctx, app, f, p, userByEmail, rewards.FoldEmail(f.Email))
	case f.ExternalID != "":
		return s.findUser(ctx, app, f, p, userByExternalID, f.ExternalID)
	}
	return readAllOf(ctx, s, app, scanUser, `SELECT `+userColumns+`
		FROM users WHERE app_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3 + 0`, app[:], before(p.Before), p.Limit)
}

// findUser lists the one user that a unique member finds, if the filter and the page have it.
func (s *Store) findUser(
	ctx context.Context, app rewards.AppID, f rewards.UserFilter, p rewards.Page[rewards.User], query, value string,
) ([]rewards.User, error) {
	users, err := readAllOf(ctx, s, app, scanUser, query, app[:], value)
	return slices.DeleteFunc(users, func(u rewards.User) bool {
		return !f.Matches(u) || bytes.Compare(u.ID[:], before(p.Before)) >= 0
	}), err
}

// before is the exclusive upper bound of a page in id order. The zero id does not bound it.
func before[T any](id rewards.ID[T]) []byte {
	if !id.IsZero() {
		return id[:]
	}
	for i := range id {
		id[i] = 0xff
	}
	return id[:]
}
