package store

import (
	"context"
	"slices"

	"stockrewards/internal/store/segment"
)

// A full segment is sealed in the background, in short transactions. What is stored follows from its rewards alone. So
// a process may seal it again from the beginning, after a restart or after another process: it passes over what is
// stored.

// blocksPerWrite is how many blocks a transaction stores: a quarter of a megabyte.
const blocksPerWrite = 500

// fullTail returns the oldest segment that is full and not sealed, or nil.
func (x *rewardIndex) fullTail() *segment.Tail {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.tails) > 1 {
		return x.tails[0]
	}
	return nil
}

// sealFull seals the oldest full segment. It reports whether there was one.
func (s *Store) sealFull(ctx context.Context) (bool, error) {
	full := s.index.fullTail()
	if full == nil {
		return false, nil
	}
	filter, err := s.seal(ctx, full)
	if err == nil {
		s.index.drop(full, filter)
	}
	return err == nil, err
}

// sealAllFull seals every full segment.
func (s *Store) sealAllFull(ctx context.Context) (err error) {
	for more := true; more && err == nil; {
		more, err = s.sealFull(ctx)
	}
	return err
}

// seal stores a full segment and returns its filter.
func (s *Store) seal(ctx context.Context, full *segment.Tail) (*segment.Filter, error) {
	number := (full.First() - 1) / s.index.size
	filter := full.Filter(number)
	bits, err := filter.Bytes()
	if err != nil {
		return nil, err
	}
	if err := s.storeBlocks(ctx, "key_blocks", segment.Blocks(number, full.Keys())); err != nil {
		return nil, err
	}
	if err := s.storeBlocks(ctx, "user_blocks", segment.Blocks(number, full.Users())); err != nil {
		return nil, err
	}
	return filter, s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		return markSealed(ctx, tx, full, filter, bits)
	})
}

func (s *Store) storeBlocks(ctx context.Context, table string, blocks []segment.Block) error {
	for part := range slices.Chunk(blocks, blocksPerWrite) {
		rows := make([][]any, len(part))
		for i := range part {
			rows[i] = []any{&part[i].Place, part[i].Entries}
		}
		err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
			_, err := tx.ExecEach(ctx, `INSERT INTO `+table+` (place, entries) VALUES (?1, ?2)
				ON CONFLICT DO NOTHING`, rows)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// markSealed marks a segment of which all blocks are stored, and stores its filter, unless another process did. A
// segment of an earlier version has a filter already.
func markSealed(ctx context.Context, tx Tx, full *segment.Tail, filter *segment.Filter, bits []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO segments (number, first_reward, last_reward, in_blocks) VALUES (?1, ?2, ?3, 1)
		ON CONFLICT (number) DO UPDATE SET in_blocks = 1`, filter.First, full.First(), full.Next()-1)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO segment_filters (first, last, bits, checksum) SELECT ?1, ?1, ?2, ?3
		WHERE NOT EXISTS (SELECT 1 FROM segment_filters WHERE first <= ?1 AND last >= ?1)`, filter.First, bits,
		segment.Checksum(bits))
	return err
}

// drop removes a segment that is sealed from memory, except for its filter.
func (x *rewardIndex) drop(full *segment.Tail, filter *segment.Filter) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.tails[0] != full {
		return
	}
	x.filters = append(x.filters[:len(x.filters):len(x.filters)], filter)
	x.tails = x.tails[1:]
}
