package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

const actionColumns = `id, asset_id, type, symbol, new_symbol, old_rate, new_rate, rate, ex_date, process_date,
	pay_date, revision, state, boundary, hold_from, first_seen, held_at, decided_at, approved_at, applied_at, reason,
	note, waits_for`

func scanAction(row Row) (a rewards.Action, err error) {
	err = row.Scan(&a.ID, (*int64)(&a.AssetID), (*string)(&a.Type), &a.Symbol, &a.NewSymbol, &a.OldRate,
		&a.NewRate, &a.Rate, (*string)(&a.ExDate), (*string)(&a.ProcessDate), (*string)(&a.PayDate), &a.Revision,
		(*int)(&a.State), toTime{&a.Boundary}, toTime{&a.HoldFrom}, toTime{&a.FirstSeen}, toTime{&a.HeldAt},
		toTime{&a.DecidedAt}, toTime{&a.ApprovedAt}, toTime{&a.AppliedAt}, &a.Reason, &a.Note, &a.WaitsFor)
	return a, err
}

// noted is for how many days after the ex-date OpenActions lists an action that is over.
const noted = 10

// OpenActions lists by ex-date the actions that are not over, the withdrawn ones whose ex-date has
// not passed, and the swept ones of the last days that have a note.
func (s *Store) OpenActions(ctx context.Context, today rewards.Date) ([]rewards.Action, error) {
	return readAll(ctx, s, scanAction, `SELECT `+actionColumns+` FROM actions
		WHERE `+activeState+` OR state = `+withdrawn+` AND ex_date >= ?1
		OR state = `+swept+` AND note <> '' AND ex_date >= ?2 ORDER BY ex_date, id`, string(today),
		string(today.Plus(-noted)))
}

// ActionsSince lists the actions that are processed on the day or later, are not over, or have one of the ids.
func (s *Store) ActionsSince(ctx context.Context, day rewards.Date, ids []string) ([]rewards.Action, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) ([]rewards.Action, error) {
		return fetchAll(ctx, tx, scanAction, `SELECT `+actionColumns+` FROM actions
			WHERE id IN (SELECT value FROM `+listedStrings(tx)+` AS l) OR process_date >= ?2 OR `+activeState+`
			ORDER BY id`,
			stringsArg(tx, ids), string(day))
	})
}

// Actions lists actions for an operator, latest ex-date first. A zero state and an empty
// symbol do not filter.
func (s *Store) Actions(
	ctx context.Context, state rewards.ActionState, symbol string, limit int,
) ([]rewards.Action, error) {
	return readAll(ctx, s, scanAction, `SELECT `+actionColumns+` FROM actions
		WHERE (?1 = 0 OR state = ?1) AND (?2 = '' OR symbol = ?2 OR new_symbol = ?2)
		ORDER BY ex_date DESC, id LIMIT ?3 + 0`, int64(state), symbol, int64(limit))
}

// Announcement is one revision of a broker's announcement.
type Announcement struct {
	Revision int
	Body     string // as received
	SeenAt   time.Time
}

func scanAnnouncement(row Row) (n Announcement, err error) {
	err = row.Scan(&n.Revision, &n.Body, toTime{&n.SeenAt})
	return n, err
}

// Action finds an action and its announcements, newest first. It fails with CodeNotFound.
func (s *Store) Action(ctx context.Context, id string) (a rewards.Action, list []Announcement, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		if a, err = actionByID(ctx, tx, id); err != nil {
			return err
		}
		list, err = fetchAll(ctx, tx, scanAnnouncement,
			`SELECT revision, body, seen_at FROM announcements WHERE action_id = ?1 ORDER BY revision DESC`, id)
		return err
	})
	return a, list, err
}

// LastBodies returns the newest announcement, by action id, of the actions that
// ActionsSince lists.
func (s *Store) LastBodies(ctx context.Context, day rewards.Date, ids []string) (map[string]string, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (map[string]string, error) {
		bodies := make(map[string]string)
		return bodies, tx.Query(ctx, func(row Row) error {
			var id, body string
			err := row.Scan(&id, &body)
			bodies[id] = body
			return err
		}, `SELECT n.action_id, n.body FROM actions a
			JOIN announcements n ON n.action_id = a.id AND n.revision = a.revision
			WHERE a.id IN (SELECT value FROM `+listedStrings(tx)+` AS l) OR a.process_date >= ?2 OR a.`+activeState,
			stringsArg(tx, ids), string(day))
	})
}

func actionByID(ctx context.Context, tx Tx, id string) (rewards.Action, error) {
	a, found, err := fetchOne(ctx, tx, scanAction, `SELECT `+actionColumns+` FROM actions WHERE id = ?1`, id)
	if err == nil && !found {
		err = notFound("no corporate action with that id")
	}
	return a, err
}

// ChangeActions stores changes of actions, all or none, and updates the holds of their
// assets. It fails with ErrStale when an action changed in the meantime, and with ErrLostLease.
func (s *Store) ChangeActions(ctx context.Context, l rewards.Lease, changes []rewards.ActionChange) error {
	return s.writeFenced(ctx, l, func(ctx context.Context, tx Tx) error {
		for _, c := range changes {
			if err := s.changeAction(ctx, tx, c); err != nil {
				return err
			}
		}
		return s.addActionEvents(ctx, tx, changes...)
	})
}

func (s *Store) changeAction(ctx context.Context, tx Tx, c rewards.ActionChange) error {
	var err error
	if c.Before.ID == "" {
		err = insertAction(ctx, tx, c.After)
	} else {
		err = updateAction(ctx, tx, c.Before, c.After)
	}
	if err == nil && c.Body != "" {
		_, err = tx.Exec(ctx, `INSERT INTO announcements (action_id, revision, body, seen_at)
			VALUES (?1, ?2, ?3, ?4)`, c.After.ID, c.After.Revision, c.Body, micros(s.now()))
	}
	if err != nil {
		return err
	}
	return holdAsset(ctx, tx, c.After.AssetID)
}

func insertAction(ctx context.Context, tx Tx, a rewards.Action) error {
	_, err := tx.Exec(ctx, `INSERT INTO actions (`+actionColumns+`) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
		?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)`,
		a.ID, int64(a.AssetID), string(a.Type), a.Symbol, a.NewSymbol, a.OldRate, a.NewRate, a.Rate,
		string(a.ExDate), string(a.ProcessDate), string(a.PayDate), a.Revision, int(a.State), micros(a.Boundary),
		micros(a.HoldFrom), micros(a.FirstSeen), micros(a.HeldAt), micros(a.DecidedAt), micros(a.ApprovedAt),
		micros(a.AppliedAt), a.Reason, a.Note, a.WaitsFor)
	return err
}

func updateAction(ctx context.Context, tx Tx, before, a rewards.Action) error {
	n, err := tx.Exec(ctx, `UPDATE actions SET type = ?4, symbol = ?5, new_symbol = ?6, old_rate = ?7, new_rate = ?8,
		rate = ?9, ex_date = ?10, process_date = ?11, pay_date = ?12, revision = ?13, state = ?14, boundary = ?15,
		hold_from = ?16, held_at = ?17, decided_at = ?18, approved_at = ?19, applied_at = ?20, reason = ?21, note = ?22,
		waits_for = ?23 WHERE id = ?1 AND state = ?2 AND revision = ?3 AND approved_at = ?24`,
		a.ID, int(before.State), before.Revision, string(a.Type), a.Symbol, a.NewSymbol, a.OldRate, a.NewRate,
		a.Rate, string(a.ExDate), string(a.ProcessDate), string(a.PayDate), a.Revision, int(a.State),
		micros(a.Boundary), micros(a.HoldFrom), micros(a.HeldAt), micros(a.DecidedAt), micros(a.ApprovedAt),
		micros(a.AppliedAt), a.Reason, a.Note, a.WaitsFor, micros(before.ApprovedAt))
	return staleIf(n == 0, err)
}

// holdAsset derives an asset's hold from its actions.
func holdAsset(ctx context.Context, tx Tx, id rewards.AssetID) error {
	active, err := fetchAll(ctx, tx, scanAction, `SELECT `+actionColumns+` FROM actions
		WHERE `+activeState+` AND hold_from > 0 AND asset_id = ?1`, int64(id))
	if err != nil {
		return err
	}
	h := rewards.HoldOf(active)
	pending := []any{int64(id), micros(h.Units.From), h.Units.Ratio.Old, h.Units.Ratio.New}
	// A price from a trade in units that become known only now is in unknown units.
	_, err = tx.Exec(ctx, `UPDATE prices SET price = 0, traded_at = 0 WHERE asset_id = ?1 AND traded_at >= ?2 AND ?2 > 0
		AND NOT EXISTS (SELECT 1 FROM assets WHERE id = ?1 AND pending_from = ?2 AND pending_old = ?3
			AND pending_new = ?4)`, pending...)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE assets SET pending_from = ?2, pending_old = ?3, pending_new = ?4, hold_from = ?5
		WHERE id = ?1`, append(pending, micros(h.From))...)
	return err
}

// renewHolds derives the holds of all assets: an earlier version may have stored them otherwise.
func renewHolds(ctx context.Context, tx Tx) error {
	held, err := fetchAll(ctx, tx, func(row Row) (id rewards.AssetID, err error) {
		err = row.Scan((*int64)(&id))
		return id, err
	}, `SELECT DISTINCT asset_id FROM actions WHERE `+activeState+` AND hold_from > 0`)
	if err != nil {
		return err
	}
	for _, id := range held {
		if err := holdAsset(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

// AssetHold returns since when corporate actions hold an asset.
func (s *Store) AssetHold(ctx context.Context, id rewards.AssetID) (h rewards.ActionHold, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		_, err := fetchValues(ctx, tx, []any{toTime{&h.From}}, `SELECT hold_from FROM assets WHERE id = ?1`, int64(id))
		return err
	})
	return h, err
}
