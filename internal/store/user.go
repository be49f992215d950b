package store

import (
	"bytes"
	"context"

	"stockrewards/internal/rewards"
)

const userColumns = `app_id, id, email, external_id`

func scanUser(row Row) (rewards.User, error) {
	var u rewards.User
	err := row.Scan(toID(&u.AppID), toID(&u.ID), &u.Email, &u.ExternalID)
	return u, err
}

const (
	userByEmail = `SELECT ` + userColumns + ` FROM users
		WHERE app_id = ?1 AND email_folded = ?2 AND email_folded <> ''`
	userByExternalID = `SELECT ` + userColumns + ` FROM users
		WHERE app_id = ?1 AND external_id = ?2 AND external_id <> ''`
	userByID = `SELECT ` + userColumns + ` FROM users WHERE app_id = ?1 AND id = ?2`
)

func findUser(ctx context.Context, tx Tx, query string, args ...any) (u rewards.User, found bool, err error) {
	err = tx.Query(ctx, func(row Row) error {
		found = true
		u, err = scanUser(row)
		return err
	}, query, args...)
	return u, found, err
}

func errNoUser() error {
	return &rewards.Error{Code: rewards.CodeNotFound, Message: "user not found"}
}

// User implements rewards.Store.
func (s *Store) User(ctx context.Context, app rewards.AppID, id rewards.UserID) (u rewards.User, err error) {
	found := false
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		u, found, err = findUser(ctx, tx, userByID, app[:], id[:])
		return err
	})
	if err == nil && !found {
		err = errNoUser()
	}
	return u, err
}

// Users implements rewards.Store.
func (s *Store) Users(
	ctx context.Context, app rewards.AppID, f rewards.UserFilter, p rewards.Page[rewards.User],
) ([]rewards.User, error) {
	if f != (rewards.UserFilter{}) {
		return s.findUsers(ctx, app, f, p)
	}
	var users []rewards.User
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		return tx.Query(ctx, func(row Row) error {
			u, err := scanUser(row)
			users = append(users, u)
			return err
		}, `SELECT `+userColumns+` FROM users WHERE app_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3`,
			app[:], before(p.Before), p.Limit)
	})
	return users, err
}

// findUsers finds the one user that a filter can name.
func (s *Store) findUsers(
	ctx context.Context, app rewards.AppID, f rewards.UserFilter, p rewards.Page[rewards.User],
) ([]rewards.User, error) {
	query, value := userByEmail, rewards.FoldEmail(f.Email)
	if f.Email == "" {
		query, value = userByExternalID, f.ExternalID
	}
	var u rewards.User
	found := false
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) (err error) {
		u, found, err = findUser(ctx, tx, query, app[:], value)
		return err
	})
	older := bytes.Compare(u.ID[:], before(p.Before)) < 0
	if err != nil || !found || !f.Matches(u) || !older {
		return nil, err
	}
	return []rewards.User{u}, nil
}

// before is the bound of a list in id order, newest first: a zero id bounds nothing.
func before[T any](id rewards.ID[T]) []byte {
	if !id.IsZero() {
		return id[:]
	}
	for i := range id {
		id[i] = 0xff
	}
	return id[:]
}
