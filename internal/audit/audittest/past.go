package audittest

import (
	"encoding/hex"
	"strings"
)

// past makes an order what an earlier version had booked: its members are not moved. No other order
// carried their rewards, and the rewards of no other order are in their spans.
func (w *World) past(order, reward string) {
	w.tb.Helper()
	text := func(name string) string {
		id := w.IDs[name]
		return "x'" + hex.EncodeToString(id[:]) + "'"
	}
	ids := strings.NewReplacer("@order", text(order), "@reward", text(reward))
	db := SQL(w.tb, w.Where)
	for _, statement := range []string{
		`INSERT INTO past_members SELECT order_id, position, app_id, reward_id, amount FROM order_rewards
			WHERE order_id = @order`,
		`INSERT INTO past_allocations SELECT app_id, reward_id, order_id, amount, shares, user_id, at, cost
			FROM allocations WHERE order_id = @order`,
		`DELETE FROM lots WHERE place / 1024 = (SELECT number FROM orders WHERE id = @order)`,
		`DELETE FROM executed_spans WHERE app_id = (SELECT app_id FROM rewards WHERE id = @reward)
			AND first <= @reward AND until > @reward`,
		`DELETE FROM members WHERE place / 1024 = (SELECT number FROM orders WHERE id = @order)`,
		`UPDATE rewards SET place = 0, shares = 0 WHERE id = @reward`,
		`UPDATE orders SET number = 0 WHERE id = @order`,
	} {
		statement = ids.Replace(statement)
		if OnPostgres(w.Where) {
			statement = inPostgres(statement)
		}
		if Exec(w.tb, db, statement) == 0 {
			w.tb.Fatalf("%s changed no row", statement)
		}
	}
}
