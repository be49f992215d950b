package store

import (
	"context"
	"fmt"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// setColumnChecksum stores the checksum of the filter of a segment that an earlier version sealed.
const setColumnChecksum = `UPDATE segments SET checksum = ?2 WHERE number = ?1 AND checksum = 1`

// repairFilters replaces the damaged filters of sealed segments over PostgreSQL: by the stored one, when another
// process made it again, or else by one that it makes from the segment's rewards, and stores.
func (s *Store) repairFilters(ctx context.Context) error {
	state, _ := s.segments.now()
	v := state.view
	for _, f := range v.filters {
		if f.Known() || !v.sealed(f.First) {
			continue
		}
		again, err := s.storedFilter(ctx, f.First, v)
		if err == nil && !again.Known() && !s.filters.gaveUp(f.First) {
			again, err = s.filterOfRewards(ctx, f.First, v)
		}
		if err != nil {
			return err
		}
		if again.Known() {
			s.segments.repaired(again, v)
		}
	}
	return nil
}

// storedFilter reads the filter of a segment again. It is unknown when it is still damaged, or gone.
func (s *Store) storedFilter(ctx context.Context, number int64, v *segmentView) (*segment.Filter, error) {
	f := segment.Unknown(number, number)
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tryQuery(ctx, tx, func(row Row) error {
			var checksum int64
			var stored []byte
			err := row.Scan(&checksum, toBytes{&stored})
			if err == nil {
				f = s.filters.parse(number, number, stored, checksum)
			}
			return err
		}, `SELECT checksum, filter FROM segments WHERE number = ?1 AND keys = ?2 AND `+stillThere,
			number, int64(byBlocks), v.newest, v.mark)
		return err
	})
	return f, err
}

// filterOfRewards makes the filter of a sealed segment from its rewards, and stores it. That reads the whole table,
// as no index has the rewards of a segment. When some are missing it fails, and the segment keeps no filter.
func (s *Store) filterOfRewards(ctx context.Context, number int64, v *segmentView) (*segment.Filter, error) {
	var f *segment.Filter
	var keys, found int64
	first, last := segment.KeyPlace(number, 0), segment.KeyPlace(number, -1)
	err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		_, err := fetchValues(ctx, tx, []any{&keys}, `SELECT coalesce(sum(octet_length(entries)), 0)::bigint / ?3
			FROM key_blocks WHERE place BETWEEN ?1 AND ?2`, first, last, segment.IDEntryBytes)
		if err != nil {
			return err
		}
		f, found = segment.NewFilter(number, s.segments.filterSize(keys)), 0
		return tx.Query(ctx, func(row Row) error {
			var app rewards.AppID
			var key string
			err := row.Scan(toID(&app), &key)
			f.Add(number, keyHash(app, key))
			found++
			return err
		}, `SELECT app_id, idempotency_key FROM rewards WHERE segment = ?1`, number)
	})
	if err != nil {
		return nil, err
	}
	if found != keys {
		s.filters.giveUp(number)
		return nil, fmt.Errorf("store: cannot make the filter of segment %d again: it has %d rewards and %d keys: "+
			"run `stockrewards audit`", number, found, keys)
	}
	bits, err := f.Bytes()
	if err != nil {
		return nil, err
	}
	return f, s.exec(ctx, `UPDATE segments SET filter = ?2, checksum = ?5 WHERE number = ?1 AND keys = 2 AND `+
		stillThere, number, bits, v.newest, v.mark, segment.Checksum(bits))
}

// repaired puts a filter into the place of an unknown one, unless the segments changed since v.
func (x *columnSegments) repaired(f *segment.Filter, v *segmentView) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := *x.state.view
	if now.newest != v.newest || now.mark != v.mark {
		return
	}
	for _, old := range now.filters {
		if old.First == f.First && !old.Known() {
			now.filters = replaced(now.filters, f)
			x.state.view = &now
		}
	}
}
