package store

import (
	"context"
	"encoding/binary"
	"slices"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// A store of an earlier version has indexes of the keys and of the users of rewards. Its segments are sealed one by
// one, beside the requests, and then the indexes are dropped.

// inSegment is the condition that a reward is of the segment ?1, by the index of keys of an earlier version.
const (
	inSegment = `reward_key(segment, app_id, idempotency_key) >= substring(int4send(?1) FROM 2)
		AND ` + beforeSegmentEnds
	beforeSegmentEnds = `reward_key(segment, app_id, idempotency_key) < substring(int4send(?1 + 1) FROM 2)`
)

// sealIndexed seals a segment of an earlier version, whose keys an index of the database has. It reads them in parts:
// the segment does not change.
func (s *Store) sealIndexed(ctx context.Context, number int64, v *segmentView) (done bool, err error) {
	const most = 500 * blocksPerWrite
	var keys int64
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		_, err := fetchValues(ctx, tx, []any{&keys}, `SELECT count(*) FROM rewards WHERE `+inSegment, number)
		return err
	})
	if err != nil {
		return false, err
	}
	f, blocks := segment.NewFilter(number, s.segments.filterSize(keys)), segment.IDBlocks{Segment: number}
	last := fourBytes(uint32(number))[1:] // as reward_key begins
	for found := most; found == most; {
		list, err := readAll(ctx, s, scanKeyID, `SELECT app_id, idempotency_key, id,
				reward_key(segment, app_id, idempotency_key) AS key FROM rewards
			WHERE reward_key(segment, app_id, idempotency_key) > ?2 AND `+beforeSegmentEnds+`
			ORDER BY reward_key(segment, app_id, idempotency_key) LIMIT ?3 + 0`, number, last, most)
		if err != nil {
			return false, err
		}
		for _, k := range list {
			f.Add(number, k.hash)
			blocks.Add(k.hash, k.id)
			last = k.key
		}
		full := blocks.Blocks
		if found = len(list); found == most { // more may come to the last block
			full = full[:len(full)-1]
		}
		if err := s.storeKeys(ctx, full, nil, v); err != nil {
			return false, err
		}
		blocks.Blocks = slices.Clone(blocks.Blocks[len(full):])
	}
	bits, err := f.Bytes()
	if err != nil {
		return false, err
	}
	return s.storeSealed(ctx, v.sealedKeys(number, keys, bits))
}

// keyID is a reward with its key as the index has it, and the hash.
type keyID struct {
	key  []byte
	hash int64
	id   segment.ID
}

func scanKeyID(row Row) (k keyID, err error) {
	var app rewards.AppID
	var id rewards.RewardID
	var key string
	err = row.Scan(toID(&app), &key, toID(&id), toBytes{&k.key})
	k.hash, k.id = keyHash(app, key), segment.ID(id)
	return k, err
}

// sealIndexedUsers is sealIndexed for the users of a segment, by their last 4 bytes, which the index has.
func (s *Store) sealIndexedUsers(ctx context.Context, number int64, v *segmentView) (done bool, err error) {
	const most, all = 100_000, 256 // values of the first of these bytes
	first, count := uint32(number)*all, int64(0)
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		_, err := fetchValues(ctx, tx, []any{&count}, `SELECT count(*)`+withUserEntry,
			fourBytes(first), fourBytes(first+all))
		return err
	})
	if err != nil {
		return false, err
	}
	step := uint32(all)
	if count > most {
		step = 1
	}
	for from := first; from < first+all; from += step {
		entries, err := readAll(ctx, s, scanUserEntry, `SELECT user_id, id`+withUserEntry,
			fourBytes(from), fourBytes(from+step))
		if err != nil {
			return false, err
		}
		if err := s.storeUsers(ctx, number, segment.UserBlocks(entries), nil, v); err != nil {
			return false, err
		}
	}
	return s.storeSealed(ctx, v.sealedUsers(number, byIndex, count, 0))
}

// withUserEntry is a range of the index of users, which begins with 3 bytes of the segment.
const withUserEntry = ` FROM rewards WHERE user_entry(segment, user_id) >= ?1 AND user_entry(segment, user_id) < ?2`

func fourBytes(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

func scanUserEntry(row Row) (segment.UserEntry, error) {
	var user rewards.UserID
	var id rewards.RewardID
	err := row.Scan(toID(&user), toID(&id))
	return segment.NewUserEntry(userPart(user), segment.ID(id)), err
}

// dropIndexes drops the indexes of an earlier version, as far as no segment needs them any more.
func (s *Store) dropIndexes(ctx context.Context) error {
	if s.segments.noIndex.Load() {
		return nil
	}
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		var dropped bool
		_, err := fetchValues(ctx, tx, []any{toFlag{&dropped}}, `SELECT drop_reward_indexes()`)
		s.segments.noIndex.Store(dropped)
		return err
	})
}
