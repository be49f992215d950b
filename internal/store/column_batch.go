package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"slices"

	"stockrewards/internal/store/segment"
)

// rewardBatch is a row of reward_batches: the rewards that a commit recorded, or the beginning of a segment. Its number
// follows that of the batch before. So who stores it has read all before, and no key makes a second reward.
type rewardBatch struct {
	batchPoint

	segment          int64
	keys, users, ids []byte
	budgets          string // as read with it
}

// batchPoint is the end of a batch. The random mark says whether a transaction still sees the batch: another one with
// its number, after a fail-over that lost some, has another mark.
type batchPoint struct{ number, mark int64 }

const (
	hashBytes     = 8
	userPartBytes = 6
	uuidBytes     = 16
)

// batches are those from a number on, without the entries of the first one when it is known, and the changes of
// budgets.
const batches = `SELECT number, mark, segment, CASE WHEN number > ?2 THEN keys ELSE '' END,
		CASE WHEN number > ?2 THEN users ELSE '' END, CASE WHEN number > ?2 THEN ids ELSE '' END,
		coalesce((SELECT s.value FROM settings s WHERE s.name = '` + settingBudgets + `'), '')
	FROM reward_batches WHERE number >= ?1 ORDER BY number`

func scanBatch(row Row) (b rewardBatch, err error) {
	err = row.Scan(
		&b.number, &b.mark, &b.segment, toBytes{&b.keys}, toBytes{&b.users}, toBytes{&b.ids}, &b.budgets)
	n, users := len(b.ids)/uuidBytes, len(b.users)
	if len(b.keys) != n*hashBytes || users > 0 && users != n*userPartBytes { // none: of an earlier version
		err = errors.Join(err, errNoSegment)
	}
	return b, err
}

// newBatch returns the batch of requests after what is known. A retry has another mark, as it may come after other
// batches.
func (r *recording) newBatch(requests []int) *rewardBatch {
	b := &rewardBatch{segment: r.known.newest()}
	b.batchPoint = batchPoint{r.known.last.number + 1, newMark()}
	for _, i := range requests {
		b.keys = binary.BigEndian.AppendUint64(b.keys, uint64(r.hashes[i]))
		b.users = userPart(r.batch[i].UserID).Append(b.users)
		b.ids = append(b.ids, r.ids[i][:]...)
	}
	return b
}

// newMark returns a random mark.
func newMark() int64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return int64(binary.BigEndian.Uint64(b[:]))
}

// columns are its entries, as they are stored.
func (b *rewardBatch) columns() []any { return []any{b.keys, b.users, b.ids} }

// hashes are the hashes of its keys.
func (b *rewardBatch) hashes() [][]byte { return slices.Collect(slices.Chunk(b.keys, hashBytes)) }

// later reads the batches from the last one that is known on, which is there without its entries. It returns nil when
// that one is gone, or none is known.
func (s *columnState) later(ctx context.Context, tx Tx) ([]rewardBatch, error) {
	if s.view == nil {
		return nil, nil
	}
	list, err := fetchAll(ctx, tx, scanBatch, batches, s.last.number, s.last.number)
	if err != nil || len(list) == 0 || list[0].batchPoint != s.last {
		return nil, err
	}
	for i := range list[1:] {
		if list[i+1].number != list[i].number+1 {
			return nil, errNoBatch
		}
	}
	return list, nil
}

// after returns which of some batches come after the last one that is known by now, not nil; or nil when that is not
// among them, although later ones are.
func (s *columnState) after(list []rewardBatch) []rewardBatch {
	if list[len(list)-1].number < s.last.number {
		return list[:0]
	}
	i := slices.IndexFunc(list, func(b rewardBatch) bool { return b.batchPoint == s.last })
	if i < 0 {
		return nil
	}
	return list[i+1:]
}

// add adds a batch.
func (s *columnState) add(b *rewardBatch) {
	n := len(s.recent)
	if n == 0 || s.recent[n-1].Segment() != b.segment {
		s.recent = append(s.recent[:n:n], segment.NewRecent(b.segment))
		n++
	}
	for i := range len(b.keys) / hashBytes {
		hash := int64(binary.BigEndian.Uint64(b.keys[i*hashBytes:]))
		s.recent[n-1].Add(hash, segment.ID(b.ids[i*uuidBytes:]))
		if len(b.users) > i*userPartBytes {
			s.recent[n-1].AddUser(segment.ParseUserPart(b.users[i*userPartBytes:]))
		}
	}
	s.last = b.batchPoint
	if s.points == nil {
		s.points = new([somePoints]batchPoint)
	}
	s.points[uint64(b.number)%somePoints] = b.batchPoint
}

// somePoints is how many of the newest batches are remembered.
const somePoints = 64

// precedes reports whether a batch is the next one. The first one of a segment, and so the first one in the table, is
// empty.
func (s *columnState) precedes(b *rewardBatch) bool {
	if s.points == nil {
		return len(b.keys) == 0
	}
	return b.number == s.last.number+1
}

// has reports whether it has a batch. It may have forgotten an old one.
func (s *columnState) has(b batchPoint) bool {
	return s.points != nil && s.points[uint64(b.number)%somePoints] == b
}

// continues reports whether the segments that grow are the same.
func (s *columnState) continues(from *columnState) bool {
	return s.recent[len(s.recent)-1] == from.recent[len(from.recent)-1]
}

// soughtKeys are the keys of requests, to be looked for.
func (r *recording) soughtKeys(requests []int) []soughtKey {
	list := make([]soughtKey, len(requests))
	for n, i := range requests {
		list[n] = soughtKey{r.key(i), r.hashes[i]}
	}
	return list
}
