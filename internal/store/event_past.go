package store

import (
	"bytes"
	"context"

	"stockrewards/internal/rewards"
)

// past is how far the orders that were booked before the log are in it.
type past struct {
	last       int64 // the last sequence
	order, end []byte
}

func (p past) done() bool { return bytes.Compare(p.order, p.end) >= 0 }

func readPast(ctx context.Context, tx Tx) (p past, err error) {
	_, err = fetchValues(ctx, tx, []any{&p.last, toBytes{&p.order}, toBytes{&p.end}},
		`SELECT past_last, past_order, past_end FROM event_counter WHERE "only" = 1`)
	return p, err
}

// pastOrders is how many orders LogPast adds to the log in a transaction. A full one has 1,000 members.
const pastOrders = 16

// LogPast adds the orders that an earlier version has booked to the log of events, oldest first. The store is in use
// meanwhile. progress gets the newest order that was added. LogPast may be interrupted at any time and
// repeated; it does nothing when it has nothing to do.
func (s *Store) LogPast(ctx context.Context, progress func(rewards.OrderID)) error {
	p, err := read(ctx, s, readPast)
	for err == nil && !p.done() {
		err = s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
			if p, err = readPast(ctx, tx); err != nil || p.done() { // another process may add them too
				return err
			}
			return p.add(ctx, tx)
		})
		if err == nil {
			var newest rewards.OrderID
			copy(newest[:], p.order)
			progress(newest)
		}
	}
	return err
}

// add adds the next orders.
func (p *past) add(ctx context.Context, tx Tx) error {
	orders, err := fetchAll(ctx, tx, scanOrder, `SELECT `+orderColumns+` FROM orders WHERE id > ?1 AND id <= ?2
		AND NOT EXISTS (SELECT 1 FROM late_orders l WHERE l.order_id = orders.id) ORDER BY id LIMIT ?3 + 0`,
		p.order, p.end, pastOrders)
	if err != nil {
		return err
	}
	var rows []rewards.EventRow
	for _, o := range orders {
		results, err := pastResults(ctx, tx, o)
		if err != nil {
			return err
		}
		of := o.EventsOf(results)
		for i := range of {
			of[i].Last += p.last + 1
		}
		rows = append(rows, of...)
		p.last += int64(len(results))
		p.order = o.ID[:]
	}
	if len(orders) < pastOrders {
		p.order = p.end
		if _, err := tx.Exec(ctx, `DELETE FROM late_orders`); err != nil {
			return err
		}
	}
	if err := insertEvents(ctx, tx, rows); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE event_counter SET past_last = ?1, past_order = ?2 WHERE "only" = 1`, p.last, p.order)
	return err
}

// pastResults returns what an order made final: the rewards whose last part it bought, and all when the
// broker refused it. The members of the order are moved later.
func pastResults(ctx context.Context, tx Tx, o rewards.Order) ([]rewards.Result, error) {
	return fetchAll(ctx, tx, func(row Row) (r rewards.Result, err error) {
		err = row.Scan(toID(&r.AppID), toID(&r.RewardID), (*int)(&r.Status))
		return r, err
	}, `SELECT m.app_id, m.reward_id, CASE WHEN ?2 = `+refused+` OR r.place = 0 AND ?1 = (SELECT a.order_id
			FROM past_allocations a WHERE a.app_id = m.app_id AND a.reward_id = m.reward_id
			ORDER BY a.order_id DESC LIMIT 1)
			THEN r.status ELSE `+executing+` END
		FROM past_members m JOIN rewards r ON r.app_id = m.app_id AND r.id = m.reward_id
		WHERE m.order_id = ?1 ORDER BY m.position`, o.ID[:], int(o.State))
}
