package audittest

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// past makes an order what an earlier version had booked: its members are not moved. No other order
// carried their rewards, and the rewards of no other order are in their spans.
func (w *World) past(order, reward string) {
	w.tb.Helper()
	w.rewrite(order, reward,
		`INSERT INTO past_members SELECT order_id, position, app_id, reward_id, amount FROM order_rewards
			WHERE order_id = @order`,
		`INSERT INTO past_allocations SELECT app_id, reward_id, order_id, amount, shares, user_id, at, cost
			FROM allocations WHERE order_id = @order`,
		`DELETE FROM order_lots WHERE order_number = (SELECT number FROM orders WHERE id = @order)`,
		`UPDATE order_lots SET number = (SELECT coalesce(max(a.number), 0) + 1 FROM order_lots a
			WHERE a.number = (SELECT count(*) FROM order_lots b WHERE b.number <= a.number))
			WHERE number = (SELECT max(number) FROM order_lots)`, // into the gap
		`DELETE FROM executed_spans WHERE app_id = (SELECT app_id FROM rewards WHERE id = @reward)
			AND first <= @reward AND until > @reward`,
		w.deleteMembers(),
		`UPDATE rewards SET place = 0, shares = 0 WHERE id = @reward`,
		`UPDATE orders SET number = 0 WHERE id = @order`,
	)
}

// pastLots makes the newest booked order, which bought one reward, one whose lots are not moved.
func (w *World) pastLots(order, user, reward string) {
	w.tb.Helper()
	id := w.IDs[user]
	hash := int64(binary.BigEndian.Uint64(id[8:]))
	w.rewrite(order, reward,
		fmt.Sprintf(`INSERT INTO past_lots SELECT %d, settled_at, number * 1024 FROM orders WHERE id = @order`, hash),
		`DELETE FROM order_lots WHERE number = (SELECT max(number) FROM order_lots)`,
		`INSERT INTO settings SELECT 'next_past_lots', CAST(number AS TEXT) FROM orders WHERE id = @order`,
	)
}

// deleteMembers removes the members of an order.
func (w *World) deleteMembers() string {
	if OnPostgres(w.Where) {
		return `DELETE FROM member_blocks WHERE block / 32 = (SELECT number FROM orders WHERE id = @order)`
	}
	return `DELETE FROM members WHERE place / 1024 = (SELECT number FROM orders WHERE id = @order)`
}

// rewrite runs statements about an order and a reward. Each of them must change a row.
func (w *World) rewrite(order, reward string, statements ...string) {
	w.tb.Helper()
	text := func(name string) string {
		id := w.IDs[name]
		return "x'" + hex.EncodeToString(id[:]) + "'"
	}
	ids := strings.NewReplacer("@order", text(order), "@reward", text(reward))
	db := SQL(w.tb, w.Where)
	for _, statement := range statements {
		statement = ids.Replace(statement)
		if OnPostgres(w.Where) {
			statement = inPostgres(statement)
		}
		if Exec(w.tb, db, statement) == 0 {
			w.tb.Fatalf("%s changed no row", statement)
		}
	}
}
