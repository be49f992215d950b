package store

import (
	"context"
	"fmt"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/segment"
)

// MoveMembers moves the members of orders that an earlier version has booked, oldest first and one order in a
// transaction, from past_members and past_allocations to members and lots. The store is in use meanwhile:
// readers have both. progress gets each order that was moved. MoveMembers may be interrupted at any time
// and repeated; it does nothing when it has nothing to do.
func (s *Store) MoveMembers(ctx context.Context, progress func(rewards.OrderID)) error {
	var last rewards.OrderID
	for ctx.Err() == nil {
		var moved []rewards.Order
		err := s.engine.Write(ctx, func(ctx context.Context, tx Tx) (err error) {
			moved, err = fetchAll(ctx, tx, scanOrder, `SELECT `+orderColumns+` FROM orders
				WHERE number = 0 AND id > ?1 ORDER BY id LIMIT 1`, last[:])
			if err != nil || len(moved) == 0 {
				return err
			}
			return moveOrder(ctx, tx, moved[0])
		})
		if err != nil || len(moved) == 0 {
			return err
		}
		last = moved[0].ID
		progress(last)
	}
	return ctx.Err()
}

// pastMember is a member of an order that is moved.
type pastMember struct {
	rewards.Result

	position int64
	cost     int64
	before   int64 // place of its reward in the order that was moved or booked before
}

// moveOrder moves one order. Only booked ones have no number.
func moveOrder(ctx context.Context, tx Tx, o rewards.Order) (err error) {
	if !o.State.Final() {
		return fmt.Errorf("store: cannot move the members of order %s: it is %s", o.ID, o.State)
	}
	if o.Number, err = newNumber(ctx, tx); err != nil {
		return err
	}
	list, err := fetchAll(ctx, tx, func(row Row) (m pastMember, err error) {
		err = row.Scan(&m.position, toID(&m.AppID), toID(&m.RewardID), (*int64)(&m.Amount), (*int64)(&m.Bought.Amount),
			(*int64)(&m.Bought.Shares), &m.cost, toID(&m.UserID), &m.before)
		return m, err
	}, `SELECT position, app_id, reward_id, amount, bought, shares, cost, user_id, reward_place FROM order_members
		WHERE order_id = ?1 ORDER BY position`, o.ID[:])
	if err != nil {
		return err
	}
	var members []placedMember
	var places, spans, past [][]any
	var lots []segment.Lot
	for i := range list {
		m, place := &list[i], placeOf(o, i)
		if m.position != int64(i) || i >= placesOfOrder {
			return fmt.Errorf("store: cannot move the members of order %s: member %d has the position %d",
				o.ID, i, m.position)
		}
		completes := int64(flag(m.cost > 0))
		members = append(members, placedMember{
			placedPart{m.Amount - m.Bought.Amount, m.Bought.Shares, completes, m.before},
			place, m.AppID, m.RewardID, m.Amount,
		})
		places = append(places, []any{m.AppID[:], m.RewardID[:], place, int64(m.Bought.Shares)})
		if m.Bought.Shares > 0 || m.cost > 0 {
			lots = append(lots, newLot(m.UserID, place))
		}
		if m.cost > 0 {
			span := spanOf(m.AppID, m.RewardID)
			spans = append(spans, span.columns())
		}
		past = append(past, []any{m.AppID[:], m.RewardID[:], o.ID[:]})
	}
	if err := moveRows(ctx, tx, o, members, places, past); err != nil {
		return err
	}
	if err := addLots(ctx, tx, o, lots); err != nil {
		return err
	}
	return addSpans(ctx, tx, spans)
}

func moveRows(ctx context.Context, tx Tx, o rewards.Order, members []placedMember, places, past [][]any) error {
	if _, err := tx.Exec(ctx, `UPDATE orders SET number = ?2 WHERE id = ?1`, o.ID[:], o.Number); err != nil {
		return err
	}
	if err := addMembers(ctx, tx, members); err != nil {
		return err
	}
	err := execRowsLater(ctx, tx, `UPDATE rewards SET place = ?3, shares = shares + ?4 WHERE app_id = ?1 AND id = ?2`,
		`UPDATE rewards r SET place = b.place, shares = r.shares + b.shares
		FROM unnest(?1::bytea[], ?2::bytea[], ?3::bigint[], ?4::bigint[]) AS b (app_id, id, place, shares)
		WHERE r.app_id = b.app_id AND r.id = b.id`, places)
	if err != nil {
		return err
	}
	err = execRowsLater(ctx, tx, `DELETE FROM past_allocations WHERE app_id = ?1 AND reward_id = ?2 AND order_id = ?3`,
		`DELETE FROM past_allocations a
		USING unnest(?1::bytea[], ?2::bytea[], ?3::bytea[]) AS b (app_id, reward_id, order_id)
		WHERE a.app_id = b.app_id AND a.reward_id = b.reward_id AND a.order_id = b.order_id`, past)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM past_members WHERE order_id = ?1`, o.ID[:])
	return err
}
