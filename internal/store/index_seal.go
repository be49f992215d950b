package store

import (
	"context"

	"stockrewards/internal/store/segment"
)

// A full segment is sealed a few entries at a time, by the transactions that record the rewards
// of the next one: without a separate commit, and done long before that one is full. The
// entries of a segment follow from its rewards alone, so that any process may go on after a
// restart: what is stored already is skipped.

// sealing is a segment that is being stored.
type sealing struct {
	segment int64
	first   int64 // number of its first reward
	last    int64
	ready   chan struct{} // closed when the rest is set
	keys    segment.Entries
	users   segment.Entries
	filter  *segment.Filter
	stored  int // entries of keys, then of users, that are committed
}

const (
	entriesPerReward = 4 // stored with each new reward; each reward makes two
	restPart         = 8 // the sort in the background has the time of this part of the next segment
)

// startSealing prepares the first tail, which is full.
func (x *rewardIndex) startSealing() {
	number := x.sealed()
	x.sealing = newSealing(number, x.tails[0])
}

func newSealing(number int64, full *segment.Tail) *sealing {
	s := &sealing{segment: number, first: full.First(), last: full.Next() - 1, ready: make(chan struct{})}
	go func() {
		defer close(s.ready)
		s.keys, s.users = full.Keys(), full.Users()
		s.filter = segment.NewFilter(number, s.keys.Len())
		for i := range s.keys.Len() {
			s.filter.Add(number, s.keys.At(i).Hash)
		}
	}()
	return s
}

// seal stores entries of the segment that is being sealed, for the number of rewards that the
// transaction records. The caller calls done after the commit.
func (x *rewardIndex) seal(ctx context.Context, tx Tx, recorded int) (done func(), err error) {
	s, from := x.due()
	if s == nil || recorded == 0 {
		return func() {}, nil
	}
	<-s.ready
	stored, err := s.store(ctx, tx, from, recorded*entriesPerReward)
	if err != nil {
		return nil, err
	}
	return func() { x.advance(s, stored) }, nil
}

// due returns the segment to store entries of, or nil, and how many are stored.
func (x *rewardIndex) due() (s *sealing, stored int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if s := x.sealing; s != nil && x.next() > (s.segment+1)*x.size+x.size/restPart {
		return s, s.stored
	}
	return nil, 0
}

// sealBehind stores entries of a full segment when another one is full too, without waiting for new rewards. That is so
// after an earlier version was restarted often: it began with each segment again. sealBehind reports whether there may
// be more to do.
func (s *Store) sealBehind(ctx context.Context) (more bool, err error) {
	x := s.index
	full, from := x.due()
	if full == nil || !x.behind() {
		return false, nil
	}
	select {
	case <-full.ready:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	var stored int
	err = s.engine.Write(ctx, func(ctx context.Context, tx Tx) (err error) {
		stored, err = full.store(ctx, tx, from, upgradeWrite)
		return err
	})
	if err == nil {
		x.advance(full, stored)
	}
	return err == nil, err
}

// behind reports whether more than one segment is full and not sealed.
func (x *rewardIndex) behind() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	const usual = 2 // one is being sealed, and one grows
	return len(x.tails) > usual
}

// store stores the next entries after the first ones, which are stored, and after the last ones the segment. It
// returns how many are stored then.
func (s *sealing) store(ctx context.Context, tx Tx, from, n int) (stored int, err error) {
	if from == 0 {
		if from, err = s.storedBefore(ctx, tx); err != nil {
			return 0, err
		}
	}
	stored, keys := min(from+n, s.entries()), s.keys.Len()
	err = s.storeEntries(ctx, tx, `INSERT INTO reward_keys (segment, hash, number) VALUES (?1, ?2, ?3)
		ON CONFLICT DO NOTHING`, s.keys, min(from, keys), min(stored, keys))
	if err != nil {
		return 0, err
	}
	err = s.storeEntries(ctx, tx, `INSERT INTO reward_users (segment, hash, number) VALUES (?1, ?2, ?3)
		ON CONFLICT DO NOTHING`, s.users, max(from-keys, 0), max(stored-keys, 0))
	if err == nil && stored == s.entries() {
		err = s.finish(ctx, tx)
	}
	return stored, err
}

// storedBefore counts the entries that other processes stored, or one before a restart. They are the first ones,
// because every process stores them in the same order.
func (s *sealing) storedBefore(ctx context.Context, tx Tx) (n int, err error) {
	_, err = fetchValues(ctx, tx, []any{&n}, `SELECT (SELECT count(*) FROM reward_keys WHERE segment = ?1)
		+ (SELECT count(*) FROM reward_users WHERE segment = ?1)`, s.segment)
	return min(n, s.entries()), err
}

func (s *sealing) entries() int { return s.keys.Len() + s.users.Len() }

// storeEntries stores the entries at positions from a first one until another.
func (s *sealing) storeEntries(ctx context.Context, tx Tx, query string, all segment.Entries, from, until int) error {
	entries, rows := make([]segment.Entry, until-from), make([][]any, until-from)
	for i := range entries {
		entries[i] = all.At(from + i)
		rows[i] = []any{&s.segment, &entries[i].Hash, &entries[i].Number}
	}
	_, err := tx.ExecEach(ctx, query, rows)
	return err
}

// finish marks the segment as sealed and stores its filter, unless another process did.
func (s *sealing) finish(ctx context.Context, tx Tx) error {
	bits, err := s.filter.Bytes()
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `INSERT INTO segments (number, first_reward, last_reward) VALUES (?1, ?2, ?3)
		ON CONFLICT DO NOTHING`, s.segment, s.first, s.last)
	if err != nil || n == 0 {
		return err
	}
	return insertFilter(ctx, tx, s.filter, bits)
}

func insertFilter(ctx context.Context, tx Tx, f *segment.Filter, bits []byte) error {
	_, err := tx.Exec(ctx, `INSERT INTO segment_filters (first, last, bits) VALUES (?1, ?2, ?3)`, f.First, f.Last, bits)
	return err
}

// advance notes what was committed. A sealed segment leaves memory, except for its filter.
func (x *rewardIndex) advance(s *sealing, stored int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s.stored = max(s.stored, stored) // a transaction of another goroutine may have stored more
	if x.sealing != s || stored < s.entries() {
		return
	}
	x.filters = append(x.filters[:len(x.filters):len(x.filters)], s.filter)
	x.tails, x.sealing = x.tails[1:], nil
	if len(x.tails) > 1 { // the next one filled meanwhile
		x.startSealing()
	}
}
