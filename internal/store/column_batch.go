package store

import (
	"context"
	"encoding/binary"

	"stockrewards/internal/store/segment"
)

// rewardBatch is a row of reward_batches: the rewards that a commit recorded, or the beginning of a segment. Its number
// follows that of the batch before. So who stores it has read all before, and no key makes a second reward.
type rewardBatch struct {
	batchPoint

	segment   int64
	keys, ids []byte
	budgets   string // as read with it
}

// batchPoint is the end of a batch. The random mark says whether a transaction still sees the batch: another one with
// its number, after a fail-over that lost some, has another mark.
type batchPoint struct{ number, mark int64 }

const (
	hashBytes = 8
	uuidBytes = 16
)

// batches are those from a number on, without the entries of the first one when it is known, and the changes of budgets.
const batches = `SELECT number, mark, segment, CASE WHEN number > ?2 THEN keys ELSE '' END,
		CASE WHEN number > ?2 THEN ids ELSE '' END,
		coalesce((SELECT s.value FROM settings s WHERE s.name = '` + settingBudgets + `'), '')
	FROM reward_batches WHERE number >= ?1 ORDER BY number`

// newestBatch is the mark of the newest batch.
const newestBatch = `SELECT b.mark FROM reward_batches b ORDER BY b.number DESC LIMIT 1`

func scanBatch(row Row) (b rewardBatch, err error) {
	err = row.Scan(&b.number, &b.mark, &b.segment, toBytes{&b.keys}, toBytes{&b.ids}, &b.budgets)
	return b, err
}

// newBatch returns the batch of requests after what is known. Its mark is the random end of an id.
func (r *recording) newBatch(requests []int) *rewardBatch {
	b := &rewardBatch{segment: r.known.newest()}
	b.number = r.known.last.number + 1
	for _, i := range requests {
		b.keys = binary.BigEndian.AppendUint64(b.keys, uint64(r.hashes[i]))
		b.ids = append(b.ids, r.ids[i][:]...)
		b.mark = int64(binary.BigEndian.Uint64(r.ids[i][uuidBytes-hashBytes:]))
	}
	return b
}

// later reads the batches from the last one that is known on, or the whole table when that one is gone: at least one.
func (s *columnState) later(ctx context.Context, tx Tx) (list []rewardBatch, whole bool, err error) {
	if s.view != nil {
		list, err = fetchAll(ctx, tx, scanBatch, batches, s.last.number, s.last.number)
		if err != nil || len(list) > 0 && list[0].batchPoint == s.last {
			return list, false, err
		}
	}
	list, err = fetchAll(ctx, tx, scanBatch, batches, 0, -1)
	if err == nil && len(list) == 0 {
		err = errNoSegment
	}
	return list, true, err
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
	}
	s.last = b.batchPoint
}

// soughtKeys are the keys of requests, to be looked for.
func (r *recording) soughtKeys(requests []int) []soughtKey {
	list := make([]soughtKey, len(requests))
	for n, i := range requests {
		list[n] = soughtKey{r.key(i), r.hashes[i]}
	}
	return list
}
