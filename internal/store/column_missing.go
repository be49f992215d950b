package store

import (
	"context"
	"slices"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// newestReward is the reward of an app with the highest id.
type newestReward struct {
	key     requestKey
	id      rewards.RewardID
	segment int64
}

// newestRewards reads the newest reward of each app, by one look into the primary key for each.
func newestRewards(ctx context.Context, tx Tx) ([]newestReward, error) {
	return fetchAll(ctx, tx, func(row Row) (r newestReward, err error) {
		err = row.Scan(toID(&r.key.app), toID(&r.id), &r.key.key, &r.segment)
		return r, err
	}, `SELECT a.id, r.id, r.idempotency_key, r.segment::bigint FROM apps a CROSS JOIN LATERAL
		(SELECT id, idempotency_key, segment FROM rewards WHERE app_id = a.id ORDER BY id DESC LIMIT 1) AS r`)
}

// wantRewards fails when one of the newest rewards should be in memory, and is not: the newest batches are missing.
func (s *columnState) wantRewards(newest []newestReward, v *segmentView) error {
	recent := make(map[int64]*segment.Recent, len(s.recent))
	for _, part := range s.recent {
		recent[part.Segment()] = part
	}
	for _, r := range newest {
		if r.segment > v.newest {
			return errNoSegment
		}
		if v.keys[r.segment] != byBatches {
			continue
		}
		part, id := recent[r.segment], segment.ID(r.id)
		if part != nil && slices.Contains(part.Find(nil, keyHash(r.key.app, r.key.key)), id) {
			continue
		}
		if part == nil || !part.Has(id) { // when the row has lost its key, only its own requests fail
			return errNoBatch
		}
	}
	return nil
}

// storeSizes stores how many keys the sealed segments of an earlier version have, so that a lost block is noticed. It
// reads all their blocks once, each segment in a transaction that nobody waits for.
func (s *Store) storeSizes(ctx context.Context) error {
	if s.index.loaded() != indexInColumns || s.segments.sized.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sealTimeout)
	defer cancel()
	numbers, err := readAll(ctx, s, scanNumber, `SELECT number::bigint FROM segments
		WHERE keys = 2 AND (size = 0 OR checksum = 1) ORDER BY number`)
	for _, number := range numbers {
		if err == nil {
			err = s.storeSize(ctx, number)
		}
	}
	s.segments.sized.Store(err == nil)
	return err
}

// storeSize passes over a segment whose blocks PostgreSQL cannot read: whoever looks there gets the error.
func (s *Store) storeSize(ctx context.Context, number int64) error {
	var size int64
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		damage, err := tryQuery(ctx, tx, func(row Row) error { return row.Scan(&size) },
			`SELECT `+entriesOfKeys+` FROM segments g WHERE g.number = ?1`, number)
		if damage != nil {
			size = 0
		}
		return err
	})
	if err != nil || size == 0 {
		return err
	}
	return s.exec(ctx, `UPDATE segments SET size = ?2 WHERE number = ?1 AND keys = 2 AND (size = 0 OR checksum = 1)`,
		number, size)
}
