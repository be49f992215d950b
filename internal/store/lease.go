package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"stockrewards/internal/rewards"
)

// knownLease is the newest lease that this process read or took. It is safe for concurrent use.
type knownLease struct {
	mu    sync.Mutex
	lease rewards.Lease
}

func (k *knownLease) get() rewards.Lease {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lease
}

// set notes a lease as it is stored: in microseconds.
func (k *knownLease) set(l rewards.Lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l.Until = l.Until.Truncate(time.Microsecond)
	k.lease = l
}

// readLease reads the stored lease as this process must take it, which knew another, and the server's timeline.
func (s *Store) readLease(
	ctx context.Context, tx Tx, known rewards.Lease,
) (l rewards.Lease, timeline string, err error) {
	_, err = fetchValues(ctx, tx, []any{&l.Holder, &l.Epoch, toTime{&l.Until}, &timeline},
		`SELECT holder, epoch, until, `+s.timeline+` FROM lease WHERE "only" = 1`)
	return l.After(known), timeline, err
}

// TakeLease takes or renews the holder's lease, as rewards.Lease.Next decides. It returns
// a lease of the epoch 0 while another process leads. With force set, the caller knows that no other
// process runs. The lease ends by the caller's clock. TakeLease gives it back and fails when the check of
// ShareClock fails.
func (s *Store) TakeLease(ctx context.Context, holder string, ttl time.Duration, force bool) (rewards.Lease, error) {
	known := s.lease.get()
	if err := s.checkLeader(); err != nil {
		return rewards.Lease{}, errors.Join(err, s.exec(ctx, `UPDATE lease SET until = 0 WHERE "only" = 1
			AND holder = ?1 AND (epoch > ?2 OR epoch = ?2 AND until >= ?3)`, holder, known.Epoch, micros(known.Until)))
	}
	var taken, current rewards.Lease
	var asked time.Time
	err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		asked = s.now() // after the wait for other writes
		stored, timeline, err := s.readLease(ctx, tx, known)
		if err == nil {
			stored.Timeline, err = setting(ctx, tx, settingTimeline)
		}
		if err != nil {
			return err
		}
		next, ok := stored.In(timeline).Next(holder, s.clock(), ttl, force)
		if taken, current = next, stored; !ok {
			return nil
		}
		if taken.Epoch != current.Epoch {
			if err := markAllUsed(ctx, tx); err != nil {
				return err
			}
			if err := s.startAfterOrders(ctx, tx); err != nil {
				return err
			}
			if err := renewHolds(ctx, tx); err != nil {
				return err
			}
		}
		if taken.Timeline != current.Timeline {
			if err := setSetting(ctx, tx, settingTimeline, taken.Timeline); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `UPDATE lease SET holder = ?1, epoch = ?2, until = ?3 WHERE "only" = 1`,
			taken.Holder, taken.Epoch, micros(taken.Until))
		return err
	})
	if err != nil {
		return rewards.Lease{}, err
	}
	if taken.Epoch > 0 {
		current = taken
		taken.Until = asked.Add(ttl)
	}
	s.lease.set(current)
	if current.Epoch != known.Epoch || current.Loss != rewards.NoLoss {
		s.forgetMarks()
	}
	return taken, nil
}

// Led reports whether a process leads fulfillment now.
func (s *Store) Led(ctx context.Context) (is bool, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		is, err = led(ctx, tx, s.clock())
		return err
	})
	return is, err
}

func led(ctx context.Context, tx Tx, now time.Time) (bool, error) {
	var lease rewards.Lease
	_, err := fetchValues(ctx, tx, []any{&lease.Epoch, toTime{&lease.Until}},
		`SELECT epoch, until FROM lease WHERE "only" = 1`)
	return lease.Held(now), err
}

// startAfterOrders makes this process's ids later than every order id. An earlier leader's
// clock may have been ahead.
func (s *Store) startAfterOrders(ctx context.Context, tx Tx) error {
	var newest rewards.OrderID
	found, err := fetchValues(ctx, tx, []any{toID(&newest)}, `SELECT id FROM orders ORDER BY id DESC LIMIT 1`)
	if found {
		s.ids.StartAfter(newest.Time())
	}
	return err
}

// DropLease ends the holder's lease at once, so that another process need not wait. It does
// nothing when another process leads.
func (s *Store) DropLease(ctx context.Context, l rewards.Lease) error {
	return s.exec(ctx, `UPDATE lease SET until = 0 WHERE "only" = 1 AND holder = ?1 AND epoch = ?2`, l.Holder, l.Epoch)
}

// writeFenced writes for the leader. It fails with ErrLostLease when another process leads.
func (s *Store) writeFenced(ctx context.Context, l rewards.Lease, f func(context.Context, Tx) error) error {
	return s.engine.Write(ctx, s.fenced(l, f))
}

// writeOrders is writeFenced for orders that are planned and sent: see watched.WriteOrders.
func (s *Store) writeOrders(ctx context.Context, l rewards.Lease, f func(context.Context, Tx) error) error {
	return s.engine.WriteOrders(ctx, s.fenced(l, f))
}

// writeBookings is writeFenced for orders that are booked: see watched.WriteBookings.
func (s *Store) writeBookings(ctx context.Context, l rewards.Lease, f func(context.Context, Tx) error) error {
	return s.engine.WriteBookings(ctx, s.fenced(l, f))
}

// fenced returns f behind a look whether l is still the lease, on the server that gave it, which did not go back in
// time.
func (s *Store) fenced(l rewards.Lease, f func(context.Context, Tx) error) func(context.Context, Tx) error {
	return func(ctx context.Context, tx Tx) error {
		stored, timeline, err := s.readLease(ctx, tx, s.lease.get())
		if err != nil {
			return err
		}
		if stored.Epoch != l.Epoch || stored.Holder != l.Holder || stored.Loss != rewards.NoLoss ||
			timeline != l.Timeline {
			return rewards.ErrLostLease
		}
		return f(ctx, tx)
	}
}

// holdLease fails with ErrLostLease when l is no longer the lease. Otherwise no process can take it until the
// transaction ends. Only transactions for clients need this: each other one excludes that of TakeLease.
func (s *Store) holdLease(ctx context.Context, tx Tx, l rewards.Lease) error {
	n, err := tx.Exec(ctx, `UPDATE lease SET epoch = epoch
		WHERE "only" = 1 AND epoch = ?1 AND holder = ?2 AND until >= ?3 AND `+s.timeline+` = ?4`,
		l.Epoch, l.Holder, micros(s.lease.get().Until), l.Timeline)
	if err == nil && n == 0 {
		err = rewards.ErrLostLease
	}
	return err
}
