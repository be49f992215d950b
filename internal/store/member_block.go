package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"stockrewards/internal/rewards"
)

// placesOfBlock is how many members of an order PostgreSQL stores in one row. A block is their place / 32.
const placesOfBlock = 32

// inBlocks reports whether members are in blocks: over PostgreSQL. SQLite has a row for each.
func inBlocks(tx Tx) bool {
	_, columns := tx.(ColumnTx)
	return columns
}

// insertParts stores, over PostgreSQL, what an order did for members: place, rest, shares, completes and before.
const insertParts = `INSERT INTO member_parts (place, rest, shares, completes, before)
	SELECT place, rest, shares, completes, before FROM unnest(?1::bigint[], ?2::bigint[], ?3::bigint[], ?4::bigint[],
		?5::bigint[]) AS m (place, rest, shares, completes, before)`

// insertMovedParts is insertParts for placedMember.columns. The view member_rewards takes from the reward what an
// order did that bought all of it.
const insertMovedParts = `INSERT INTO member_parts (place, rest, shares, completes, before)
	SELECT m.place, m.rest, m.shares, m.completes, m.before FROM unnest(?1::bigint[], ?2::bytea[], ?3::bytea[],
			?4::bigint[], ?5::bigint[], ?6::bigint[], ?7::bigint[], ?8::bigint[])
		AS m (place, app_id, reward_id, amount, rest, shares, completes, before)
	CROSS JOIN LATERAL (SELECT amount FROM rewards WHERE app_id = m.app_id AND id = m.reward_id OFFSET 0) AS r
	WHERE m.rest > 0 OR m.before > 0 OR m.amount < r.amount`

// memberBlock is a row of member_blocks: members at neighboring places, the first one at block x 32.
type memberBlock struct {
	block   int64
	apps    []byte // 16 bytes for each app
	appOf   []byte // which of these each member has
	rewards []byte
	amounts []string
}

// memberBlocks puts members of one order, from the first one on, into blocks.
func memberBlocks(members []placedMember) (blocks []memberBlock, err error) {
	for i := range members {
		m := &members[i]
		if m.place%placesOfBlock != int64(i%placesOfBlock) {
			return nil, fmt.Errorf("store: member %d of an order has the place %d", i, m.place)
		}
		if i%placesOfBlock == 0 {
			blocks = append(blocks, memberBlock{block: m.place / placesOfBlock})
		}
		b := &blocks[len(blocks)-1]
		b.appOf = append(b.appOf, b.indexOf(m.app))
		b.rewards = append(b.rewards, m.reward[:]...)
		b.amounts = append(b.amounts, strconv.FormatInt(int64(m.amount), 10))
	}
	return blocks, nil
}

// indexOf returns which of the block's apps an app is. A new one is added.
func (b *memberBlock) indexOf(app rewards.AppID) byte {
	for i := 0; i < len(b.apps); i += len(app) {
		if app == rewards.AppID(b.apps[i:]) {
			return byte(i / len(app))
		}
	}
	b.apps = append(b.apps, app[:]...)
	return byte(len(b.apps)/len(app) - 1)
}

// addMemberBlocks stores members over PostgreSQL.
func addMemberBlocks(ctx context.Context, tx Tx, members []placedMember) error {
	blocks, err := memberBlocks(members)
	if err != nil || len(blocks) == 0 { // an order may be the house's only
		return err
	}
	stored := make([][]any, len(blocks))
	for i := range blocks {
		b := &blocks[i]
		stored[i] = []any{b.block, b.apps, b.appOf, b.rewards, "{" + strings.Join(b.amounts, ",") + "}"}
	}
	columns, err := columnsOf(stored)
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `INSERT INTO member_blocks (block, apps, app_of, rewards, amounts)
		SELECT block, apps, app_of, rewards, amounts::bigint[]
		FROM unnest(?1::bigint[], ?2::bytea[], ?3::bytea[], ?4::bytea[], ?5::text[])
			AS b (block, apps, app_of, rewards, amounts)`, columns...)
	if err == nil && n != int64(len(blocks)) {
		err = errMemberNotStored
	}
	if err != nil {
		return err
	}
	return addMovedParts(ctx, tx, members)
}

// addMovedParts stores what an order did for members, of an order that is moved. A new one did nothing yet.
func addMovedParts(ctx context.Context, tx Tx, members []placedMember) error {
	var rows [][]any
	for i := range members {
		if m := &members[i]; m.placedPart != (placedPart{}) {
			rows = append(rows, m.columns())
		}
	}
	if len(rows) == 0 {
		return nil
	}
	columns, err := columnsOf(rows)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, insertMovedParts, columns...)
	return err
}
