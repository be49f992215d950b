package store

import (
	"context"
	"slices"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// Where the row of a reward is. To find a hundred rewards of a large store by their ids takes four times as long as to
// read them where they are, because each has its own page of the primary key. A final reward is not changed any more.
// So when a segment is sealed, the blocks of its keys and of its users get the rows of those that are final. A table
// that was written again, as by VACUUM FULL, is another file, for which they are not used. Whoever finds another reward
// in a row all the same, or none, looks for the id.

// fileOfRewards is the number of the table's file.
const fileOfRewards = `pg_relation_filenode('rewards')::bigint`

// pagesOfRewards is how many pages the table has.
const pagesOfRewards = `pg_relation_size('rewards') / current_setting('block_size')::bigint`

// rowsOf reads the rows of a segment's final rewards, except a few that are far from the others. It knows none when an
// earlier version began the segment or the next one. file was the table's file before that.
func (s *Store) rowsOf(ctx context.Context, number int64) (rows segment.Rows, file int64, err error) {
	// Pages: a table may grow by 512 before they are used, and changed rows come later.
	const atOnce, beside, most = 1024, 512, 1 << 18
	first, next, file, err := s.pagesOf(ctx, number)
	if err != nil || first < 0 || next < 0 || next-first > most {
		return nil, file, err
	}
	rows = make(segment.Rows, 0, s.segments.size)
	for from := max(first-beside, 0); from < next+beside; from += atOnce {
		until := min(from+atOnce, next+beside)
		err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
			return only(tx).Query(ctx, func(row Row) error {
				var id, at []byte
				err := row.Scan(toBytes{&id}, toBytes{&at})
				if err == nil {
					rows.Add(segment.ID(id), segment.Row(at))
				}
				return err
			}, `SELECT id, tidsend(ctid) FROM rewards
				WHERE ctid >= ?1::text::tid AND ctid < ?2::text::tid AND segment = ?3 AND status <> `+recorded,
				segment.FirstRow(from).String(), segment.FirstRow(until).String(), number)
		})
		if err != nil {
			return nil, file, err
		}
	}
	rows.Sort()
	return rows, file, nil
}

// pagesOf is how many pages the table had when a segment and the one after it began (-1: not known), and its file now.
func (s *Store) pagesOf(ctx context.Context, number int64) (first, next, file int64, err error) {
	first, next = -1, -1
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		_, err := fetchValues(ctx, tx, []any{&first, &next, &file},
			`SELECT g.page, n.page, `+fileOfRewards+` FROM segments g JOIN segments n ON n.number = g.number + 1
				WHERE g.number = ?1`, number)
		return err
	})
	return first, next, file, err
}

// byRow returns the rows of what was found, in its order; nil when none is known. In a status some rewards do not
// belong to the list, so that nobody would notice a wrong row.
func (u *columnUser) byRow(found *segment.Newest) []segment.Row {
	if u.status != 0 || !slices.ContainsFunc(found.Rows(), segment.Row.Known) {
		return nil
	}
	return found.Rows()
}

// wantedByID and wantedByRow read the rewards ?2 of the app ?1, and those in the rows ?5. The app is in w, and behind
// OFFSET 0: where most apps have a few rewards, the planner would rather read all of the app's.
const (
	wantedByID = `SELECT r.* FROM (SELECT ?1::bytea AS app, unnest(?2::bytea[]) AS wanted) AS w
		JOIN rewards r ON r.app_id = w.app AND r.id = w.wanted`
	wantedByRow = ` UNION ALL SELECT * FROM (
		SELECT * FROM rewards WHERE ctid = ANY(?5::text[]::tid[]) OFFSET 0) AS r WHERE app_id = ?1`
)

// wantedRewards divides rewards into those to read by their ids and those to read by their rows.
func wantedRewards(ids []segment.ID, byRow []segment.Row) (wanted [][]byte, rows []string) {
	for i := range ids {
		if i < len(byRow) && byRow[i].Known() {
			rows = append(rows, byRow[i].String())
		} else {
			wanted = append(wanted, ids[i][:])
		}
	}
	return wanted, rows
}

// areAll reports whether a list has just the rewards of some ids.
func areAll(list []rewards.Reward, ids []segment.ID) bool {
	return slices.EqualFunc(list, ids, func(r rewards.Reward, id segment.ID) bool { return segment.ID(r.ID) == id })
}
