package store

import (
	"context"
	"fmt"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// readKeyBlocks looks into the blocks of sealed segments.
func readKeyBlocks(ctx context.Context, tx Tx, sought []sealedKey) (places []foundKey, err error) {
	numbers, first, last := make([]int64, len(sought)), make([]int64, len(sought)), make([]int64, len(sought))
	gaps := make(keyGaps, len(sought)) // where a key would be after the last entry of a block
	for n, k := range sought {
		i := int64(n)
		numbers[i], first[i] = i, segment.KeyPlace(k.segment, 0)
		last[i] = segment.KeyPlace(k.segment, k.hash)
		gaps[i] = keyGap{segment: k.segment, place: first[i] - 1} // without a block: before the first one
	}
	err = tx.Query(ctx, func(row Row) error {
		var i int64
		var b segment.Block
		if err := row.Scan(&i, &b.Place, toBytes{&b.Entries}); err != nil {
			return err
		}
		if !b.SoundIDs() {
			return errBlock("keys", sought[i].segment)
		}
		for _, id := range b.IDs(sought[i].hash) {
			places = append(places, foundKey{rewardKey{sought[i].app, rewards.RewardID(id)}, sought[i].hash, false})
		}
		start, before := b.LastID(sought[i].hash)
		if gaps[i] = (keyGap{sought[i].segment, b.Place, start}); !before {
			delete(gaps, i)
		}
		return nil
	}, `SELECT k.number, b.place, b.entries
		FROM unnest(?1::bigint[], ?2::bigint[], ?3::bigint[]) AS k (number, first, last)
		CROSS JOIN LATERAL (SELECT place, entries FROM key_blocks WHERE place BETWEEN k.first AND k.last
			ORDER BY place DESC LIMIT 1) AS b`, numbers, first, last)
	if err != nil {
		return nil, err
	}
	return places, gaps.check(ctx, tx)
}

// keyGap begins after the last entry of a block, or with the segment.
type keyGap struct {
	segment int64
	place   int64  // of the block
	after   uint32 // the start of the entry's hash
}

// keyGaps are those in which keys would be, by the numbers of the keys.
type keyGaps map[int64]keyGap

// check fails when a gap is so long that a block is missing: the key may be there.
func (g keyGaps) check(ctx context.Context, tx Tx) error {
	if len(g) == 0 {
		return nil
	}
	var segments, places, ends, after []int64
	for _, gap := range g {
		segments, places = append(segments, gap.segment), append(places, gap.place)
		ends, after = append(ends, segment.KeyPlace(gap.segment, -1)), append(after, int64(gap.after))
	}
	var unsure []int64
	err := tx.Query(ctx, func(row Row) error {
		var number, start, end, size int64
		err := row.Scan(&number, &start, &end, &size)
		gap := segment.Gap{After: uint32(start), Before: segment.KeyStart(end)}
		if err == nil && gap.LacksBlock(size) {
			err = errBlock("keys", number)
		}
		if size <= fewKeys || end == segment.KeyPlace(number, -1) {
			unsure = append(unsure, number)
		}
		return err
	}, `SELECT k.segment, k.after,
			coalesce((SELECT min(place) FROM key_blocks WHERE place > k.place AND place <= k.last), k.last), g.size
		FROM unnest(?1::bigint[], ?2::bigint[], ?3::bigint[], ?4::bigint[]) AS k (segment, place, last, after)
		JOIN segments g ON g.number = k.segment`, segments, places, ends, after)
	if err != nil || len(unsure) == 0 {
		return err
	}
	return tx.Query(ctx, func(row Row) error {
		var number int64
		if err := row.Scan(&number); err != nil {
			return err
		}
		return errBlock("keys", number)
	}, `SELECT number::bigint FROM segments g WHERE number IN (SELECT unnest(?1::bigint[]))
		AND size > `+entriesOfKeys, unsure)
}

// fewKeys is the size of the largest segments in which chance may make a gap as long as a lost block. Their entries are
// counted. So are those of any segment when the key would be after all of them: its last block may have only a few.
const fewKeys = 2_000

// entriesOfKeys counts the entries of the blocks of the segment g, of segment.IDEntryBytes each.
const entriesOfKeys = `(SELECT coalesce(sum(octet_length(b.entries)), 0)::bigint / 22 FROM key_blocks b
			WHERE b.place BETWEEN g.number::bigint << 32 AND (g.number::bigint + 1 << 32) - 1)`

// check fails when a found reward is missing, or has another key than memory or its entry says: nobody knows then
// whether the key is new. A reward found in memory may be missing when the transaction does not see the newest batch
// there: it began before that, or a fail-over lost it.
func (known keyedRewards) check(ctx context.Context, tx Tx, found []foundKey, newest *batchPoint) error {
	keys := make(map[rewards.RewardID]requestKey, len(known))
	for key, k := range known {
		keys[k.Reward.ID] = key
	}
	var others, recent [][]byte
	for _, f := range found {
		switch key, read := keys[f.id]; {
		case read && !segment.SameKeyPart(keyHash(key.app, key.key), f.hash):
			return errReward(f.id)
		case !read && !f.memory:
			others = append(others, f.id[:])
		case !read && newest != nil:
			recent = append(recent, f.id[:])
		}
	}
	if len(others)+len(recent) == 0 {
		return nil
	}
	if newest == nil {
		newest = new(batchPoint)
	}
	// Another app's key may have the same hash. Neither memory nor an entry says which app it is of.
	return tx.Query(ctx, func(row Row) error {
		var id rewards.RewardID
		if err := row.Scan(toID(&id)); err != nil {
			return err
		}
		return errReward(id)
	}, `SELECT k.id FROM (SELECT unnest(?1::bytea[])
			UNION ALL SELECT unnest(?2::bytea[]) FROM reward_batches WHERE number = ?3 AND mark = ?4) AS k (id)
		WHERE NOT EXISTS (SELECT 1 FROM apps a
		CROSS JOIN LATERAL (SELECT 1 FROM rewards r WHERE r.app_id = a.id AND r.id = k.id OFFSET 0) AS r)`,
		others, recent, newest.number, newest.mark)
}

func errReward(id rewards.RewardID) error {
	return fmt.Errorf("store: the reward %s is damaged: run `stockrewards audit`", id)
}
