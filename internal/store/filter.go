package store

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"stockrewards/internal/store/segment"
)

// filterNotes is what a process found out about the stored filters that it read. It is safe for concurrent use.
type filterNotes struct {
	mu        sync.Mutex
	damaged   []filterDamage
	unchecked []filterSum
	givenUp   []int64 // segments whose filter cannot be made again
}

// filterDamage says what is wrong with the stored filter of some segments.
type filterDamage struct {
	first, last int64
	what        string
}

// filterSum is the checksum of a filter that an earlier version stored.
type filterSum struct{ first, last, checksum int64 }

// parse returns a stored filter, or an unknown one in the place of a damaged one.
func (n *filterNotes) parse(first, last int64, stored []byte, checksum int64) *segment.Filter {
	f, err := segment.ParseFilter(first, last, stored, checksum)
	if err != nil {
		return n.unknown(first, last, err)
	}
	if checksum == segment.Unchecked {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.forgetSum(first, last)
		n.unchecked = append(n.unchecked, filterSum{first, last, segment.Checksum(stored)})
	}
	return f
}

// unknown notes that a stored filter is damaged. It returns an unknown filter in its place, so that no key is missed: a
// reward would be bought twice.
func (n *filterNotes) unknown(first, last int64, damage error) *segment.Filter {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := slices.ContainsFunc(n.damaged, func(d filterDamage) bool { return d.first == first && d.last == last })
	if !known {
		n.damaged = append(n.damaged, filterDamage{first, last, damage.Error()})
	}
	return segment.Unknown(first, last)
}

func (n *filterNotes) forgetSum(first, last int64) {
	n.unchecked = slices.DeleteFunc(n.unchecked, func(s filterSum) bool { return s.first == first && s.last == last })
}

// sums lists the checksums that are not stored.
func (n *filterNotes) sums() []filterSum {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.unchecked)
}

// giveUp notes that the filter of a segment cannot be made again. A try reads the whole table, so it is the last one.
func (n *filterNotes) giveUp(number int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.givenUp = append(n.givenUp, number)
}

func (n *filterNotes) gaveUp(number int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Contains(n.givenUp, number)
}

// DamagedFilters lists the stored filters that this process found damaged since its start, each once, oldest first.
// Until a filter is made again, each new key is looked for in its segments.
func (s *Store) DamagedFilters() []string {
	s.filters.mu.Lock()
	defer s.filters.mu.Unlock()
	list := make([]string, len(s.filters.damaged))
	for i, d := range s.filters.damaged {
		list[i] = fmt.Sprintf("the filter of the segments %d to %d was damaged: %s", d.first, d.last, d.what)
	}
	return list
}

// storeChecksums stores the checksums of filters of an earlier version, as this process read them. Damage of later is
// noticed then.
func (s *Store) storeChecksums(ctx context.Context) error {
	for _, f := range s.filters.sums() {
		err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) (err error) {
			if _, columns := tx.(ColumnTx); columns {
				_, err = tx.Exec(ctx, setColumnChecksum, f.first, f.checksum)
				return err
			}
			_, err = tx.Exec(ctx, `UPDATE segment_filters SET checksum = ?3 WHERE first = ?1 AND last = ?2
				AND checksum = 1`, f.first, f.last, f.checksum)
			return err
		})
		if err != nil {
			return err
		}
		s.filters.mu.Lock()
		s.filters.forgetSum(f.first, f.last)
		s.filters.mu.Unlock()
	}
	return nil
}
