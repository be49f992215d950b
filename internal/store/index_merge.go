package store

import (
	"context"

	"stockrewards/internal/store/segment"
)

// mergeWidth is how many filters of equal size become one, up to segment.MostSegments, so that a key is looked for in
// few filters: 10 with 10 million rewards, 21 with a billion.
const mergeWidth = 8

// MergeFilters merges neighboring filters of sealed segments, or makes one of an earlier version again. It reports
// whether it found any.
// It may be interrupted and repeated at any time.
func (s *Store) MergeFilters(ctx context.Context) (bool, error) {
	first, last, found := s.index.toMerge()
	if !found {
		return false, nil
	}
	merged := segment.NewMerged(first, last, int(s.index.size))
	for number := first; number <= last; number++ {
		err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
			return fetchEach(ctx, tx, scanNumber, func(hash int64) error {
				merged.Add(number, hash)
				return nil
			}, `SELECT hash FROM reward_keys WHERE segment = ?1`, number)
		})
		if err != nil {
			return false, err
		}
	}
	bits, err := merged.Bytes()
	if err != nil {
		return false, err
	}
	err = s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		n, err := tx.Exec(ctx, `DELETE FROM segment_filters WHERE first BETWEEN ?1 AND ?2 AND last <= ?2`, first, last)
		if err != nil || n == 0 { // another process merged them further
			return err
		}
		return insertFilter(ctx, tx, merged, bits)
	})
	if err == nil {
		s.index.replace(merged)
	}
	return err == nil, err
}

func (x *rewardIndex) toMerge() (first, last int64, found bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, f := range x.filters { // those of an earlier version
		if f.Outdated(int(x.size)) && f.Width() <= segment.MostSegments {
			return f.First, f.Last, true
		}
	}
	return toMerge(x.filters)
}

// toMerge finds the oldest filters of equal size that make up one of the next size.
func toMerge(filters []*segment.Filter) (first, last int64, found bool) {
	for i, f := range filters {
		width := f.Width()
		if i+mergeWidth > len(filters) || width >= segment.MostSegments {
			continue
		}
		group := filters[i : i+mergeWidth]
		first, last = f.First, group[mergeWidth-1].Last
		if last-first+1 == width*mergeWidth && first%(width*mergeWidth) == 0 && segment.Alike(group) {
			return first, last, true
		}
	}
	return 0, 0, false
}

// replace puts a merged filter in the place of those that it covers.
func (x *rewardIndex) replace(merged *segment.Filter) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.filters = replaced(x.filters, merged)
}

func replaced(filters []*segment.Filter, merged *segment.Filter) (list []*segment.Filter) {
	for _, f := range filters {
		switch {
		case f.First == merged.First:
			list = append(list, merged)
		case f.First > merged.Last || f.Last < merged.First:
			list = append(list, f)
		}
	}
	return list
}
