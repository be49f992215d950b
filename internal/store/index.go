package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// rewardIndex finds rewards by idempotency key and by user in segments (see LAYOUT.md). A reward's
// number is its rowid, so only SQLite has it. Until an older store is upgraded, indexes of the
// database find them.
type rewardIndex struct {
	ids   *rewards.IDs // are in the order of the numbers
	notes *filterNotes
	size  int64 // rewards in a segment

	mu      sync.RWMutex
	use     indexUse
	filters []*segment.Filter // of the sealed segments, oldest first
	tails   []*segment.Tail   // of the other segments, oldest first; the last one grows
	rows    bool              // the entries of some sealed segments are rows, not blocks
}

// indexUse says which index finds rewards.
type indexUse int

const (
	indexUnknown    indexUse = iota // not loaded, or an upgrade is under way
	indexInColumns                  // of PostgreSQL: see columnSegments
	indexInSegments                 // of SQLite
)

func newRewardIndex(ids *rewards.IDs, notes *filterNotes) *rewardIndex {
	return &rewardIndex{ids: ids, notes: notes, size: segment.Size}
}

// SealEvery sets the number of rewards, and of lots, in a segment. Every process that ever uses the store must
// set the same. Call it before the first use.
func (s *Store) SealEvery(size int64) { s.index.size, s.segments.size, s.lots.size = size, size, size }

// keyHash is the hash of an idempotency key in its app. A client cannot choose keys that collide
// cheaply.
func keyHash(app rewards.AppID, key string) int64 {
	sum := sha256.Sum256(append(app[:], key...))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// userHash is the hash of a user: the random part of the id.
func userHash(user rewards.UserID) int64 { return int64(binary.BigEndian.Uint64(user[8:])) }

// userPart is what finds the rewards of a user over PostgreSQL.
func userPart(user rewards.UserID) segment.UserPart { return segment.NewUserPart(userHash(user)) }

// legacyIndex finds one of the two indexes that segments replace. They are dropped together.
const legacyIndex = `SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = 'rewards_by_key'`

// errGap means that the store was damaged: rewards are numbered without gaps, and never deleted.
var errGap = errors.New("rewards are missing: run `stockrewards audit`")

// loaded says which index finds rewards; indexUnknown means that load must find out.
func (x *rewardIndex) loaded() indexUse {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.use
}

// load reads the filters and the tails, unless that was done. It reports whether segments find
// rewards.
func (x *rewardIndex) load(ctx context.Context, tx Tx) (bool, error) {
	if use := x.loaded(); use != indexUnknown {
		return use == indexInSegments, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.use != indexUnknown {
		return x.use == indexInSegments, nil
	}
	if _, columns := tx.(ColumnTx); columns {
		x.use = indexInColumns
		return false, nil
	}
	var one int
	if legacy, err := fetchValues(ctx, tx, []any{&one}, legacyIndex); err != nil || legacy {
		return false, err
	}
	sealed, err := x.checkSize(ctx, tx)
	if err != nil {
		return false, err
	}
	if err := x.loadFilters(ctx, tx, sealed); err != nil {
		return false, err
	}
	if _, _, x.rows, err = nextInRows(ctx, tx); err != nil {
		return false, err
	}
	x.tails = []*segment.Tail{segment.NewTail(x.sealed()*x.size + 1)}
	if err := x.extend(ctx, tx); err != nil {
		return false, err
	}
	x.use = indexInSegments
	return true, nil
}

// checkSize returns the number of sealed segments. It fails when the newest one has another size.
func (x *rewardIndex) checkSize(ctx context.Context, tx Tx) (sealed int64, err error) {
	var number, last int64
	found, err := fetchValues(ctx, tx, []any{&number, &last},
		`SELECT number, last_reward FROM segments ORDER BY number DESC LIMIT 1`)
	if err != nil || !found {
		return 0, err
	}
	if last != (number+1)*x.size {
		return 0, fmt.Errorf("store: segment %d ends with reward %d, want %d: the store has another segment size",
			number, last, (number+1)*x.size)
	}
	return number + 1, nil
}

func (x *rewardIndex) loadFilters(ctx context.Context, tx Tx, sealed int64) error {
	x.filters = nil
	err := tx.Query(ctx, func(row Row) error {
		var first, last, checksum int64
		var stored []byte
		if err := row.Scan(&first, &last, &checksum, toBytes{&stored}); err != nil {
			return err
		}
		if first != x.sealed() {
			return errNoFilter(x.sealed())
		}
		x.filters = append(x.filters, x.notes.parse(first, last, stored, checksum))
		return nil
	}, `SELECT first, last, checksum, bits FROM segment_filters ORDER BY first`)
	if err == nil && x.sealed() != sealed {
		err = errNoFilter(min(sealed, x.sealed()))
	}
	return err
}

func errNoFilter(number int64) error {
	return fmt.Errorf("store: the filter of segment %d is missing or wrong: run `stockrewards audit`", number)
}

// sealed is the number of sealed segments. They are counted from 0.
func (x *rewardIndex) sealed() int64 {
	if len(x.filters) == 0 {
		return 0
	}
	return x.filters[len(x.filters)-1].Last + 1
}

// catchUp adds the rewards that other processes recorded, and those of a commit whose outcome
// was learned late. Later ids are after theirs.
func (x *rewardIndex) catchUp(ctx context.Context, tx Tx) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.extend(ctx, tx)
}

func (x *rewardIndex) extend(ctx context.Context, tx Tx) error {
	var newest rewards.RewardID
	err := fetchEach(ctx, tx, scanEntry, func(e entry) error {
		if e.number != x.next() {
			return errGap
		}
		x.add(e.key, e.user)
		newest = e.id
		return nil
	}, entries+` ORDER BY rowid`, x.next())
	if !newest.IsZero() {
		x.ids.StartAfter(newest.Time())
	}
	return err
}

// entry is what the index keeps of a reward.
type entry struct {
	number    int64
	id        rewards.RewardID
	key, user int64 // hashes
}

// entries reads the rewards from a number on.
const entries = `SELECT rowid, id, app_id, idempotency_key, user_id FROM rewards WHERE rowid >= ?1`

func scanEntry(row Row) (e entry, err error) {
	var app rewards.AppID
	var user rewards.UserID
	var key string
	err = row.Scan(&e.number, toID(&e.id), toID(&app), &key, toID(&user))
	e.key, e.user = keyHash(app, key), userHash(user)
	return e, err
}

// scanNumber reads the only column: a reward's number, or a hash.
func scanNumber(row Row) (number int64, err error) {
	err = row.Scan(&number)
	return number, err
}

// next is the number of the next reward.
func (x *rewardIndex) next() int64 { return x.tails[len(x.tails)-1].Next() }

// add adds the next reward. A full tail is followed by another one.
func (x *rewardIndex) add(key, user int64) {
	x.tails[len(x.tails)-1].Add(key, user)
	if next := x.next(); (next-1)%x.size == 0 {
		x.tails = append(x.tails, segment.NewTail(next))
	}
}

// committed adds the rewards of a batch from its first number on, unless catchUp did.
func (x *rewardIndex) committed(r *recording) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.use != indexInSegments || x.next() != r.first {
		return
	}
	for _, i := range r.created {
		x.add(r.hashes[i], userHash(r.batch[i].UserID))
	}
}

// firstNew is the number of the next reward of a transaction that has caught up.
func (x *rewardIndex) firstNew() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.next()
}
