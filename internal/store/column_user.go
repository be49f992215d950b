package store

import (
	"context"
	"slices"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// columnUser lists a user's rewards over PostgreSQL: memory, sealed segments and, of an older store, an index find
// their ids.
type columnUser struct {
	*keySearch

	app    rewards.AppID
	user   rewards.UserID
	status rewards.Status // 0 does not filter
	tx     Tx

	since bool // it met segments that were sealed since the view
}

// someIDs is how many ids are read at least when a status filters.
const someIDs = 256

// ofUserInColumns lists the rewards of a filter with a user, before an id. First it assumes that it knows what other
// processes recorded, and that a few rewards fill the page, which saves exchanges.
func (s *Store) ofUserInColumns(
	ctx context.Context, app rewards.AppID, f rewards.RewardFilter, p rewards.Page[rewards.Reward],
) ([]rewards.Reward, error) {
	s.followOthers(ctx)
	u := columnUser{keySearch: s.segments.search(), app: app, user: *f.UserID, status: f.Status, tx: aloneTx{store: s}}
	if u.view != nil {
		list, all, err := u.first(ctx, p)
		if all || err != nil {
			return list, err
		}
	}
	return readCaughtUp(ctx, s, func(ctx context.Context, tx Tx, search *keySearch) ([]rewards.Reward, error) {
		u.tx, u.keySearch = tx, search
		return u.page(ctx, p)
	})
}

// first reads the page, and reports whether that is all of it.
func (u *columnUser) first(
	ctx context.Context, p rewards.Page[rewards.Reward],
) (list []rewards.Reward, all bool, err error) {
	found, err := u.find(ctx, before(p.Before), u.atOnce(p.Limit))
	if err != nil {
		return nil, false, err
	}
	ids, byRow := found.List(), u.byRow(found)
	list, newest, err := u.read(ctx, ids, byRow, p.Limit)
	if err == nil && byRow != nil && !areAll(list, ids) {
		return nil, false, nil
	}
	if err == nil && len(list) == 0 {
		_, err = fetchValues(ctx, u.tx, []any{&newest.number, &newest.mark}, newestBatch)
	}
	all = (len(list) == p.Limit || len(ids) < u.atOnce(p.Limit)) && !u.since && u.knew(newest, ids, p)
	return list, all, err
}

const (
	newestBatch = `SELECT number, mark` + ofNewest // the end of the newest batch
	ofNewest    = ` FROM reward_batches ORDER BY number DESC LIMIT 1`
)

// knew reports whether a list of ids had all rewards up to a batch.
func (u *columnUser) knew(newest batchPoint, ids []segment.ID, p rewards.Page[rewards.Reward]) bool {
	if newest == u.last {
		return true
	}
	u.segments.mu.RLock()
	defer u.segments.mu.RUnlock()
	now := &u.segments.state
	if newest.number < u.last.number || !now.has(newest) || !now.has(u.last) || !now.continues(&u.columnState) {
		return false // others recorded, a segment began, or a server took over that has lost some
	}
	had := segment.NewNewest(u.atOnce(p.Limit)) // this process recorded since: were some of them the user's?
	for _, part := range u.inBatches() {
		part.OfUser(had, userPart(u.user), segment.ID(before(p.Before)))
	}
	return !slices.ContainsFunc(had.List(), func(id segment.ID) bool {
		_, found := slices.BinarySearchFunc(ids, id, segment.NewestFirst)
		return !found
	})
}

// page reads the page, in a transaction that only reads.
func (u *columnUser) page(
	ctx context.Context, p rewards.Page[rewards.Reward],
) (list []rewards.Reward, err error) {
	atOnce := u.atOnce(p.Limit)
	for below := before(p.Before); below != nil && len(list) < p.Limit; atOnce = u.more(atOnce) {
		found, err := u.find(ctx, below, atOnce)
		if err != nil {
			return list, err
		}
		ids := found.List()
		if len(ids) == 0 {
			return list, nil
		}
		some, _, err := u.read(ctx, ids, nil, p.Limit-len(list))
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
		if len(ids) < atOnce {
			break
		}
		if below, err = u.skip(ctx, ids[len(ids)-1]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// atOnce is how many ids are read at once for a page.
func (u *columnUser) atOnce(limit int) int {
	if u.status == 0 {
		return limit
	}
	return max(limit, someIDs)
}

// more is how many ids are read next, when a status filters ever more.
func (u *columnUser) more(last int) int {
	const most = 16 * someIDs
	if u.status == 0 {
		return last
	}
	return max(last, min(2*last, most))
}

// skip returns the bound of the ids of the app's rewards in the status before an id; nil without such a reward.
func (u *columnUser) skip(ctx context.Context, before segment.ID) (below []byte, err error) {
	if u.status == 0 {
		return before[:], nil
	}
	next, args := openOf(`id < ?2 AND status = ?3`, `1`), []any{u.app[:], before[:], int(u.status)}
	if u.status == rewards.Executed {
		next, args = executedTo(`?2`), args[:2]
	}
	var to []byte
	found, err := fetchValues(ctx, u.tx, []any{toBytes{&to}}, next, args...)
	if err != nil || !found {
		return nil, err
	}
	return idAfter(to, before), nil
}

// idAfter is the bound of ids that are not after one, or not after the beginning of one, and before another.
func idAfter(id []byte, before segment.ID) []byte {
	var bound segment.ID
	copy(bound[:], id)
	for i := uuidBytes - 1; i >= 0 && len(id) == uuidBytes; i-- {
		bound[i]++
		if bound[i] != 0 {
			break
		}
	}
	if bound.Compare(before) > 0 {
		bound = before
	}
	return bound[:]
}

// read reads those of the rewards that belong to the list, and the end of the newest batch, if there are any. Without a
// status, it may read some by their rows.
func (u *columnUser) read(
	ctx context.Context, ids []segment.ID, byRow []segment.Row, limit int,
) (list []rewards.Reward, newest batchPoint, err error) {
	if len(ids) == 0 {
		return nil, newest, nil
	}
	wanted, rows := wantedRewards(ids, byRow)
	some, args := wantedByID, []any{u.app[:], wanted, u.user[:], limit}
	if len(rows) > 0 {
		some, args = wantedByID+wantedByRow, append(args, rows)
	}
	query := `SELECT (SELECT number` + ofNewest + `), (SELECT mark` + ofNewest + `), ` + listColumns + `
		FROM (` + some + `) AS rewards WHERE user_id = ?3`
	switch u.status {
	case 0:
	case rewards.Executed:
		query += ` AND status = ` + executed
	default:
		query += ` AND EXISTS (SELECT 1 FROM open_rewards o
			WHERE o.app_id = ?1 AND o.status = ?5 AND o.id = rewards.id)`
		args = append(args, int(u.status))
	}
	scan := scanRewards(&newest.number, &newest.mark)
	list, err = fetchAll(ctx, u.tx, scan, query+` ORDER BY id DESC LIMIT ?4`, args...)
	return list, newest, err
}

// find returns the newest ids of the user's rewards before one, newest first. A few may be of another user, or recorded
// later than what the transaction sees.
func (u *columnUser) find(ctx context.Context, before []byte, most int) (*segment.Newest, error) {
	found, bound := segment.NewNewest(most), segment.ID(before)
	whole := true
	u.segments.mu.RLock()
	for _, part := range u.inBatches() {
		part.OfUser(found, userPart(u.user), bound)
		whole = whole && part.HasUsers()
	}
	u.segments.mu.RUnlock()
	if !whole {
		return nil, errNoSegment
	}
	indexed, sealed := u.notInBatches()
	if len(indexed) > 0 {
		since, err := u.readIndex(ctx, found, indexed, bound)
		if err != nil {
			return nil, err
		}
		u.since = len(since) > 0
		sealed = append(sealed, since...)
	}
	err := u.readBlocks(ctx, found, sealed, bound)
	return found, err
}

// inBatches are the segments whose users are in memory.
func (s *columnState) inBatches() (parts []*segment.Recent) {
	for _, part := range slices.Backward(s.recent) {
		if s.view.users[part.Segment()] == byBatches {
			parts = append(parts, part)
		}
	}
	return parts
}

// notInBatches lists the other segments.
func (s *columnState) notInBatches() (indexed, sealed []int64) {
	for number, users := range s.view.users {
		switch users {
		case byIndex:
			indexed = append(indexed, int64(number))
		case byBlocks:
			sealed = append(sealed, int64(number))
		case byBatches:
		}
	}
	return indexed, sealed
}

// readBlocks adds what sealed segments have: of each the last block with entries of the user, and those before it until
// one begins with another user. Nearly always the first one does.
func (u *columnUser) readBlocks(
	ctx context.Context, to *segment.Newest, segments []int64, before segment.ID,
) error {
	if len(segments) == 0 {
		return nil
	}
	user, bound := userPart(u.user), segment.NewUserEntry(userPart(u.user), before)
	return u.tx.Query(ctx, func(row Row) error {
		var b segment.UserBlock
		var rows []byte
		var number int64
		if err := row.Scan(&number, toBytes{(*[]byte)(&b)}, toBytes{&rows}); err != nil {
			return err
		}
		if !b.Sound() {
			return errBlock("users", number)
		}
		b.OfUser(to, user, before, rows)
		return nil
	}, `SELECT g.number::bigint, b.entries, CASE g.rows WHEN 1 THEN b.rows ELSE '' END
		FROM unnest(?1::integer[], ?5::integer[]) AS g (number, rows)
		CROSS JOIN LATERAL (SELECT first, entries, rows FROM user_blocks WHERE segment = g.number AND first < ?3
			ORDER BY first DESC LIMIT 1) AS last
		CROSS JOIN LATERAL (SELECT last.entries, last.rows
		UNION ALL (SELECT entries, rows FROM user_blocks
			WHERE last.first >= ?2 AND segment = g.number AND first >= ?2 AND first < last.first
			ORDER BY first DESC LIMIT ?4)
		UNION ALL (SELECT entries, rows FROM user_blocks
			WHERE last.first >= ?2 AND segment = g.number AND first < ?2 ORDER BY first DESC LIMIT 1)) AS b`,
		segments, user.Append(nil), bound[:], segment.BlocksFor(to.Most()), u.withRows(segments))
}

// withRows says of segments whether their rows can be used.
func (s *columnState) withRows(segments []int64) []int64 {
	rows := make([]int64, len(segments))
	for i, number := range segments {
		rows[i] = s.view.rows[number]
	}
	return rows
}

// readIndex adds what the index has, and lists the segments that are sealed since. user_entry has 4 bytes of the user.
// coalesce hides a condition from the planner that nearly all rewards with the entry meet: else it expects one, and
// reads and sorts all of them. WITH TIES adds the other rewards of the last millisecond, which may be newer.
func (u *columnUser) readIndex(
	ctx context.Context, to *segment.Newest, segments []int64, before segment.ID,
) (sealed []int64, err error) {
	err = u.tx.Query(ctx, func(row Row) error {
		var number int64
		var users entriesIn
		var id []byte
		err := row.Scan(&number, (*int64)(&users), toBytes{&id})
		switch {
		case users == byBlocks:
			sealed = append(sealed, number)
		case len(id) > 0:
			to.Add(segment.ID(id))
		}
		return err
	}, `SELECT g.number::bigint, g.users::bigint, coalesce(r.id, '') FROM segments g LEFT JOIN LATERAL (
			SELECT id FROM rewards WHERE g.users = 0 AND user_entry(segment, user_id) = user_entry(g.number, ?2)
				AND substring(id FOR 6) <= substring(?3::bytea FOR 6) AND coalesce(user_id = ?2 AND id < ?3, false)
			ORDER BY substring(id FOR 6) DESC FETCH FIRST (?4 + 0) ROWS WITH TIES) AS r ON true
		WHERE g.number = ANY(?1::integer[])`, segments, u.user[:], before[:], to.Most())
	return sealed, err
}

// aloneTx runs each query as a separate read.
type aloneTx struct {
	Tx // only for the methods that write: nil

	store *Store
}

// Query implements Tx.
func (a aloneTx) Query(ctx context.Context, each func(Row) error, query string, args ...any) error {
	return a.store.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		return only(tx).Query(ctx, each, query, args...)
	})
}
