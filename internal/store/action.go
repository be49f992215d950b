package store

import (
	"context"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const actionColumns = `id, asset_id, type, symbol, new_symbol, old_rate, new_rate, rate, ex_date, process_date,
	revision, state, hold_from, first_seen, held_at, resumed_at, reason, note`

func scanAction(row Row) (a rewards.Action, err error) {
	err = row.Scan(&a.ID, (*int64)(&a.AssetID), (*string)(&a.Type), &a.Symbol, &a.NewSymbol, &a.OldRate,
		&a.NewRate, &a.Rate, (*string)(&a.ExDate), (*string)(&a.ProcessDate), &a.Revision, (*int)(&a.State),
		toTime{&a.HoldFrom}, toTime{&a.FirstSeen}, toTime{&a.HeldAt}, toTime{&a.ResumedAt}, &a.Reason, &a.Note)
	return a, err
}

// OpenActions lists the actions that hold an asset now or later, and the withdrawn ones
// whose ex-date has not passed, by ex-date.
func (s *Store) OpenActions(ctx context.Context, today rewards.Date) ([]rewards.Action, error) {
	return readAll(ctx, s, scanAction, `SELECT `+actionColumns+` FROM actions
		WHERE `+activeState+` AND hold_from > 0 OR state = `+withdrawn+` AND ex_date >= ?1 ORDER BY ex_date, id`,
		string(today))
}

// ActionsSince lists the actions that are processed on the day or later, or are not over.
func (s *Store) ActionsSince(ctx context.Context, day rewards.Date) ([]rewards.Action, error) {
	return readAll(ctx, s, scanAction, `SELECT `+actionColumns+` FROM actions
		WHERE process_date >= ?1 OR `+activeState+` ORDER BY id`, string(day))
}

// Actions lists actions for an operator, latest ex-date first. A zero state and an empty
// symbol do not filter.
func (s *Store) Actions(
	ctx context.Context, state rewards.ActionState, symbol string, limit int,
) ([]rewards.Action, error) {
	return readAll(ctx, s, scanAction, `SELECT `+actionColumns+` FROM actions
		WHERE (?1 = 0 OR state = ?1) AND (?2 = '' OR symbol = ?2 OR new_symbol = ?2)
		ORDER BY ex_date DESC, id LIMIT ?3`, int64(state), symbol, int64(limit))
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
func (s *Store) LastBodies(ctx context.Context, day rewards.Date) (map[string]string, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (map[string]string, error) {
		bodies := make(map[string]string)
		return bodies, tx.Query(ctx, func(row Row) error {
			var id, body string
			err := row.Scan(&id, &body)
			bodies[id] = body
			return err
		}, `SELECT n.action_id, n.body FROM actions a
			JOIN announcements n ON n.action_id = a.id AND n.revision = a.revision
			WHERE a.process_date >= ?1 OR a.`+activeState, string(day))
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
		return nil
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
	_, err := tx.Exec(ctx, `INSERT INTO actions (`+actionColumns+`) VALUES
		(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)`,
		a.ID, int64(a.AssetID), string(a.Type), a.Symbol, a.NewSymbol, a.OldRate, a.NewRate, a.Rate,
		string(a.ExDate), string(a.ProcessDate), a.Revision, int(a.State), micros(a.HoldFrom),
		micros(a.FirstSeen), micros(a.HeldAt), micros(a.ResumedAt), a.Reason, a.Note)
	return err
}

func updateAction(ctx context.Context, tx Tx, before, a rewards.Action) error {
	n, err := tx.Exec(ctx, `UPDATE actions SET type = ?4, symbol = ?5, new_symbol = ?6, old_rate = ?7, new_rate = ?8,
		rate = ?9, ex_date = ?10, process_date = ?11, revision = ?12, state = ?13, hold_from = ?14, held_at = ?15,
		resumed_at = ?16, reason = ?17, note = ?18 WHERE id = ?1 AND state = ?2 AND revision = ?3`,
		a.ID, int(before.State), before.Revision, string(a.Type), a.Symbol, a.NewSymbol, a.OldRate, a.NewRate,
		a.Rate, string(a.ExDate), string(a.ProcessDate), a.Revision, int(a.State), micros(a.HoldFrom),
		micros(a.HeldAt), micros(a.ResumedAt), a.Reason, a.Note)
	if err == nil && n == 0 {
		err = rewards.ErrStale
	}
	return err
}

// holdAsset derives an asset's hold from its actions. A hold that has begun is in force
// even if the clock is set back: it starts at the first microsecond.
func holdAsset(ctx context.Context, tx Tx, id rewards.AssetID) error {
	_, err := tx.Exec(ctx, `UPDATE assets SET hold_from = coalesce((SELECT
		min(CASE WHEN a.state = `+held+` THEN 1 ELSE a.hold_from END) FROM actions a
		WHERE a.asset_id = ?1 AND a.`+activeState+` AND a.hold_from > 0), 0) WHERE id = ?1`, int64(id))
	return err
}

// AssetHold returns since when corporate actions hold an asset.
func (s *Store) AssetHold(ctx context.Context, id rewards.AssetID) (h rewards.ActionHold, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		_, err := fetchValues(ctx, tx, []any{toTime{&h.From}}, `SELECT hold_from FROM assets WHERE id = ?1`, int64(id))
		return err
	})
	return h, err
}

// ResumeAction ends the hold of an action. It accepts the asset's last price and the current
// difference between the broker's position and ours. Repeating it changes nothing. It fails
// with CodeNotFound, and with CodeConflict when the action holds nothing.
func (o *Operator) ResumeAction(ctx context.Context, id string) (r Resumed, err error) {
	err = o.change(ctx, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		before, err := actionByID(ctx, tx, id)
		if r = (Resumed{Action: before}); err != nil || before.State == rewards.ActionResumed {
			return nil, err
		}
		if r.Action, err = before.Resume(o.by.Reason, o.now()); err != nil {
			return nil, err
		}
		if err := updateAction(ctx, tx, before, r.Action); err != nil {
			return nil, err
		}
		if err := holdAsset(ctx, tx, before.AssetID); err != nil {
			return nil, err
		}
		if err := r.acceptUnits(ctx, tx); err != nil {
			return nil, err
		}
		return []rewards.Change{{Object: before.Object(), Before: before.Decided(), After: r.Action.Decided()}}, nil
	})
	return r, err
}

// Resumed is an action whose hold an operator ended, and what was accepted with it.
type Resumed struct {
	Action  rewards.Action
	Price   money.Price  // the last one; 0: unknown
	Differs money.Shares // the broker's position minus ours
	Hold    rewards.ActionHold
	Doubt   rewards.Doubt
}

// acceptUnits accepts the last price and the broker's position.
func (r *Resumed) acceptUnits(ctx context.Context, tx Tx) error {
	id := int64(r.Action.AssetID)
	for _, statement := range []string{
		`UPDATE prices SET accepted = price WHERE asset_id = ?1 AND price > 0`,
		`UPDATE positions SET accepted = differs WHERE asset_id = ?1`,
	} {
		if _, err := tx.Exec(ctx, statement, id); err != nil {
			return err
		}
	}
	_, err := fetchValues(ctx, tx, []any{
		toTime{&r.Hold.From},
		toTime{&r.Doubt.Since},
		(*int64)(&r.Doubt.Price), (*int64)(&r.Price),
		(*int64)(&r.Differs),
	}, `SELECT a.hold_from, a.doubt_since, a.doubt_price, coalesce(p.price, 0), coalesce(q.differs, 0) FROM assets a
		LEFT JOIN prices p ON p.asset_id = a.id LEFT JOIN positions q ON q.asset_id = a.id WHERE a.id = ?1`, id)
	return err
}
