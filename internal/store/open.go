package store

import (
	"context"

	"stockrewards/internal/rewards"
)

// A reward that is not final is open, and has a row in open_rewards. Over SQLite the newest
// rewards, the arrivals, come into that table later, many at once: a commit of new rewards then
// changes no page for each of their stocks (see LAYOUT.md).

// mostArrivals is how many rewards, about, are at most not in open_rewards yet. Until an older store is
// indexed in segments, its ids need not grow with the numbers, so each commit sorts its rewards.
func (s *Store) mostArrivals() int64 {
	const most = 1024
	if s.index.loaded() != indexInSegments {
		return 1
	}
	return most
}

// sortArrivals moves the arrivals to open_rewards, if there are that many. Over PostgreSQL there are
// none.
func sortArrivals(ctx context.Context, tx Tx, atLeast int64) error {
	if _, columns := tx.(ColumnTx); columns {
		return nil
	}
	var n int64
	if _, err := fetchValues(ctx, tx, []any{&n}, `SELECT coalesce((SELECT max(rowid) FROM rewards), 0) - number
		FROM arrivals_after`); err != nil || n < atLeast {
		return err
	}
	// NOT INDEXED: they are found by their numbers. All of them wait: cancel sorts them first.
	_, err := tx.Exec(ctx, `INSERT INTO open_rewards (app_id, id, asset_id, status, waiting, pending)
		SELECT app_id, id, asset_id, status, 1, amount FROM rewards NOT INDEXED
		WHERE rowid > (SELECT number FROM arrivals_after) ORDER BY app_id, id`)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE arrivals_after SET number = (SELECT max(rowid) FROM rewards),
		id = max(id, (SELECT max(r.id) FROM rewards r NOT INDEXED WHERE r.rowid > arrivals_after.number))`)
	return err
}

// openOf selects of_id, the newest open rewards of the app ?1 that meet a condition. Each of its two
// parts ends at the limit: PostgreSQL would read and sort all of them.
func openOf(condition, limit string) string {
	newest := ` WHERE app_id = ?1 AND ` + condition + ` ORDER BY id DESC LIMIT ` + limit
	return `SELECT of_id FROM (SELECT id AS of_id FROM open_rewards` + newest + `) AS known
		UNION ALL SELECT of_id FROM (SELECT id AS of_id FROM arrivals` + newest + `) AS arrived
		ORDER BY of_id DESC LIMIT ` + limit
}

// bookStatuses books what an order made of its rewards: final ones are no longer open, the others
// wait again. Nobody buys more than was awarded: over SQLite by the CHECKs of the tables, over PostgreSQL by
// conditions here, because it would read CHECKs again for each batch of new rewards.
func bookStatuses(
	ctx context.Context, tx Tx, o rewards.Order, claims []claim, results []rewards.Result,
) error {
	stored := make([][]any, len(results))
	var ended, again [][]any
	for i := range results {
		r := &results[i]
		status := r.Status
		if r.Waits() {
			status = rewards.Recorded
			again = append(again, []any{r.AppID[:], r.RewardID[:], int64(r.Bought.Amount)})
		} else {
			ended = append(ended, []any{r.AppID[:], r.RewardID[:]})
		}
		stored[i] = []any{
			r.AppID[:], r.RewardID[:], int64(status), int64(r.Bought.Amount), micros(r.ExecutedAt), r.Reason,
			placeOf(o, i), int64(r.Bought.Shares), claims[i].reward,
		}
	}
	// LATERAL as in insertMembers.
	const ordered = ` AND status = ` + executing + ` AND waiting = 0`
	closed, err := execRows(ctx, tx, `DELETE FROM open_rewards WHERE app_id = ?1 AND id = ?2`+ordered,
		`DELETE FROM open_rewards r USING unnest(?1::bytea[], ?2::bytea[]) AS b (app_id, id)
		CROSS JOIN LATERAL (SELECT ctid AS place FROM open_rewards
			WHERE app_id = b.app_id AND id = b.id`+ordered+` OFFSET 0) AS found
		WHERE r.ctid = found.place`, ended)
	if err != nil {
		return err
	}
	waiting, err := execRows(ctx, tx, `UPDATE open_rewards SET waiting = 1, pending = pending - ?3
		WHERE app_id = ?1 AND id = ?2`+ordered, `UPDATE open_rewards r SET waiting = 1, pending = r.pending - b.amount
		FROM unnest(?1::bytea[], ?2::bytea[], ?3::bigint[]) AS b (app_id, id, amount)
		CROSS JOIN LATERAL (SELECT ctid AS place FROM open_rewards
			WHERE app_id = b.app_id AND id = b.id`+ordered+` OFFSET 0) AS found
		WHERE r.ctid = found.place AND r.pending > b.amount`, again)
	if err != nil {
		return err
	}
	n, err := execRows(ctx, tx, `UPDATE rewards SET status = ?3, booked = booked + ?4, executed_at = ?5,
		failure_reason = ?6, place = ?7, shares = shares + ?8, room = CASE ?3 WHEN `+recorded+` THEN room ELSE x'' END
		WHERE rowid = ?9 AND app_id = ?1 AND id = ?2 AND status = `+recorded,
		`UPDATE rewards r SET status = b.status, booked = r.booked + b.amount, executed_at = b.executed_at,
		failure_reason = b.reason, place = b.place, shares = r.shares + b.shares
		FROM unnest(?1::bytea[], ?2::bytea[], ?3::bigint[], ?4::bigint[], ?5::bigint[], ?6::text[], ?7::bigint[],
			?8::bigint[], ?9::bigint[]) AS b (app_id, id, status, amount, executed_at, reason, place, shares)
		CROSS JOIN LATERAL (SELECT f.ctid AS place FROM rewards f
			WHERE f.app_id = b.app_id AND f.id = b.id AND f.status = `+recorded+` OFFSET 0) AS found
		WHERE r.ctid = found.place AND r.booked + b.amount BETWEEN 0 AND r.amount`, stored)
	if err == nil && (closed+waiting != int64(len(results)) || n != int64(len(results))) {
		err = errNotExecuting
	}
	return err
}
