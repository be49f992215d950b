package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"

	"stockrewards/internal/rewards"
)

// The executed rewards of an app are found by spans of ids that have some. A span is 128 milliseconds, so
// that under load it has many rewards and little is written for each. Whoever lists executed rewards reads
// the rewards of these spans, also those with another status; spans without an executed one are skipped,
// however many rewards wait for the market.

// executedSpan is the part of an app's ids from first until before until; both are the beginnings of ids.
type executedSpan struct {
	app          rewards.AppID
	first, until [idTimeBytes]byte
}

const (
	idTimeBytes = 6   // an id begins with its time in milliseconds
	spanMillis  = 128 // a power of 2
)

// spanOf returns the span of a reward.
func spanOf(app rewards.AppID, id rewards.RewardID) executedSpan {
	const unused = 8 - idTimeBytes
	var b [8]byte
	copy(b[unused:], id[:idTimeBytes])
	first := binary.BigEndian.Uint64(b[:]) &^ (spanMillis - 1)
	s := executedSpan{app: app}
	binary.BigEndian.PutUint64(b[:], first)
	copy(s.first[:], b[unused:])
	binary.BigEndian.PutUint64(b[:], first+spanMillis)
	copy(s.until[:], b[unused:])
	return s
}

func (s *executedSpan) columns() []any { return []any{s.app[:], s.first[:], s.until[:]} }

func addSpans(ctx context.Context, tx Tx, spans [][]any) error {
	const add = `INSERT INTO executed_spans (app_id, first, until) `
	const known = ` ON CONFLICT (app_id, first) DO NOTHING`
	return execRowsLater(ctx, tx, add+`VALUES (?1, ?2, ?3)`+known,
		add+`SELECT * FROM unnest(?1::bytea[], ?2::bytea[], ?3::bytea[])`+known, spans)
}

// executedTo selects of_id, so that the app ?1 has no executed reward after it up to an id. Those of orders that are
// not moved have a past allocation, as have partly bought ones.
func executedTo(id string) string {
	return `SELECT of_id FROM (SELECT CASE WHEN ` + id + ` < s.until THEN ` + id + ` ELSE s.until END AS of_id
			FROM executed_spans s WHERE s.app_id = ?1 AND s.first <= ` + id + ` ORDER BY s.first DESC LIMIT 1) AS moved
		UNION ALL SELECT of_id FROM (SELECT reward_id AS of_id FROM past_allocations
			WHERE app_id = ?1 AND reward_id <= ` + id + ` ORDER BY reward_id DESC LIMIT 1) AS past
		ORDER BY of_id DESC LIMIT 1`
}

// A list reads few spans at first, because under load one of them fills a page, and then ever more of them at once.
const (
	fewSpans  = 2
	mostSpans = 64
)

// executedRewards lists the app's executed rewards before an id, newest first.
func executedRewards(
	ctx context.Context, tx Tx, app rewards.AppID, before []byte, limit int,
) ([]rewards.Reward, error) {
	list, err := fetchAll(ctx, tx, scanRewards(),
		`SELECT `+listColumns+executedPast+` ORDER BY of_id DESC LIMIT ?3 + 0`, app[:], before, limit)
	if err != nil {
		return nil, err
	}
	below, found, atOnce := before, 0, fewSpans
	for more := true; more && found < limit; atOnce = min(2*atOnce, mostSpans) {
		spans, err := fetchAll(ctx, tx, func(row Row) (s executedSpan, err error) {
			err = row.Scan(idScanner{s.first[:]}, idScanner{s.until[:]})
			return s, err
		}, `SELECT first, until FROM executed_spans WHERE app_id = ?1 AND first < ?2 ORDER BY first DESC LIMIT ?3 + 0`,
			app[:], below, atOnce)
		if err != nil {
			return nil, err
		}
		rows, err := executedIn(ctx, tx, app, spans, before, limit-found)
		if err != nil {
			return nil, err
		}
		list, found, more = append(list, rows...), found+len(rows), len(spans) == atOnce
		if more {
			below = spans[len(spans)-1].first[:]
		}
	}
	slices.SortFunc(list, func(a, b rewards.Reward) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return list[:min(limit, len(list))], nil
}

// executedIn lists at most limit executed rewards of spans before an id, newest first.
func executedIn(
	ctx context.Context, tx Tx, app rewards.AppID, spans []executedSpan, before []byte, limit int,
) (list []rewards.Reward, err error) {
	if _, columns := tx.(ColumnTx); columns {
		firsts, untils := make([][]byte, len(spans)), make([][]byte, len(spans))
		for i := range spans {
			firsts[i], untils[i] = spans[i].first[:], spans[i].until[:]
		}
		return fetchAll(ctx, tx, scanRewards(), `SELECT `+listColumns+`
			FROM unnest(?4::bytea[], ?5::bytea[]) AS s (first, until)
			CROSS JOIN LATERAL (SELECT * FROM rewards r WHERE r.app_id = ?1 AND r.id >= s.first AND r.id < s.until
				AND r.id < ?2 AND r.status = `+executed+` ORDER BY r.id DESC LIMIT ?3) AS rewards
			ORDER BY id DESC LIMIT ?3`, app[:], before, limit, firsts, untils)
	}
	for i := range spans {
		if len(list) == limit {
			break
		}
		rows, err := fetchAll(ctx, tx, scanRewards(), `SELECT `+listColumns+` FROM rewards WHERE app_id = ?1
			AND id >= ?4 AND id < ?5 AND +id < ?2 AND status = `+executed+` ORDER BY id DESC LIMIT ?3 + 0`,
			app[:], before, limit-len(list), spans[i].first[:], spans[i].until[:])
		if err != nil {
			return nil, err
		}
		list = append(list, rows...)
	}
	return list, nil
}

// executedPast finds the executed rewards of an app before an id that orders of an earlier version bought, apart from
// those in spans. Each has an allocation; the last one represents it. CROSS makes SQLite walk the
// allocations, in the order of of_id, instead of all rewards.
const executedPast = ` FROM (SELECT a.app_id AS of_app, a.reward_id AS of_id FROM past_allocations a
		WHERE a.app_id = ?1 AND a.reward_id < ?2 AND NOT EXISTS (SELECT 1 FROM past_allocations later
			WHERE later.app_id = a.app_id AND later.reward_id = a.reward_id AND later.order_id > a.order_id)) AS bought
	CROSS JOIN rewards WHERE app_id = of_app AND id = of_id AND id < ?2 AND status = ` + executed + `
		AND NOT coalesce((SELECT s.until > of_id FROM executed_spans s WHERE s.app_id = ?1 AND s.first <= of_id
			ORDER BY s.first DESC LIMIT 1), false)`

// countExecuted counts the executed rewards of an app up to a limit.
func countExecuted(ctx context.Context, tx Tx, app rewards.AppID, limit int) (int, error) {
	of := `executed_spans s CROSS JOIN rewards r WHERE s.app_id = ?1 AND r.app_id = ?1
		AND r.id >= s.first AND r.id < s.until AND r.status = ` + executed + ` ORDER BY s.first DESC`
	if _, columns := tx.(ColumnTx); columns {
		of = `executed_spans s CROSS JOIN LATERAL (SELECT 1 FROM rewards r WHERE r.app_id = ?1 AND r.id >= s.first
			AND r.id < s.until AND r.status = ` + executed + ` OFFSET 0) AS r WHERE s.app_id = ?1 ORDER BY s.first DESC`
	}
	var moved, past int
	_, err := fetchValues(ctx, tx, []any{&moved}, `SELECT count(*) FROM (SELECT 1 FROM `+of+` LIMIT ?2 + 0) AS counted`,
		app[:], limit)
	if err != nil || moved == limit {
		return moved, err
	}
	_, err = fetchValues(ctx, tx, []any{&past},
		`SELECT count(*) FROM (SELECT 1`+executedPast+` LIMIT ?3 + 0) AS counted`,
		app[:], before(rewards.RewardID{}), limit)
	return min(moved+past, limit), err
}
