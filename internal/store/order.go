package store

import (
	"context"
	"fmt"

	"stockrewards/internal/rewards"
)

const orderColumns = `id, number, client_order_id, asset_id,
	(SELECT a.broker_id FROM assets a WHERE a.id = orders.asset_id), symbol, notional, house, members_hash, state,
	attempts, first_attempt_at, next_attempt_at, deadline, broker_id, broker_status, filled_qty,
	filled_avg_price, filled_at, terminal_since, reason, house_shares, settled_at, refused_sessions, refused_until,
	generation, answered_at, (SELECT a.former_broker_id FROM assets a WHERE a.id = orders.asset_id),
	coalesce((SELECT c.filled_qty FROM order_corrections c WHERE c.order_id = orders.id ORDER BY c.number DESC LIMIT 1),
		filled_qty)`

func scanOrder(row Row) (o rewards.Order, err error) {
	err = row.Scan(toID(&o.ID), &o.Number, &o.ClientOrderID, (*int64)(&o.AssetID), &o.AssetBrokerID, &o.Symbol,
		(*int64)(&o.Notional), (*int64)(&o.House), idScanner{o.MembersHash[:]}, (*int)(&o.State), &o.Attempts,
		toTime{&o.FirstAttemptAt}, toTime{&o.NextAttemptAt}, toTime{&o.Deadline}, &o.BrokerID, &o.BrokerStatus,
		(*int64)(&o.FilledQty), (*int64)(&o.FilledAvgPrice), toTime{&o.FilledAt}, toTime{&o.TerminalSince},
		&o.Reason, (*int64)(&o.HouseShares), toTime{&o.SettledAt}, &o.RefusedSessions,
		toTime{&o.RefusedUntil}, &o.Generation, toTime{&o.AnsweredAt}, &o.AssetFormerID,
		(*int64)(&o.Corrected))
	return o, err
}

// LiveOrders lists the orders that are not final, quarantined ones included, oldest first.
func (s *Store) LiveOrders(ctx context.Context) ([]rewards.Order, error) {
	return readAll(ctx, s, scanOrder, `SELECT `+orderColumns+` FROM orders WHERE `+liveState+` ORDER BY id`)
}

// Orders lists orders, newest first. A zero state does not filter.
func (s *Store) Orders(
	ctx context.Context, state rewards.OrderState, p rewards.Page[rewards.Order],
) ([]rewards.Order, error) {
	return readAll(ctx, s, scanOrder, `SELECT `+orderColumns+` FROM orders
		WHERE id < ?1 AND (?2 = 0 OR state = ?2) ORDER BY id DESC LIMIT ?3 + 0`, before(p.Before), int(state), p.Limit)
}

// Order finds an order. It fails with CodeNotFound.
func (s *Store) Order(ctx context.Context, id rewards.OrderID) (rewards.Order, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (rewards.Order, error) { return orderByID(ctx, tx, id) })
}

// OrdersByClientID finds orders by their client order ids. Unknown ids are missing.
func (s *Store) OrdersByClientID(ctx context.Context, ids []string) (map[string]rewards.Order, error) {
	list, err := read(ctx, s, func(ctx context.Context, tx Tx) ([]rewards.Order, error) {
		return fetchAll(ctx, tx, scanOrder, `SELECT `+orderColumns+` FROM orders
			WHERE client_order_id IN (SELECT value FROM `+listedStrings(tx)+` AS l)`, stringsArg(tx, ids))
	})
	found := make(map[string]rewards.Order, len(list))
	for _, o := range list {
		found[o.ClientOrderID] = o
	}
	return found, err
}

func orderByID(ctx context.Context, tx Tx, id rewards.OrderID) (rewards.Order, error) {
	o, found, err := fetchOne(ctx, tx, scanOrder, `SELECT `+orderColumns+` FROM orders WHERE id = ?1`, id[:])
	if err == nil && !found {
		err = notFound("no order of that id")
	}
	return o, err
}

// SaveOrder stores an order that the worker changed. It fails with ErrStale when the stored
// order left the state from or got another symbol, with ErrLostLease, and on a transition that
// rewards.OrderState.CanBecome forbids.
func (s *Store) SaveOrder(ctx context.Context, l rewards.Lease, from rewards.OrderState, o rewards.Order) error {
	return s.writeOrders(ctx, l, func(ctx context.Context, tx Tx) error {
		return updateOrder(ctx, tx, from, o)
	})
}

func updateOrder(ctx context.Context, tx Tx, from rewards.OrderState, o rewards.Order) error {
	if !from.CanBecome(o.State) {
		return fmt.Errorf("store: cannot change order %s from %s to %s", o.ID, from, o.State)
	}
	n, err := tx.Exec(ctx, `UPDATE orders SET state = ?3, attempts = ?4, first_attempt_at = ?5,
		next_attempt_at = ?6, deadline = ?7, broker_id = ?8, broker_status = ?9, filled_qty = ?10,
		filled_avg_price = ?11, filled_at = ?12, terminal_since = ?13, reason = ?14, house_shares = ?15,
		settled_at = ?16, refused_sessions = ?18, refused_until = ?19, generation = ?20,
		answered_at = ?21
		WHERE id = ?1 AND state = ?2 AND symbol = ?17`,
		o.ID[:], int(from), int(o.State), o.Attempts, micros(o.FirstAttemptAt), micros(o.NextAttemptAt),
		micros(o.Deadline), o.BrokerID, o.BrokerStatus, int64(o.FilledQty), int64(o.FilledAvgPrice),
		micros(o.FilledAt), micros(o.TerminalSince), o.Reason, int64(o.HouseShares), micros(o.SettledAt), o.Symbol,
		o.RefusedSessions, micros(o.RefusedUntil), o.Generation, micros(o.AnsweredAt))
	if err == nil && n == 0 {
		err = rewards.ErrStale
	}
	return err
}

// MemberCounts returns how many rewards each order has. Unknown orders are missing. The members'
// positions start at 0, so that the last one gives the count.
func (s *Store) MemberCounts(ctx context.Context, ids []rewards.OrderID) (map[rewards.OrderID]int, error) {
	return read(ctx, s, func(ctx context.Context, tx Tx) (map[rewards.OrderID]int, error) {
		counts := make(map[rewards.OrderID]int, len(ids))
		for _, id := range ids {
			var n int
			_, err := fetchValues(ctx, tx, []any{&n}, `SELECT coalesce(`+endOfOrder(tx)+` - o.number * 1024,
				(SELECT max(p.position) + 1 FROM past_members p WHERE p.order_id = o.id), 0)
				FROM orders o WHERE o.id = ?1`, id[:])
			if err != nil {
				return nil, err
			}
			if n > 0 {
				counts[id] = n
			}
		}
		return counts, nil
	})
}
