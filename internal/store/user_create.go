package store

import (
	"context"
	"fmt"

	"stockrewards/internal/rewards"
)

// CreateUser stores one user, as CreateUsers does, durably.
func (s *Store) CreateUser(ctx context.Context, u rewards.User) (rewards.User, error) {
	outcomes, err := s.CreateUsers(ctx, []rewards.User{u})
	if err == nil {
		err = s.Durable(ctx)
	}
	if err != nil {
		return rewards.User{}, err
	}
	return outcomes[0].Answer()
}

// CreateUsers answers requests to create users in one transaction (see Durable), as if they had come one by
// one in the order of batch, even when an email occurs twice. After an error no user is stored;
// with CodeUnavailable that is unknown. A row that cannot be stored fails the whole batch: the
// caller retries in smaller batches. A duplicate is reported after a commit too, so that the
// client can rely on the other user. When the outcome of a commit is unknown it is retried with
// the same ids.
func (s *Store) CreateUsers(ctx context.Context, batch []rewards.User) ([]rewards.UserOutcome, error) {
	if err := s.CheckClock(); err != nil {
		return nil, err
	}
	c := &userBatch{batch: make([]rewards.User, len(batch)), outcomes: make([]rewards.UserOutcome, len(batch))}
	var apps []rewards.AppID
	for i := range batch {
		apps = addApp(apps, batch[i].AppID)
	}
	err := untilKnown(ctx, func() error {
		return s.engine.WriteOf(ctx, apps, func(ctx context.Context, tx Tx) error {
			for i, u := range batch {
				// Ids are made once, in this process's turn, so that they grow from commit to commit.
				if u.ID = c.batch[i].ID; u.ID.IsZero() {
					u.ID = rewards.NewID[rewards.User](s.ids)
				}
				c.batch[i], c.outcomes[i] = u, rewards.UserOutcome{}
			}
			if err := c.run(ctx, tx); err != nil {
				return fmt.Errorf("store: cannot create users: %w", err)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	for i := range c.outcomes {
		if u := &c.outcomes[i].User; !u.ID.IsZero() {
			s.known.add(userKey{u.AppID, u.ID})
		}
	}
	return c.outcomes, nil
}

// userBatch is a batch of users to create.
type userBatch struct {
	batch    []rewards.User // with their ids
	outcomes []rewards.UserOutcome
}

func (c *userBatch) run(ctx context.Context, tx Tx) error {
	if _, columns := tx.(ColumnTx); columns {
		return c.byColumn(ctx, tx)
	}
	return c.byRow(ctx, tx)
}

// byRow creates one user after the other.
func (c *userBatch) byRow(ctx context.Context, tx Tx) error {
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
			if holders[n], _, err = fetchOne(ctx, tx, scanUser, by.query, u.AppID[:], by.value); err != nil {
				return err
			}
		}
		if err := c.refuse(i, holders[0].ID, holders[1].ID); err != nil {
			return err
		}
	}
	return nil
}

// refuse answers a request whose user was not inserted.
func (c *userBatch) refuse(i int, byEmail, byExternalID rewards.UserID) error {
	outcome, ok := c.batch[i].NotStored(byEmail, byExternalID)
	if !ok {
		return errUserNotStored
	}
	c.outcomes[i] = outcome
	return nil
}
