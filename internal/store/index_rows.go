package store

import "context"

// Earlier versions stored a row for each entry of a sealed segment, in reward_keys and reward_users. Until such
// segments are sealed again, as blocks, their rows are read too.

// onlyBlocks notes that no entries are rows. A page that began before still reads both: its transaction may see rows.
func (x *rewardIndex) onlyBlocks() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rows = false
}

// sealAgain seals the segments again whose entries are rows, oldest first, and removes these. Meanwhile it seals those
// that new rewards fill, which would stay in memory otherwise.
func (s *Store) sealAgain(ctx context.Context, progress func(done, total int64)) error {
	for {
		if err := s.sealAllFull(ctx); err != nil {
			return err
		}
		for _, table := range []string{"reward_keys", "reward_users"} {
			if err := s.removeRows(ctx, table); err != nil {
				return err
			}
		}
		var number, total int64
		var found bool
		err := s.engine.Read(ctx, func(ctx context.Context, tx Tx) (err error) {
			if _, columns := tx.(ColumnTx); !columns {
				number, total, found, err = nextInRows(ctx, tx)
			}
			return err
		})
		if err != nil {
			return err
		}
		if !found {
			s.index.onlyBlocks()
			return nil
		}
		progress(number*s.index.size, total*s.index.size)
		if err := s.indexSegment(ctx, number); err != nil {
			return err
		}
	}
}

// nextInRows finds the oldest segment whose entries are rows. total is the number of sealed segments.
func nextInRows(ctx context.Context, tx Tx) (number, total int64, found bool, err error) {
	found, err = fetchValues(ctx, tx, []any{&number, &total}, `SELECT number, (SELECT max(number) + 1 FROM segments)
		FROM segments WHERE in_blocks = 0 ORDER BY number LIMIT 1`)
	return number, total, found, err
}

// removeRows removes the rows of segments that are in blocks by now, which are the oldest, and of one that an
// earlier version had begun to seal, which is the newest.
func (s *Store) removeRows(ctx context.Context, table string) error {
	for _, order := range []string{"ASC", "DESC"} {
		for more := true; more; {
			err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) (err error) {
				more, err = removeSomeRows(ctx, tx, table, order)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// removeSomeRows removes some of the rows of the first segment in an order, unless they are needed. It reports whether
// there may be more.
func removeSomeRows(ctx context.Context, tx Tx, table, order string) (more bool, err error) {
	if _, columns := tx.(ColumnTx); columns {
		return false, nil
	}
	var number int64
	unneeded, err := fetchValues(ctx, tx, []any{&number}, `SELECT e.segment FROM (SELECT segment FROM `+table+`
		ORDER BY segment `+order+` LIMIT 1) AS e
		WHERE NOT EXISTS (SELECT 1 FROM segments s WHERE s.number = e.segment AND s.in_blocks = 0)`)
	if err != nil || !unneeded {
		return false, err
	}
	_, err = tx.Exec(ctx, `DELETE FROM `+table+` WHERE segment = ?1 AND hash <= coalesce((SELECT l.hash
		FROM `+table+` l WHERE l.segment = ?1 ORDER BY l.hash LIMIT 1 OFFSET ?2), 9223372036854775807)`,
		number, upgradeWrite)
	return true, err
}
