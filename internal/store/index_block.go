package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"stockrewards/internal/store/segment"
)

// scanBlockOf reads a block of keys or of users of a sealed segment (see LAYOUT.md).
func scanBlockOf(what string) func(Row) (segment.Block, error) {
	return func(row Row) (b segment.Block, err error) {
		if err = row.Scan(&b.Place, toBytes{&b.Entries}); err == nil && !b.Sound() {
			err = errBlock(what, b.Segment())
		}
		return b, err
	}
}

// errBlock means that a block of a segment cannot be used: what it does not find may be there.
func errBlock(what string, number int64) error {
	return fmt.Errorf("store: a block of %s of segment %d is damaged: run `stockrewards audit`", what, number)
}

// inSealed lists the rewards of a sealed segment whose key has the page's hash, or one that is nearly equal.
func (p *keyPage) inSealed(ctx context.Context, tx Tx, number int64) (numbers []int64, err error) {
	first, last := segment.Places(number, p.hash, p.size)
	found := false
	err = fetchEach(ctx, tx, scanBlockOf("keys"), func(b segment.Block) error {
		numbers, found = b.Find(numbers, p.hash, number*p.size+1, math.MaxInt64), true
		return nil
	}, `SELECT place, entries FROM key_blocks WHERE place BETWEEN ?1 AND ?2`, first, last)
	if err == nil && !found && !p.rows {
		err = p.checkGap(ctx, tx, number, first)
	}
	if err != nil || !p.rows {
		return numbers, err
	}
	older, err := fetchAll(ctx, tx, scanNumber, `SELECT number FROM reward_keys WHERE segment = ?1 AND hash = ?2`,
		number, p.hash)
	return append(numbers, older...), err
}

// checkGap fails when a block with a place is missing: the gap between its neighbors in the segment is too long.
func (p *keyPage) checkGap(ctx context.Context, tx Tx, number, place int64) error {
	before, _, err := fetchOne(ctx, tx, scanBlockOf("keys"), `SELECT place, entries FROM key_blocks
		WHERE place >= ?1 AND place < ?2 ORDER BY place DESC LIMIT 1`, number*segment.PlacesPerSegment, place)
	if err != nil {
		return err
	}
	after, _, err := fetchOne(ctx, tx, scanBlockOf("keys"), `SELECT place, entries FROM key_blocks
		WHERE place >= ?1 AND place < ?2 ORDER BY place LIMIT 1`, place, (number+1)*segment.PlacesPerSegment)
	if err == nil && segment.Neighbors(before, after).LacksBlock(p.size) {
		err = errBlock("keys", number)
	}
	return err
}

// inSealed lists the newest rewards below a number whose user has the hash of the page's, or one that is nearly equal,
// up to a limit. They are of the sealed segments before another.
func (p *userPage) inSealed(ctx context.Context, tx Tx, before, below int64, limit int) (numbers []int64, err error) {
	hash, size := userHash(p.user), p.index.size
	first, last := segment.Places(0, hash, size)
	_, newest := segment.Places(0, hash, below-2-(before-1)*size) // in the newest of these segments
	err = fetchEach(ctx, tx, scanBlockOf("users"), func(b segment.Block) error {
		numbers = b.Find(numbers, hash, b.Segment()*size+1, below)
		if len(numbers) >= limit {
			return errEnough
		}
		return nil
	}, `SELECT b.place, b.entries FROM segments s CROSS JOIN user_blocks b
		WHERE s.number < ?1 AND s.in_blocks = 1 AND b.place >= s.number * ?5 + ?2
			AND b.place <= s.number * ?5 + CASE WHEN s.number = ?1 - 1 THEN ?4 ELSE ?3 END
		ORDER BY s.number DESC, b.place DESC`, before, first, last, newest, int64(segment.PlacesPerSegment))
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if p.rows {
		older, err := fetchAll(ctx, tx, scanNumber, `SELECT u.number FROM segments s CROSS JOIN reward_users u
			WHERE s.number < ?1 AND s.in_blocks = 0 AND u.segment = s.number AND u.hash = ?2 AND u.number < ?3
			ORDER BY s.number DESC, u.number DESC LIMIT ?4 + 0`, before, hash, below, limit)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, older...)
		slices.SortFunc(numbers, func(a, b int64) int { return cmp.Compare(b, a) })
	}
	return numbers[:min(limit, len(numbers))], nil
}
