package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"stockrewards/internal/store/segment"
)

// SealSegment seals the oldest full segment of rewards. Over PostgreSQL it also begins a segment when several processes
// together filled the newest one, says how many rewards that has, learns of the segments that others began, and makes
// damaged filters again. Then SealSegment stores the sizes of segments and the checksums of filters of an earlier
// version, and seals a full segment of lots. It reports whether there may be more.
func (s *Store) SealSegment(ctx context.Context) (more bool, err error) {
	if more, err = s.sealRewards(ctx); more || err != nil {
		return more, err
	}
	if err := s.storeSizes(ctx); err != nil {
		return false, err
	}
	if err := s.storeChecksums(ctx); err != nil { // later: those without a checksum get their size
		return false, err
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
	if number := slices.Index(v.keys, byIndex); number >= 0 {
		return s.sealIndexed(ctx, int64(number), v)
	}
	if full, v := s.segments.fullInMemory(); full != nil {
		return s.sealRecent(ctx, full, v)
	}
	if number := slices.Index(v.users, byIndex); number >= 0 {
		return s.sealIndexedUsers(ctx, int64(number), v)
	}
	if s.segments.full() {
		err := s.beginSegment(ctx, v)
		return err == nil, err
	}
	return false, errors.Join(s.addCounted(ctx, v), s.dropIndexes(ctx), s.repairFilters(ctx))
}

// sealTimeout bounds the reading of a segment. All rewards of an older store may be in one.
const sealTimeout = time.Hour

// fullInMemory returns the oldest segment in memory that is full, or nil, and the segments.
func (x *columnSegments) fullInMemory() (*segment.Recent, *segmentView) {
	if state, _ := x.now(); len(state.recent) > 1 {
		return state.recent[0], state.view
	}
	return nil, nil
}

// newestMark is the mark of the newest segment.
const newestMark = `SELECT g.mark FROM segments g ORDER BY g.number DESC LIMIT 1`

// beginSegment begins the segment after one that is full, unless another process did.
func (s *Store) beginSegment(ctx context.Context, full *segmentView) error {
	err := s.engine.WriteForClients(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `WITH begun AS (INSERT INTO segments (number, mark, keys, users, page)
				SELECT ?1::integer, (random() * 9007199254740992)::bigint, 1, 1, `+pagesOfRewards+`
				WHERE (`+newestMark+`) = ?2
				RETURNING number, mark)
			INSERT INTO reward_batches (number, mark, segment, keys, users, ids)
				SELECT (SELECT max(number) + 1 FROM reward_batches), mark, number, '', '', '' FROM begun`,
			full.newest+1, full.mark)
		return err
	})
	if err == nil {
		_, err = s.readSegments(ctx)
	}
	return err
}

// addCounted adds what this process recorded to the row of the newest segment. What a process that is killed did not
// add is missing there, so the segment becomes larger. When others have sealed the segment meanwhile, its size is
// exact.
func (s *Store) addCounted(ctx context.Context, v *segmentView) error {
	fresh := s.segments.fresh.Load()
	if fresh <= 0 { // below 0 when another segment began meanwhile
		return nil
	}
	err := s.engine.WriteForClients(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `UPDATE segments SET size = size + ?1 WHERE number = ?2 AND mark = ?3 AND keys <> 2`,
			fresh, v.newest, v.mark)
		return err
	})
	if err == nil {
		s.segments.counted.Add(fresh)
		s.segments.fresh.Add(-fresh)
	}
	return err
}

// sealRecent seals a full segment that is in memory: it stores its keys and its users in blocks, and the filter of the
// keys, and removes the batches. A crash loses nothing: the batches say again what the blocks are, and what is stored
// is passed over. An index of an earlier version may have the users.
func (s *Store) sealRecent(ctx context.Context, full *segment.Recent, v *segmentView) (done bool, err error) {
	var rows segment.Rows
	var file int64
	if v.users[full.Segment()] == byBatches {
		if rows, file, err = s.rowsOf(ctx, full.Segment()); err != nil {
			return false, err
		}
	}
	if err := s.storeKeys(ctx, full.Blocks(), rows, v); err != nil {
		return false, err
	}
	keys := int64(full.Len())
	bits, err := full.Filter(s.segments.filterSize(keys)).Bytes()
	if err != nil {
		return false, err
	}
	parts := []sealMark{v.sealedKeys(full.Segment(), keys, bits)}
	if v.users[full.Segment()] == byBatches {
		if err := s.storeUsers(ctx, full.Segment(), full.Users(), rows, v); err != nil {
			return false, err
		}
		parts = append(parts, v.sealedUsers(full.Segment(), byBatches, keys, file))
	}
	return s.storeSealed(ctx, parts...)
}

// filterSize is for how many keys the filter of a segment is made. Those of equal size can be merged; the segment of an
// older store's rewards may be much larger.
func (x *columnSegments) filterSize(keys int64) int {
	if keys < x.size+x.size/4 {
		keys = x.size
	}
	return int(keys)
}
