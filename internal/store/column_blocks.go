package store

import (
	"context"
	"errors"
	"slices"

	"stockrewards/internal/store/segment"
)

// storeKeys stores blocks of the keys of a full segment that was seen with v, with the rows of their rewards, as far as
// these are known. It does nothing when a server took over that has lost some of that.
func (s *Store) storeKeys(
	ctx context.Context, blocks []segment.Block, known segment.Rows, v *segmentView,
) error {
	for part := range slices.Chunk(blocks, blocksPerWrite) {
		places, entries, rows := make([]int64, len(part)), make([][]byte, len(part)), make([]string, len(part))
		for i := range part {
			places[i], entries[i] = part[i].Place, part[i].Entries
			rows[i] = segment.RowsText(known.Of(part[i].Entries))
		}
		err := s.exec(ctx, `INSERT INTO key_blocks (place, entries, rows)
			SELECT place, entries, rows::tid[]
			FROM unnest(?1::bigint[], ?2::bytea[], ?5::text[]) AS b (place, entries, rows)
			WHERE `+stillThere+` ON CONFLICT DO NOTHING`, places, entries, v.newest, v.mark, rows)
		if err != nil {
			return err
		}
	}
	return nil
}

// storeUsers is storeKeys for the users of a segment.
func (s *Store) storeUsers(
	ctx context.Context, number int64, blocks []segment.UserBlock, known segment.Rows, v *segmentView,
) error {
	for part := range slices.Chunk(blocks, blocksPerWrite) {
		first, entries, rows := make([][]byte, len(part)), make([][]byte, len(part)), make([][]byte, len(part))
		for i := range part {
			first[i], entries[i], rows[i] = part[i].First(), part[i], known.Of(part[i])
		}
		err := s.exec(ctx, `INSERT INTO user_blocks (segment, first, entries, rows)
			SELECT ?6::integer, b.* FROM unnest(?1::bytea[], ?2::bytea[], ?5::bytea[]) AS b
			WHERE `+stillThere+` ON CONFLICT DO NOTHING`,
			first, entries, v.newest, v.mark, rows, number)
		if err != nil {
			return err
		}
	}
	return nil
}

// stillThere is the condition that nothing is lost of what was seen with the newest segment ?3 and its mark ?4.
const stillThere = `EXISTS (SELECT 1 FROM segments g WHERE g.number = ?3 AND g.mark = ?4)`

// sealMark is a statement that marks the keys or the users of a segment, which was seen with a view, as sealed, unless
// another process was first or some of their blocks were lost.
type sealMark struct {
	query string
	args  []any
}

// sealedKeys marks the keys of a segment by their number, and stores that and the filter.
func (v *segmentView) sealedKeys(number, count int64, filter []byte) sealMark {
	const query = `UPDATE segments SET filter = ?2, checksum = ?8, size = ?9, keys = 2
		WHERE number = ?1 AND keys < 2 AND ` + stillThere + `
		AND (SELECT coalesce(sum(octet_length(entries)), 0) FROM key_blocks WHERE place BETWEEN ?5 AND ?6) = ?7`
	first, last := segment.KeyPlace(number, 0), segment.KeyPlace(number, -1)
	return sealMark{query, []any{
		number, filter, v.newest, v.mark, first, last, count * segment.IDEntryBytes, segment.Checksum(filter), count,
	}}
}

// sealedUsers marks the users of a segment by the number of its rewards; before says where they were, and file which
// one the rows are of.
func (v *segmentView) sealedUsers(number int64, before entriesIn, count, file int64) sealMark {
	const query = `UPDATE segments SET users = 2, file = ?6 WHERE number = ?1 AND users = ?2 AND ` + stillThere + `
		AND (SELECT coalesce(sum(octet_length(entries)), 0) FROM user_blocks WHERE segment = ?1) = ?5`
	return sealMark{query, []any{number, int64(before), v.newest, v.mark, count * segment.UserEntryBytes, file}}
}

// errNotSealed undoes a transaction that did not mark all parts of a segment.
var errNotSealed = errors.New("the segment was not sealed")

// storeSealed marks parts of a segment as sealed, of which all blocks are stored. It also adds a batch without rewards:
// whoever knows that the segment is sealed knows that batch, which is lost if the sealing is lost. Batches of segments
// whose keys are sealed are removed. It does nothing as storeKeys, or when a part cannot be marked.
func (s *Store) storeSealed(ctx context.Context, parts ...sealMark) (done bool, err error) {
	err = s.engine.WriteForClients(ctx, func(ctx context.Context, tx Tx) error {
		for _, p := range parts {
			n, err := tx.Exec(ctx, p.query, p.args...)
			if err != nil {
				return err
			}
			if n == 0 {
				return errNotSealed
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO reward_batches (number, mark, segment, keys, users, ids)
			SELECT number + 1, ?1, segment, '', '', '' FROM reward_batches ORDER BY number DESC LIMIT 1`, newMark())
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM reward_batches WHERE number < (SELECT max(number) FROM reward_batches)
			AND segment IN (SELECT g.number FROM segments g WHERE g.keys = 2)`)
		return err
	})
	if errors.Is(err, errNotSealed) {
		return false, nil
	}
	return err == nil, err
}
