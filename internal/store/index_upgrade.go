package store

import (
	"context"

	"stockrewards/internal/store/segment"
)

// The steps of IndexRewards: short enough to let clients write between them.
const (
	upgradeRead  = 4096 // rewards in a read transaction
	upgradeWrite = 2048 // entries in a write transaction
)

// IndexRewards seals the rewards of a store that an older version wrote: with separate indexes of the database, which
// it drops, or with a row for each entry of a segment, which it removes. The store is in use meanwhile. progress gets
// the rewards indexed so far and all rewards. IndexRewards may be interrupted at any time and repeated; it does
// nothing when it has nothing to do.
func (s *Store) IndexRewards(ctx context.Context, progress func(done, total int64)) error {
	if err := s.sealAgain(ctx, progress); err != nil {
		return err
	}
	for {
		number, total, needed, err := s.nextToIndex(ctx)
		if err != nil || !needed {
			return err
		}
		done := number * s.index.size
		progress(min(done, total), total)
		if total-done < s.index.size {
			return s.dropLegacyIndexes(ctx)
		}
		if err := s.indexSegment(ctx, number); err != nil {
			return err
		}
	}
}

// nextToIndex returns the first segment that is not sealed, the number of rewards, and whether the
// store needs an upgrade at all.
func (s *Store) nextToIndex(ctx context.Context) (number, total int64, needed bool, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) (err error) {
		number, total, needed = 0, 0, false
		if _, columns := tx.(ColumnTx); columns {
			return nil
		}
		var one int
		if needed, err = fetchValues(ctx, tx, []any{&one}, legacyIndex); err != nil || !needed {
			return err
		}
		if _, err := fetchValues(ctx, tx, []any{&total},
			`SELECT rowid FROM rewards ORDER BY rowid DESC LIMIT 1`); err != nil {
			return err
		}
		_, err = fetchValues(ctx, tx, []any{&number}, `SELECT number + 1 FROM segments ORDER BY number DESC LIMIT 1`)
		return err
	})
	return number, total, needed, err
}

// indexSegment seals a segment of which every reward is stored.
func (s *Store) indexSegment(ctx context.Context, number int64) error {
	first := number*s.index.size + 1
	tail := segment.NewTail(first)
	for until := first + s.index.size; tail.Next() < until; {
		before := tail.Next()
		err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
			return readEntries(ctx, tx, tail, min(before+upgradeRead, until))
		})
		if err != nil {
			return err
		}
		if tail.Next() == before {
			return errGap
		}
	}
	_, err := s.seal(ctx, tail)
	return err
}

// readEntries adds the rewards from a tail's next number up to a bound.
func readEntries(ctx context.Context, tx Tx, tail *segment.Tail, until int64) error {
	return fetchEach(ctx, tx, scanEntry, func(e entry) error {
		if e.number != tail.Next() {
			return errGap
		}
		tail.Add(e.key, e.user)
		return nil
	}, entries+` AND rowid < ?2 ORDER BY rowid`, tail.Next(), until)
}

func (s *Store) dropLegacyIndexes(ctx context.Context) error {
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		for _, drop := range []string{
			`DROP INDEX IF EXISTS rewards_by_key`, `DROP INDEX IF EXISTS rewards_by_user`,
		} {
			if _, err := tx.Exec(ctx, drop); err != nil {
				return err
			}
		}
		return nil
	})
}
