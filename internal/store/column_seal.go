package store

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// inSegment is the condition that a reward is of the segment ?1, by the index of keys of an earlier version.
const (
	inSegment = `reward_key(segment, app_id, idempotency_key) >= substring(int4send(?1) FROM 2)
		AND ` + beforeSegmentEnds
	beforeSegmentEnds = `reward_key(segment, app_id, idempotency_key) < substring(int4send(?1 + 1) FROM 2)`
)

// SealSegment seals the oldest full segment of rewards. Over PostgreSQL it also begins a segment when several processes
// together filled the newest one, says how many rewards that has, and learns of the segments that others began. Then
// SealSegment seals a full segment of lots. It reports whether there may be more.
func (s *Store) SealSegment(ctx context.Context) (more bool, err error) {
	if more, err = s.sealRewards(ctx); more || err != nil {
		return more, err
	}
	return s.sealLots(ctx)
}

func (s *Store) sealRewards(ctx context.Context) (more bool, err error) {
	switch inSegments, err := s.inSegments(ctx); {
	case err != nil:
		return false, err
	case inSegments:
		return s.sealFull(ctx)
	case s.index.loaded() == indexInColumns:
		return s.sealColumns(ctx)
	}
	return false, nil
}

// sealColumns does the next step over PostgreSQL.
func (s *Store) sealColumns(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, sealTimeout)
	defer cancel()
	v, err := s.readSegments(ctx)
	if err != nil {
		return false, err
	}
	s.segments.merge()
	if number := slices.Index(v.keys, keysInIndex); number >= 0 {
		return s.sealIndexed(ctx, int64(number), v)
	}
	if full := s.segments.fullInMemory(); full != nil {
		return s.sealRecent(ctx, full, v)
	}
	if s.segments.full() {
		err := s.beginSegment(ctx, v)
		return err == nil, err
	}
	return false, errors.Join(s.addCounted(ctx, v), s.dropKeyIndex(ctx))
}

// sealTimeout bounds the reading of a segment. All rewards of an older store may be in one.
const sealTimeout = time.Hour

// fullInMemory returns the oldest segment in memory that is full, or nil.
func (x *columnSegments) fullInMemory() *segment.Recent {
	if state, _ := x.now(); len(state.recent) > 1 {
		return state.recent[0]
	}
	return nil
}

// newestMark is the mark of the newest segment.
const newestMark = `SELECT g.mark FROM segments g ORDER BY g.number DESC LIMIT 1`

// beginSegment begins the segment after one that is full, unless another process did.
func (s *Store) beginSegment(ctx context.Context, full *segmentView) error {
	err := s.engine.WriteForClients(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `WITH begun AS (INSERT INTO segments (number, mark, keys)
				SELECT ?1::integer, (random() * 9007199254740992)::bigint, 1 WHERE (`+newestMark+`) = ?2
				RETURNING number, mark)
			INSERT INTO reward_batches (number, mark, segment, keys, ids)
				SELECT (SELECT max(number) + 1 FROM reward_batches), mark, number, '', '' FROM begun`,
			full.newest+1, full.mark)
		return err
	})
	if err == nil {
		_, err = s.readSegments(ctx)
	}
	return err
}

// addCounted adds what this process recorded to the row of the newest segment. What a process that is killed did not
// add is missing there, so the segment becomes larger.
func (s *Store) addCounted(ctx context.Context, v *segmentView) error {
	fresh := s.segments.fresh.Load()
	if fresh <= 0 { // below 0 when another segment began meanwhile
		return nil
	}
	err := s.engine.WriteForClients(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `UPDATE segments SET size = size + ?1 WHERE number = ?2 AND mark = ?3`,
			fresh, v.newest, v.mark)
		return err
	})
	if err == nil {
		s.segments.counted.Add(fresh)
		s.segments.fresh.Add(-fresh)
	}
	return err
}

// sealRecent seals a full segment whose keys are in memory: it stores them in blocks, and their filter, and removes the
// batches. A crash loses nothing: the batches say again what the blocks are, and what is stored is passed over.
func (s *Store) sealRecent(ctx context.Context, full *segment.Recent, v *segmentView) (done bool, err error) {
	if err := s.storeKeys(ctx, full.Blocks(), v); err != nil {
		return false, err
	}
	keys := int64(full.Len())
	return s.storeSealed(ctx, full.Filter(s.segments.filterSize(keys)), keys, v)
}

// filterSize is for how many keys the filter of a segment is made. Those of equal size can be merged; the segment of an
// older store's rewards may be much larger.
func (x *columnSegments) filterSize(keys int64) int {
	if keys < x.size+x.size/4 {
		keys = x.size
	}
	return int(keys)
}

// storeKeys stores blocks of a full segment that was seen with v. It does nothing when a server took over that has lost
// some of that.
func (s *Store) storeKeys(ctx context.Context, blocks []segment.Block, v *segmentView) error {
	for part := range slices.Chunk(blocks, blocksPerWrite) {
		places, entries := make([]int64, len(part)), make([][]byte, len(part))
		for i := range part {
			places[i], entries[i] = part[i].Place, part[i].Entries
		}
		err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO key_blocks (place, entries)
				SELECT * FROM unnest(?1::bigint[], ?2::bytea[]) WHERE `+stillThere+` ON CONFLICT DO NOTHING`,
				places, entries, v.newest, v.mark)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// stillThere is the condition that nothing is lost of what was seen with the newest segment ?3 and its mark ?4.
const stillThere = `EXISTS (SELECT 1 FROM segments g WHERE g.number = ?3 AND g.mark = ?4)`

// storeSealed marks a segment of which all blocks are stored as sealed, and stores its filter. It also adds a batch
// without rewards: whoever knows that the segment is sealed knows that batch, which is lost if the sealing is lost. It
// does nothing as storeKeys, when some of the blocks were lost, or when another process was first.
func (s *Store) storeSealed(
	ctx context.Context, f *segment.Filter, keys int64, v *segmentView,
) (done bool, err error) {
	bits, err := f.Bytes()
	if err != nil {
		return false, err
	}
	err = s.engine.WriteForClients(ctx, func(ctx context.Context, tx Tx) error {
		n, err := tx.Exec(ctx, `UPDATE segments SET filter = ?2, keys = 2 WHERE number = ?1 AND keys < 2 AND `+
			stillThere+` AND (SELECT coalesce(sum(octet_length(entries)), 0)
				FROM key_blocks WHERE place BETWEEN ?5 AND ?6) = ?7`, f.First, bits, v.newest, v.mark,
			segment.KeyPlace(f.First, 0), segment.KeyPlace(f.First, -1), keys*segment.IDEntryBytes)
		if done = err == nil && n > 0; !done {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO reward_batches (number, mark, segment, keys, ids)
			SELECT number + 1, ?1, segment, '', '' FROM reward_batches ORDER BY number DESC LIMIT 1`, newMark())
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM reward_batches WHERE segment = ?1
			AND number < (SELECT max(number) FROM reward_batches)`, f.First)
		return err
	})
	return done && err == nil, err
}

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
	last := binary.BigEndian.AppendUint32(nil, uint32(number))[1:] // as reward_key begins
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
		if err := s.storeKeys(ctx, full, v); err != nil {
			return false, err
		}
		blocks.Blocks = slices.Clone(blocks.Blocks[len(full):])
	}
	return s.storeSealed(ctx, f, keys, v)
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

// dropKeyIndex drops the index of keys of an earlier version, which no segment needs any more.
func (s *Store) dropKeyIndex(ctx context.Context) error {
	if s.segments.noIndex.Load() {
		return nil
	}
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		var dropped bool
		_, err := fetchValues(ctx, tx, []any{toFlag{&dropped}}, `SELECT drop_key_index()`)
		s.segments.noIndex.Store(dropped)
		return err
	})
}
