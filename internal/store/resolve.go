package store

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// ResolveOrder stores an operator's decision about a quarantined order, or one that the
// broker refused every time, for the worker to book. It fails with ErrStale when another
// process begins an attempt in the meantime, with CodeNotFound, and with CodeConflict when
// rewards.Order.Supersede refuses the decision. Repeating a decision changes nothing.
func (o *Operator) ResolveOrder(ctx context.Context, id rewards.OrderID, r rewards.Resolution) error {
	return o.changeFor(ctx, r.Reason, func(ctx context.Context, tx Tx) ([]rewards.Change, error) {
		order, err := orderByID(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		before, err := findResolution(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		resolved, changed, err := order.Supersede(before, r)
		if err != nil || !changed {
			return nil, err
		}
		if err := updateOrder(ctx, tx, order.State, resolved); err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, `INSERT INTO order_resolutions (order_id, filled_qty, price, reason, at)
			VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (order_id) DO UPDATE SET filled_qty = excluded.filled_qty,
			price = excluded.price, reason = excluded.reason, at = excluded.at`,
			id[:], int64(r.FilledQty), int64(r.Price), r.Reason, micros(latest(o.now(), order.FirstAttemptAt)))
		return []rewards.Change{{
			Object: order.Object(), Before: order.Decision(), After: resolved.Decision(),
		}}, err
	})
}

// findResolution returns nil when no operator has decided about the order.
func findResolution(ctx context.Context, tx Tx, id rewards.OrderID) (*rewards.Resolution, error) {
	var r rewards.Resolution
	found, err := fetchValues(ctx, tx, []any{(*int64)(&r.FilledQty), (*int64)(&r.Price), &r.Reason},
		`SELECT filled_qty, price, reason FROM order_resolutions WHERE order_id = ?1`, id[:])
	if err != nil || !found {
		return nil, err
	}
	return &r, nil
}

// decidedAt is when an operator decided how the order ended, by the clock of the operator's machine; zero if none did.
func decidedAt(ctx context.Context, tx Tx, end rewards.OrderEnd) (at time.Time, err error) {
	if end.From != rewards.OrderResolved {
		return at, nil
	}
	_, err = fetchValues(ctx, tx, []any{toTime{&at}},
		`SELECT at FROM order_resolutions WHERE order_id = ?1`, end.Order.ID[:])
	return at, err
}

// Resolution returns what an operator decided about an order, if anything.
func (s *Store) Resolution(ctx context.Context, id rewards.OrderID) (r rewards.Resolution, found bool, err error) {
	err = s.engine.Read(ctx, func(ctx context.Context, tx Tx) error {
		decided, err := findResolution(ctx, tx, id)
		if found = decided != nil; found {
			r = *decided
		}
		return err
	})
	return r, found, err
}
