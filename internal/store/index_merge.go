package store

import (
	"context"
	"slices"

	"stockrewards/internal/store/segment"
)

// mergeWidth is how many filters of equal size become one, up to segment.MostSegments, so that a key is looked for in
// few filters: 10 with 10 million rewards, 21 with a billion.
const mergeWidth = 8

// MergeFilters merges neighboring filters of sealed segments, or makes a filter of an earlier version, or a damaged
// one, again. It reports whether it found any. It may be interrupted and repeated at any time.
func (s *Store) MergeFilters(ctx context.Context) (bool, error) {
	merged, err := s.mergedFilter(ctx)
	if err != nil || merged == nil {
		return false, err
	}
	bits, err := merged.Bytes()
	if err != nil {
		return false, err
	}
	err = s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		n, err := tx.Exec(ctx, `DELETE FROM segment_filters WHERE first BETWEEN ?1 AND ?2 AND last <= ?2`,
			merged.First, merged.Last)
		if err != nil || n == 0 { // another process merged them further
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO segment_filters (first, last, bits, checksum) VALUES (?1, ?2, ?3, ?4)`,
			merged.First, merged.Last, bits, segment.Checksum(bits))
		return err
	})
	if err == nil {
		s.index.replace(merged)
	}
	return err == nil, err
}

// mergedFilter makes the next filter that MergeFilters stores, or returns nil.
func (s *Store) mergedFilter(ctx context.Context) (*segment.Filter, error) {
	filters := s.index.allFilters()
	for _, f := range filters {
		if f.Outdated(int(s.index.size)) && f.Width() <= segment.MostSegments {
			return s.filterAgain(ctx, f.First, f.Last)
		}
	}
	if first, last, found := toMerge(filters); found {
		return mergeThese(filters, first, last), nil
	}
	return nil, nil //nolint:nilnil // mostly nothing can be merged
}

// filterAgain makes the filter of sealed segments from their rewards.
func (s *Store) filterAgain(ctx context.Context, first, last int64) (*segment.Filter, error) {
	size := s.index.size
	made, found := segment.NewMerged(first, last, int(size)), int64(0)
	for number := first * size; number < (last+1)*size; number += upgradeRead {
		err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
			return fetchEach(ctx, tx, scanEntry, func(e entry) error {
				made.Add((e.number-1)/size, e.key)
				found++
				return nil
			}, entries+` AND rowid < ?2`, number+1, min(number+upgradeRead, (last+1)*size)+1)
		})
		if err != nil {
			return nil, err
		}
	}
	if found != made.Width()*size {
		return nil, errGap
	}
	return made, nil
}

func (x *rewardIndex) allFilters() []*segment.Filter {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.filters
}

// mergeThese merges the filters of the segments first to last.
func mergeThese(filters []*segment.Filter, first, last int64) *segment.Filter {
	return segment.Merge(slices.DeleteFunc(slices.Clone(filters), func(f *segment.Filter) bool {
		return f.First < first || f.Last > last
	}))
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
