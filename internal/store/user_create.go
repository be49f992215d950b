package store

import (
	"context"
	"fmt"

	"stockrewards/internal/rewards"
)

// CreateUser stores one user, as CreateUsers does.
func (s *Store) CreateUser(ctx context.Context, u rewards.User) (rewards.User, error) {
	outcomes, err := s.CreateUsers(ctx, []rewards.User{u})
	if err != nil {
		return rewards.User{}, err
	}
	return outcomes[0].Answer()
}

// CreateUsers answers requests to create users in one transaction, as if they had come
// one by one in the order given: also when an email occurs twice among them. An error
// means that no user was stored (or, with CodeUnavailable, that it is not known); a single
// row that cannot be stored fails them all, and the caller tries them in smaller groups.
// That an email or an external id is taken is reported after a commit: the client may
// learn only from this answer that such a user exists.
//
// When it is not known whether it was committed it is run again: its own rows have the
// ids that it gave them.
func (s *Store) CreateUsers(ctx context.Context, batch []rewards.User) ([]rewards.UserOutcome, error) {
	if err := s.CheckClock(); err != nil {
		return nil, err
	}
	c := &creating{batch: make([]rewards.User, len(batch)), outcomes: make([]rewards.UserOutcome, len(batch))}
	err := untilKnown(ctx, func() error {
		return s.engine.WriteForClients(ctx, func(ctx context.Context, tx Tx) error {
			for i, u := range batch {
				if u.ID = c.batch[i].ID; u.ID.IsZero() { // given once, in this process's turn
					u.ID = rewards.NewID[rewards.User](s.ids)
				}
				c.batch[i], c.outcomes[i] = u, rewards.UserOutcome{}
			}
			if err := c.run(ctx, tx); err != nil {
				return fmt.Errorf("store: create users: %w", err)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return c.outcomes, nil
}

// creating is a batch of users on its way into the books.
type creating struct {
	batch    []rewards.User // with the ids that they get
	outcomes []rewards.UserOutcome
}

func (c *creating) run(ctx context.Context, tx Tx) error {
	if _, far := tx.(ColumnTx); far {
		return c.byColumn(ctx, tx)
	}
	return c.byRow(ctx, tx)
}

// byRow creates one after the other.
func (c *creating) byRow(ctx context.Context, tx Tx) error {
	for i := range c.batch {
		u := &c.batch[i]
		seal := u.Seal()
		inserted, err := tx.Exec(ctx, `INSERT INTO users (`+userColumns+`, email_folded, seal)
			VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING`,
			u.AppID[:], u.ID[:], u.Email, u.ExternalID, rewards.FoldEmail(u.Email), seal[:])
		if err != nil {
			return err
		}
		if inserted == 1 {
			c.outcomes[i].User = *u
			continue
		}
		var holders [2]rewards.User
		for n, by := range []struct{ value, query string }{
			{rewards.FoldEmail(u.Email), userByEmail}, {u.ExternalID, userByExternalID},
		} {
			if by.value == "" {
				continue
			}
			if holders[n], _, err = findUser(ctx, tx, by.query, u.AppID[:], by.value); err != nil {
				return err
			}
		}
		if err := c.refuse(i, holders[0].ID, holders[1].ID); err != nil {
			return err
		}
	}
	return nil
}

// refuse decides on a user that was not inserted, by those who have its members.
func (c *creating) refuse(i int, byEmail, byExternalID rewards.UserID) error {
	outcome, ok := c.batch[i].NotStored(byEmail, byExternalID)
	if !ok {
		return errUserNotStored
	}
	c.outcomes[i] = outcome
	return nil
}
