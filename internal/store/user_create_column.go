package store

import (
	"context"
	"errors"

	"stockrewards/internal/rewards"
)

// errUserNotStored means that the store contradicts itself: a user without a duplicate was not
// stored.
var errUserNotStored = errors.New("a user was not stored")

// member is a folded email or an external id of an app's user.
type member struct {
	app   rewards.AppID
	value string
}

// byColumn creates all users at once. Rows are inserted in the order of their ids, which is
// the order of the batch: the first of two users gets their common email.
func (c *userBatch) byColumn(ctx context.Context, tx Tx) error {
	n := len(c.batch)
	apps, ids, seals := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	emails, folded, externalIDs := make([]string, n), make([]string, n), make([]string, n)
	place := make(map[rewards.UserID]int, n)
	for i := range c.batch {
		u := &c.batch[i]
		place[u.ID] = i
		apps[i], ids[i], emails[i], externalIDs[i] = u.AppID[:], u.ID[:], u.Email, u.ExternalID
		seal := u.Seal()
		folded[i], seals[i] = rewards.FoldEmail(u.Email), seal[:]
	}
	stored := 0
	err := tx.Query(ctx, func(row Row) error {
		var id rewards.UserID
		err := row.Scan(toID(&id))
		c.outcomes[place[id]].User = c.batch[place[id]]
		stored++
		return err
	}, `INSERT INTO users (`+userColumns+`, email_folded, seal) SELECT n.* FROM unnest(?1::bytea[], ?2::bytea[],
			?3::text[], ?4::text[], ?5::text[], ?6::bytea[]) AS n (app_id, id) ORDER BY n.id
			ON CONFLICT DO NOTHING RETURNING id`,
		apps, ids, emails, externalIDs, folded, seals)
	if err != nil || stored == n {
		return err
	}
	byEmail, err := holders(ctx, tx, `SELECT app_id, id, email_folded FROM users WHERE email_folded <> ''
		AND (app_id, email_folded) IN (SELECT * FROM unnest(?1::bytea[], ?2::text[]))`, apps, folded)
	if err != nil {
		return err
	}
	byExternalID, err := holders(ctx, tx, `SELECT app_id, id, external_id FROM users WHERE external_id <> ''
		AND (app_id, external_id) IN (SELECT * FROM unnest(?1::bytea[], ?2::text[]))`, apps, externalIDs)
	if err != nil {
		return err
	}
	for i := range c.batch {
		if u := &c.batch[i]; c.outcomes[i].User.ID.IsZero() {
			err := c.refuse(i, earlier(place, i, byEmail[member{u.AppID, folded[i]}]),
				earlier(place, i, byExternalID[member{u.AppID, u.ExternalID}]))
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// earlier returns the holder, or nobody when it comes later in the batch than the i-th user.
func earlier(place map[rewards.UserID]int, i int, holder rewards.UserID) rewards.UserID {
	if at, ours := place[holder]; ours && at > i {
		return rewards.UserID{}
	}
	return holder
}

// holders finds the users who have the emails or external ids.
func holders(
	ctx context.Context, tx Tx, query string, apps [][]byte, values []string,
) (map[member]rewards.UserID, error) {
	found := make(map[member]rewards.UserID)
	return found, tx.Query(ctx, func(row Row) error {
		var m member
		var id rewards.UserID
		err := row.Scan(toID(&m.app), toID(&id), &m.value)
		found[m] = id
		return err
	}, query, apps, values)
}
