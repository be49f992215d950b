package store

import (
	"context"
	"fmt"

	"stockrewards/internal/rewards"
)

// ChangeUsers answers requests to change users in one transaction (see Durable), as if they had come
// one by one in the order of batch. After an error nothing is changed; with CodeUnavailable that is unknown.
// A commit with an unknown outcome is retried: a change that is made twice is the same.
func (s *Store) ChangeUsers(ctx context.Context, batch []rewards.UserChange) ([]rewards.UserOutcome, error) {
	outcomes := make([]rewards.UserOutcome, len(batch))
	err := untilKnown(ctx, func() error {
		return s.engine.WriteForClients(ctx, func(ctx context.Context, tx Tx) (err error) {
			for i, c := range batch {
				if outcomes[i], err = changeUser(ctx, tx, c); err != nil {
					return fmt.Errorf("store: cannot change users: %w", err)
				}
			}
			return nil
		})
	})
	return outcomes, err
}

// changeUser changes one user. An operator may erase the user at the same time over PostgreSQL:
// the change then begins again, so that it never brings back what was erased.
func changeUser(ctx context.Context, tx Tx, c rewards.UserChange) (rewards.UserOutcome, error) {
	const attempts = 10 // far more than an operator erases in a transaction
	for range attempts {
		u, found, err := fetchOne(ctx, tx, scanUser, userByID, c.AppID[:], c.UserID[:])
		if err != nil {
			return rewards.UserOutcome{}, err
		}
		if !found {
			return rewards.UserOutcome{Refused: errNoUser()}, nil
		}
		byEmail, byExternalID, err := othersWith(ctx, tx, c)
		if err != nil {
			return rewards.UserOutcome{}, err
		}
		outcome := c.Decide(u, byEmail, byExternalID)
		if outcome.User.ID.IsZero() {
			return outcome, nil
		}
		changed, err := setContact(ctx, tx, u, outcome.User)
		if err != nil || changed {
			return outcome, err
		}
	}
	return rewards.UserOutcome{}, rewards.Unavailable("the user is being changed", nil)
}

// othersWith returns the users who have the change's email and its external id. A zero id is
// nobody.
func othersWith(ctx context.Context, tx Tx, c rewards.UserChange) (byEmail, byExternalID rewards.UserID, err error) {
	var holders [2]rewards.User
	for i, by := range []struct {
		value *string
		query string
		fold  func(string) string
	}{
		{c.Email, userByEmail, rewards.FoldEmail},
		{c.ExternalID, userByExternalID, func(id string) string { return id }},
	} {
		if by.value == nil || *by.value == "" {
			continue
		}
		if holders[i], _, err = fetchOne(ctx, tx, scanUser, by.query, c.AppID[:], by.fold(*by.value)); err != nil {
			break
		}
	}
	return holders[0].ID, holders[1].ID, err
}

// setContact stores a user's email and external id, unless they are not those of before any more.
func setContact(ctx context.Context, tx Tx, before, u rewards.User) (changed bool, err error) {
	seal := u.Seal()
	n, err := tx.Exec(ctx, `UPDATE users SET email = ?3, email_folded = ?4, external_id = ?5, seal = ?6
		WHERE app_id = ?1 AND id = ?2 AND email = ?7 AND external_id = ?8`, u.AppID[:], u.ID[:], u.Email,
		rewards.FoldEmail(u.Email), u.ExternalID, seal[:], before.Email, before.ExternalID)
	return n == 1, err
}

// UserOfAnyApp returns a user, or fails with CodeNotFound. It is for operators.
func (s *Store) UserOfAnyApp(ctx context.Context, id rewards.UserID) (rewards.User, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (rewards.User, error) { return findUser(ctx, tx, id) })
}

// findUser looks for a user in each app.
func findUser(ctx context.Context, tx Tx, id rewards.UserID) (rewards.User, error) {
	apps, err := queryApps(ctx, tx)
	if err != nil {
		return rewards.User{}, err
	}
	for _, a := range apps {
		u, found, err := fetchOne(ctx, tx, scanUser, userByID, a.ID[:], id[:])
		if err != nil || found {
			return u, err
		}
	}
	return rewards.User{}, errNoUser()
}

// EraseUser erases the email and the external id of a user of any app. The user's rewards and
// holdings stay. It does nothing to a user who is erased, and fails with CodeNotFound. The operator
// log has neither of the two.
func (o *Operator) EraseUser(ctx context.Context, id rewards.UserID) (rewards.User, error) {
	var u rewards.User
	err := o.change(ctx, func(ctx context.Context, tx Tx) (_ []rewards.Change, err error) {
		if u, err = findUser(ctx, tx, id); err != nil {
			return nil, err
		}
		before := u.State()
		u.Email, u.ExternalID = "", ""
		seal := u.Seal()
		_, err = tx.Exec(ctx, `UPDATE users SET email = '', email_folded = '', external_id = '', seal = ?3
			WHERE app_id = ?1 AND id = ?2`, u.AppID[:], u.ID[:], seal[:])
		return []rewards.Change{{Object: u.Object(), Before: before, After: u.State()}}, err
	})
	return u, err
}
