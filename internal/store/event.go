package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// addEvents adds rows to the log, in the transaction of what they report. Last of each row counts from
// the first sequence that the transaction takes. It must be the last step of a transaction: it locks the
// counter until the commit, so that sequences are in the order of the commits, whichever process writes.
func addEvents(ctx context.Context, tx Tx, now time.Time, list []rewards.EventRow) error {
	if len(list) == 0 {
		return nil
	}
	width := int64(0)
	for _, r := range list {
		width = max(width, r.Last+1)
	}
	var last int64
	_, err := fetchValues(ctx, tx, []any{&last}, `UPDATE event_counter SET last = ?2 +
		CASE WHEN last >= ?1 THEN last ELSE ?1 - 1 END WHERE "only" = 1 RETURNING last`,
		rewards.LeastSequence(now), width)
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Last += last - width + 1
	}
	return insertEvents(ctx, tx, list)
}

// addEvent adds one event of an app to the log, as addEvents does. subject is the id of what it is about.
func (s *Store) addEvent(
	ctx context.Context, tx Tx, app rewards.AppID, kind rewards.EventType, subject []byte,
) error {
	now := s.now()
	return addEvents(ctx, tx, now, []rewards.EventRow{{AppID: app, Types: kind, Subject: subject, At: now}})
}

func insertEvents(ctx context.Context, tx Tx, list []rewards.EventRow) error {
	rows := make([][]any, len(list))
	for i, r := range list {
		rows[i] = []any{
			r.AppID[:], r.Last, int64(r.Types), r.Subject, rewards.AppendPositions([]byte{}, r.Positions), micros(r.At),
		}
	}
	return execRowsLater(ctx, tx, `INSERT INTO events (app_id, last, types, subject, positions, at)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6)`, `INSERT INTO events (app_id, last, types, subject, positions, at)
		SELECT * FROM unnest(?1::bytea[], ?2::bigint[], ?3::bigint[], ?4::bytea[], ?5::bytea[], ?6::bigint[])`, rows)
}

// addActionEvents adds the events of changes of actions, one for each app that sees the action.
func (s *Store) addActionEvents(ctx context.Context, tx Tx, changes ...rewards.ActionChange) error {
	now := s.now()
	for _, c := range changes {
		kind := c.Event()
		if kind == 0 {
			continue
		}
		list, err := fetchAll(ctx, tx, func(row Row) (r rewards.EventRow, err error) {
			r = rewards.EventRow{Types: kind, Subject: []byte(c.After.ID), At: now}
			err = row.Scan(toID(&r.AppID))
			return r, err
		}, `SELECT DISTINCT app_id FROM app_assets WHERE asset_id = ?1 OR asset_id IN (
			SELECT a.id FROM assets a WHERE a.symbol = ?2 AND ?2 <> ''
			UNION ALL SELECT w.target_id FROM switches w WHERE w.action_id = ?3) ORDER BY app_id`,
			int64(c.After.AssetID), c.After.NewSymbol, c.After.ID)
		if err != nil {
			return err
		}
		if err := addEvents(ctx, tx, now, list); err != nil {
			return err
		}
	}
	return nil
}
