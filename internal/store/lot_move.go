package store

import (
	"context"
	"strconv"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// ordersPerMove is how many orders a transaction of MoveLots looks at.
const ordersPerMove = 16

// MoveLots moves the lots that an earlier version stored from past_lots to order_lots, oldest first, and empties
// past_lots in the end. The store is in use meanwhile: readers have both. progress gets the newest order that it looked
// at. MoveLots may be interrupted at any time and repeated; it does nothing when it has nothing to do.
func (s *Store) MoveLots(ctx context.Context, progress func(rewards.OrderID)) error {
	for {
		step, err := read(ctx, s, readLotMove)
		if err != nil {
			return err
		}
		if step.next == 0 {
			return s.removePastLots(ctx)
		}
		err = s.engine.Write(ctx, step.run)
		if err != nil {
			return err
		}
		if n := len(step.orders); n > 0 {
			progress(step.orders[n-1].ID)
		}
		for more := true; more; {
			if more, err = s.sealLots(ctx); err != nil {
				return err
			}
		}
	}
}

// lotMove is a step of MoveLots.
type lotMove struct {
	next, until int64 // the orders from a number on, and before another; zero when all are moved
	orders      []orderToMove
}

// orderToMove is a booked order with its lots.
type orderToMove struct {
	rewards.Order

	lots []segment.Lot
}

// readLotMove reads the next step. What was booked does not change.
func readLotMove(ctx context.Context, tx Tx) (m lotMove, err error) {
	next, err := setting(ctx, tx, settingPastLots)
	if err != nil || next == "" {
		return m, err
	}
	if m.next, err = strconv.ParseInt(next, 10, 64); err != nil {
		return m, err
	}
	end, err := newNumber(ctx, tx)
	if err != nil {
		return m, err
	}
	m.until = min(m.next+ordersPerMove, end)
	orders, err := fetchAll(ctx, tx, scanOrder, `SELECT `+orderColumns+` FROM orders
		WHERE number > 0 AND number >= ?1 AND number < ?2 ORDER BY number`, m.next, m.until)
	if err != nil {
		return m, err
	}
	for _, o := range orders {
		lots, err := lotsToMove(ctx, tx, o)
		if err != nil {
			return m, err
		}
		m.orders = append(m.orders, orderToMove{o, lots})
	}
	return m, nil
}

// lotsToMove reads the lots of an order, none if past_lots does not have them: it was booked since.
func lotsToMove(ctx context.Context, tx Tx, o rewards.Order) (lots []segment.Lot, err error) {
	var first rewards.UserID
	err = tx.Query(ctx, func(row Row) error {
		var user rewards.UserID
		var place int64
		err := row.Scan(toID(&user), &place)
		if lots = append(lots, newLot(user, place)); len(lots) == 1 {
			first = user
		}
		return err
	}, `SELECT user_id, place FROM (SELECT user_id, place, shares, completes
			FROM member_rewards m WHERE `+inOrder(tx, `?1`)+` ORDER BY place) AS m
		WHERE shares > 0 OR completes = 1`, o.Number)
	if err != nil || len(lots) == 0 {
		return nil, err
	}
	var one int
	past, err := fetchValues(ctx, tx, []any{&one}, `SELECT 1 FROM past_lots
		WHERE user_hash = ?1 AND at = ?2 AND place = ?3`, userHash(first), micros(o.SettledAt), lots[0].Place)
	if err != nil || !past {
		return nil, err
	}
	return lots, nil
}

// run moves the lots, unless another process did.
func (m lotMove) run(ctx context.Context, tx Tx) error {
	next, err := setting(ctx, tx, settingPastLots)
	if err != nil || next != strconv.FormatInt(m.next, 10) {
		return err
	}
	if m.next == m.until {
		_, err := tx.Exec(ctx, `DELETE FROM settings WHERE name = ?1`, settingPastLots)
		return err
	}
	for _, o := range m.orders {
		if err := addLots(ctx, tx, o.Order, o.lots); err != nil {
			return err
		}
	}
	return setSetting(ctx, tx, settingPastLots, strconv.FormatInt(m.until, 10))
}

// removePastLots removes the rows of an earlier version. For each there is one in order_lots or in the blocks.
func (s *Store) removePastLots(ctx context.Context) error {
	for {
		left, err := read(ctx, s, func(ctx context.Context, tx Tx) (bool, error) {
			var one int
			return fetchValues(ctx, tx, []any{&one}, `SELECT 1 FROM past_lots LIMIT 1`)
		})
		if err != nil || !left {
			return err
		}
		err = s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM past_lots WHERE (user_hash, at, place) <=
				(SELECT f.user_hash, f.at, f.place FROM (SELECT p.user_hash, p.at, p.place FROM past_lots p
					ORDER BY p.user_hash, p.at, p.place LIMIT ?1 + 0) AS f
				ORDER BY f.user_hash DESC, f.at DESC, f.place DESC LIMIT 1)`, upgradeWrite)
			return err
		})
		if err != nil {
			return err
		}
	}
}
