package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A statement of PostgreSQL reads the pages that are not in memory one after the other, although a disk can read many
// at the same time. So before a recording several connections look side by side, each for some of its repeated requests
// and of its users. What they find is not used: they bring the pages into memory. They go on while that takes long, and
// otherwise try it now and then.

const (
	slowLook   = 60 * time.Microsecond // for a key or a user: some pages were not in memory
	exchange   = time.Millisecond      // what the statement takes besides, on a busy machine
	fewestLook = 8                     // keys and users that show how long it takes
	lookers    = 4                     // connections that look ahead
	restOfLook = 32                    // batches after a quick look that do without

	longestLook = 250 * time.Millisecond // then the batch is recorded all the same
)

// lookPace knows how many batches need no look ahead.
type lookPace struct{ rest atomic.Int32 }

// due reports whether it is time to look.
func (p *lookPace) due() bool { return p.rest.Load() <= 0 || p.rest.Add(-1) < 0 }

// took notes how long one of the connections looked, for some keys and users.
func (p *lookPace) took(d time.Duration, some int) {
	if d < exchange+slowLook*time.Duration(some) {
		p.rest.Store(restOfLook)
	} else {
		p.rest.Store(0)
	}
}

// lookAhead looks for the repeated requests and the users of a batch. An error is left to the recording.
func (s *Store) lookAhead(ctx context.Context, r *recording) {
	search := s.segments.search()
	if search.view == nil || len(r.batch) < fewestLook || !s.segments.looks.due() {
		return
	}
	r.hashKeys()
	users, look := s.unknownUsers(r), search.look(r.soughtKeys(r.all()))
	if look == nil {
		look = new(keyLook)
	}
	some := (len(users) + len(look.apps) + lookers - 1) / lookers
	if some*lookers < fewestLook {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, longestLook)
	defer cancel()
	var wg sync.WaitGroup
	began := time.Now()
	for n := range lookers {
		keys := look.sealed(len(look.apps)*n/lookers, len(look.apps)*(n+1)/lookers)
		users := users[len(users)*n/lookers : len(users)*(n+1)/lookers]
		wg.Go(func() { s.lookFor(ctx, keys, users) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		s.segments.looks.rest.Store(restOfLook) // perhaps it waited for connections
		return
	}
	s.segments.looks.took(time.Since(began), some)
}

// unknownUsers lists the users of a batch who are not known to exist.
func (s *Store) unknownUsers(r *recording) (users []userKey) {
	for i := range r.batch {
		if u := (userKey{r.batch[i].AppID, r.batch[i].UserID}); !s.known.has(u) {
			users = append(users, u)
		}
	}
	return users
}

// lookFor reads what the recording will read.
func (s *Store) lookFor(ctx context.Context, keys *keyLook, users []userKey) {
	apps, ids := make([][]byte, len(users)), make([][]byte, len(users))
	for i := range users {
		apps[i], ids[i] = users[i].app[:], users[i].user[:]
	}
	var found int64
	_ = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		_, err := fetchValues(ctx, only(tx), []any{&found}, `SELECT (SELECT count(fingerprint) FROM `+looked+`)
			+ (SELECT count(*) FROM unnest(?8::bytea[], ?9::bytea[]) AS n (app_id, user_id)
				WHERE EXISTS (SELECT 1 FROM users u WHERE u.app_id = n.app_id AND u.id = n.user_id))`,
			append(keys.args(), apps, ids)...)
		return err
	})
}
