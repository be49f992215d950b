package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// TakeLease makes the holder the leader for a while, or renews its lease. While
// another one's lease runs it returns a lease with epoch zero, unless force is
// set: the caller then knows by other means that no other process lives. A new
// leader gets a higher epoch, which voids every write of the ones before.
func (s *Store) TakeLease(ctx context.Context, holder string, ttl time.Duration, force bool) (rewards.Lease, error) {
	var l rewards.Lease
	err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		l = rewards.Lease{} // what was taken in vain is none
		var current rewards.Lease
		_, err := one(ctx, tx, []any{&current.Holder, &current.Epoch, toTime{&current.Until}},
			`SELECT holder, epoch, until FROM lease WHERE "only" = 1`)
		if err != nil {
			return err
		}
		next, ok := current.Next(holder, s.now(), ttl, force)
		if !ok {
			return nil
		}
		if next.Epoch != current.Epoch {
			if err := s.follow(ctx, tx); err != nil {
				return err
			}
		}
		l = next
		_, err = tx.Exec(ctx, `UPDATE lease SET holder = ?1, epoch = ?2, until = ?3 WHERE "only" = 1`,
			holder, l.Epoch, micros(l.Until))
		return err
	})
	if err != nil {
		return rewards.Lease{}, err
	}
	return l, nil
}

// follow makes the ids of this process later than every order's: those of a leader
// before may come from a clock that is ahead.
func (s *Store) follow(ctx context.Context, tx Tx) error {
	var newest rewards.OrderID
	found, err := one(ctx, tx, []any{toID(&newest)}, `SELECT id FROM orders ORDER BY id DESC LIMIT 1`)
	if found {
		s.ids.StartAfter(newest.Time())
	}
	return err
}

// DropLease ends the holder's lease at once, so that another process need not
// wait. It does nothing when another one leads.
func (s *Store) DropLease(ctx context.Context, l rewards.Lease) error {
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		_, err := tx.Exec(ctx, `UPDATE lease SET until = 0 WHERE "only" = 1 AND holder = ?1 AND epoch = ?2`,
			l.Holder, l.Epoch)
		return err
	})
}

// writeFenced writes on behalf of the leader: when another one leads, nothing.
func (s *Store) writeFenced(ctx context.Context, l rewards.Lease, f func(context.Context, Tx) error) error {
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		var epoch int64
		if _, err := one(ctx, tx, []any{&epoch}, `SELECT epoch FROM lease WHERE "only" = 1`); err != nil {
			return err
		}
		if epoch != l.Epoch {
			return rewards.ErrLostLease
		}
		return f(ctx, tx)
	})
}
