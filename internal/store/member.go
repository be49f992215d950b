package store

import (
	"context"
	"errors"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// A member of an order has a place: the order's number x 1,024 + its position in the order. A reward has the
// place in the last order that was booked for it, and each member that of its reward in the order before, so
// that all orders of a reward are found. See LAYOUT.md.
const placesOfOrder = 1024

func placeOf(o rewards.Order, position int) int64 { return o.Number*placesOfOrder + int64(position) }

// inOrder is the condition that m, of the view member_rewards, is a member of the order with a number.
func inOrder(tx Tx, number string) string {
	column, many := `m.place`, `1024`
	if inBlocks(tx) {
		column, many = `m.block`, `32`
	}
	return column + ` >= ` + number + ` * ` + many + ` AND ` + column + ` < ` + number + ` * ` + many + ` + ` + many
}

// memberAt joins m, the row of member_rewards at a place.
func memberAt(tx Tx, place string) string {
	if inBlocks(tx) {
		return ` CROSS JOIN LATERAL member_at(` + place + `) AS m `
	}
	return ` CROSS JOIN member_rewards m ON m.place = ` + place + ` `
}

// endOfOrder is the place after the last member of an order o.
func endOfOrder(tx Tx) string {
	table := `members`
	if inBlocks(tx) {
		table = `member_ends`
	}
	return `(SELECT max(m.place) + 1 FROM ` + table + ` m WHERE ` + inOrder(tx, `o.number`) + `)`
}

// pastShares are the shares that orders of an earlier version bought for a reward, until they are moved.
const pastShares = `coalesce((SELECT sum(a.shares) FROM past_allocations a
			WHERE a.app_id = m.app_id AND a.reward_id = m.reward_id), 0)`

// claim is a member of a live order, and where its reward is stored.
type claim struct {
	rewards.Claim

	reward int64 // its number over SQLite
	place  int64 // of its reward in the order booked before
}

// ordered reports whether an order before had the reward.
func (c *claim) ordered() bool { return c.place > 0 || c.Booked > 0 }

// queryClaims reads the members of a live order with what earlier orders bought for them.
func queryClaims(ctx context.Context, tx Tx, o rewards.Order) ([]claim, error) {
	return fetchAll(ctx, tx, func(row Row) (c claim, err error) {
		err = row.Scan(toID(&c.AppID), toID(&c.RewardID), (*int64)(&c.Amount), toID(&c.UserID),
			(*int64)(&c.RewardAmount), (*int64)(&c.Booked), (*int64)(&c.BookedShares), toFlag{&c.Uncounted},
			&c.reward, &c.place)
		return c, err
	}, `SELECT app_id, reward_id, amount, user_id, reward_amount, booked,
		CASE WHEN booked = 0 THEN 0 ELSE reward_shares + `+pastShares+` END, 1 - counted, number, reward_place
		FROM member_rewards m WHERE `+inOrder(tx, `?1`)+` ORDER BY place`, o.Number)
}

func plainClaims(claims []claim) []rewards.Claim {
	list := make([]rewards.Claim, len(claims))
	for i := range claims {
		list[i] = claims[i].Claim
	}
	return list
}

// Members lists the members of an order in order of arrival. What was bought for them includes this order,
// if it is booked.
func (s *Store) Members(ctx context.Context, id rewards.OrderID) ([]rewards.Claim, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) ([]rewards.Claim, error) {
		o, found, err := fetchOne(ctx, tx, scanOrder, `SELECT `+orderColumns+` FROM orders WHERE id = ?1`, id[:])
		if err != nil || !found {
			return nil, err
		}
		if o.Number == 0 {
			return pastClaims(ctx, tx, id)
		}
		claims, err := queryClaims(ctx, tx, o)
		return plainClaims(claims), err
	})
}

// pastClaims reads the members of an order that is not moved.
func pastClaims(ctx context.Context, tx Tx, id rewards.OrderID) ([]rewards.Claim, error) {
	return fetchAll(ctx, tx, func(row Row) (c rewards.Claim, err error) {
		err = row.Scan(toID(&c.AppID), toID(&c.RewardID), (*int64)(&c.Amount), toID(&c.UserID),
			(*int64)(&c.RewardAmount), (*int64)(&c.Booked), (*int64)(&c.BookedShares), toFlag{&c.Uncounted})
		return c, err
	}, `SELECT m.app_id, m.reward_id, m.amount, r.user_id, r.amount, r.booked, r.shares + coalesce((SELECT sum(a.shares)
		FROM past_allocations a WHERE a.app_id = m.app_id AND a.reward_id = m.reward_id), 0), 1 - r.counted
		FROM past_members m JOIN rewards r ON r.app_id = m.app_id AND r.id = m.reward_id
		WHERE m.order_id = ?1 ORDER BY m.position`, id[:])
}

// insertMembers freezes the members of an order. From then on their rewards are executing. It fails
// with ErrStale when one of them no longer waits.
func insertMembers(ctx context.Context, tx Tx, o rewards.Order, members []rewards.Member) error {
	frozen, taken := make([]placedMember, len(members)), make([][]any, len(members))
	for i := range members {
		m, place := &members[i], placeOf(o, i)
		frozen[i] = placedMember{place: place, app: m.AppID, reward: m.RewardID, amount: m.Amount}
		taken[i] = []any{m.AppID[:], m.RewardID[:], place}
	}
	if err := sortArrivals(ctx, tx, 1); err != nil {
		return err
	}
	if err := addMembers(ctx, tx, frozen); err != nil {
		return err
	}
	// A reward that was bought in part waits as executing. Each statement names one status, so that a row is
	// found by one look into the primary key; for a row of either status SQLite would build a temporary
	// table, which takes three times as long.
	n, err := execRows(ctx, tx, take+recorded, takeColumns(recorded), taken)
	if err == nil && n < int64(len(members)) {
		var again int64
		again, err = execRows(ctx, tx, take+executing, takeColumns(executing), taken)
		n += again
	}
	if err == nil && n != int64(len(members)) {
		err = rewards.ErrStale
	}
	return err
}

// placedMember is a member as it is stored.
type placedMember struct {
	placedPart

	place  int64
	app    rewards.AppID
	reward rewards.RewardID
	amount money.USD
}

// placedPart is what an order did for a member, when it is booked.
type placedPart struct {
	rest      money.USD // what it did not buy
	shares    money.Shares
	completes int64 // 1 for the order that bought the last part of a reward
	before    int64 // place of its reward in the order booked before
}

func (m *placedMember) columns() []any {
	return []any{
		m.place, m.app[:], m.reward[:], int64(m.amount), int64(m.rest), int64(m.shares), m.completes, m.before,
	}
}

// addMembers stores members of one order, from the first one on.
func addMembers(ctx context.Context, tx Tx, members []placedMember) error {
	if inBlocks(tx) {
		return addMemberBlocks(ctx, tx, members)
	}
	rows := make([][]any, len(members))
	for i := range members {
		rows[i] = members[i].columns()
	}
	n, err := tx.ExecEach(ctx, `INSERT INTO members (place, reward, amount, rest, shares, completes, before)
		SELECT ?1, rowid, ?4, ?5, ?6, ?7, ?8 FROM rewards WHERE app_id = ?2 AND id = ?3`, rows)
	if err == nil && n != int64(len(rows)) {
		err = errMemberNotStored
	}
	return err
}

// errMemberNotStored means that the store contradicts itself: a member of an order has no reward.
var errMemberNotStored = errors.New("a member of an order was not stored")

// take puts a waiting reward of the status that follows into an order.
const take = `UPDATE open_rewards SET status = ` + executing + `, waiting = 0, place = ?3
		WHERE app_id = ?1 AND id = ?2 AND waiting = 1 AND status = `

// takeColumns is take for a column of rewards. LATERAL with OFFSET 0 makes PostgreSQL look up each reward by itself,
// and + 0 by the primary key: while few rewards wait, it took the index of what waits and read all of it.
func takeColumns(status string) string {
	return `UPDATE open_rewards r SET status = ` + executing + `, waiting = 0, place = taken.place
		FROM unnest(?1::bytea[], ?2::bytea[], ?3::bigint[]) AS taken (app_id, id, place)
		CROSS JOIN LATERAL (SELECT f.ctid AS row FROM open_rewards f WHERE f.app_id = taken.app_id
			AND f.id = taken.id AND f.waiting + 0 = 1 AND f.status = ` + status + ` OFFSET 0) AS found
		WHERE r.ctid = found.row`
}

// bookMembers stores what an order bought for its members, what that adds to their users' activity, and in
// which spans of ids rewards are executed now. A member that bought all of a reward stays as it is, if no order
// before had the reward: the reward has its figures, and the view member_rewards takes them from there.
func bookMembers(ctx context.Context, tx Tx, o rewards.Order, claims []claim, results []rewards.Result) error {
	var booked, spans [][]any
	var lots []segment.Lot
	var marked executedSpan
	for i := range results {
		r, place := &results[i], placeOf(o, i)
		if rest := r.Amount - r.Bought.Amount; rest > 0 || claims[i].ordered() {
			booked = append(booked, []any{
				place, int64(rest), int64(r.Bought.Shares), int64(flag(r.Cost() > 0)), claims[i].place,
			})
		}
		if r.ChangesHolding() {
			lots = append(lots, newLot(r.UserID, place))
		}
		if span := spanOf(r.AppID, r.RewardID); r.Status == rewards.Executed && span != marked {
			marked = span
			spans = append(spans, span.columns())
		}
	}
	err := execRowsLater(ctx, tx,
		`UPDATE members SET rest = ?2, shares = ?3, completes = ?4, before = ?5 WHERE place = ?1`, insertParts, booked)
	if err != nil {
		return err
	}
	if err := addLots(ctx, tx, o, lots); err != nil {
		return err
	}
	return addSpans(ctx, tx, spans)
}

// partsOfReward selects the orders that carried the reward ?2 of the app ?1, with what they bought: the booked ones by
// their places, the one that has it now, and those that are not moved.
func partsOfReward(tx Tx) string {
	parts := `members`
	if inBlocks(tx) {
		parts = `member_parts`
	}
	return `SELECT o.id AS order_id, o.asset_id, o.generation, m.amount AS carried,
		m.amount - m.rest AS bought, m.shares FROM (WITH RECURSIVE booked (place) AS (
				SELECT r.place FROM rewards r WHERE r.app_id = ?1 AND r.id = ?2 AND r.place > 0
				UNION ALL SELECT b.before FROM booked CROSS JOIN ` + parts + ` b
					WHERE b.place = booked.place AND b.before > 0)
			SELECT place FROM booked UNION ALL SELECT w.place FROM open_rewards w WHERE w.app_id = ?1
				AND w.status = ` + executing + ` AND w.id = ?2 AND w.waiting = 0) AS p
		` + memberAt(tx, `p.place`) + ` CROSS JOIN orders o
		WHERE o.number = p.place / 1024 AND o.number > 0
	UNION ALL SELECT m.order_id, o.asset_id, o.generation, m.amount, coalesce(a.amount, 0), coalesce(a.shares, 0)
		FROM past_members m JOIN orders o ON o.id = m.order_id LEFT JOIN past_allocations a
			ON a.app_id = m.app_id AND a.reward_id = m.reward_id AND a.order_id = m.order_id
		WHERE m.app_id = ?1 AND m.reward_id = ?2`
}
