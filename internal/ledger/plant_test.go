package ledger_test

import (
	"testing"
	"time"

	"stockrewards/internal/ledger"
	"stockrewards/internal/rewards"
)

// hledger finds every planted error and names the account or the order.
func TestHledgerFindsPlantedErrors(t *testing.T) {
	t.Parallel()
	const ofUser = ` WHERE place IN (SELECT place FROM member_rewards WHERE user_id = ?1)`
	for name, test := range map[string]struct {
		statement string
		words     func(rewards.User) []string
	}{
		"more held":      {`UPDATE holdings SET quantity = quantity + 1 WHERE user_id = ?1`, func(u rewards.User) []string { return []string{user(u), "AAPL"} }},
		"less held":      {`UPDATE holdings SET quantity = quantity - 1 WHERE user_id = ?1`, func(u rewards.User) []string { return []string{user(u), "AAPL"} }},
		"another cost":   {`UPDATE holdings SET cost_basis = cost_basis + 1 WHERE user_id = ?1`, func(u rewards.User) []string { return []string{due(u)} }},
		"a lost holding": {`DELETE FROM holdings WHERE user_id = ?1`, func(rewards.User) []string { return []string{"assets:receivable"} }},
		"a wrong rest":   {`UPDATE rewards SET booked = booked + 1 WHERE status = 1 AND booked > 0 AND length(?1) = 16`, func(rewards.User) []string { return []string{"assets:receivable:"} }},
		"filled more":    {`UPDATE orders SET filled_qty = filled_qty + 1 WHERE length(?1) = 16 AND broker_status = 'filled'`, func(rewards.User) []string { return []string{"assets:custody", "AAPL"} }},
		"house shares":   {`UPDATE orders SET house_shares = house_shares + 1 WHERE length(?1) = 16 AND broker_status = 'filled'`, func(rewards.User) []string { return []string{"assets:custody", "AAPL"} }},
		"allocated more": {`UPDATE members SET completes = 1, shares = (SELECT m.shares + 1 FROM member_rewards m WHERE m.place = members.place)` + ofUser, func(u rewards.User) []string { return []string{user(u), "AAPL"} }},
		"another amount": {`UPDATE members SET rest = rest + 1` + ofUser, func(rewards.User) []string { return []string{"could not balance", "sr-test-"} }},
		"a lost lot":     {`UPDATE members SET rest = amount, shares = 0` + ofUser, func(rewards.User) []string { return []string{"could not balance", "sr-test-"} }},
		"house dollars":  {`UPDATE orders SET house = house + 1 WHERE length(?1) = 16 AND broker_status = 'filled'`, func(rewards.User) []string { return []string{"could not balance", "sr-test-"} }},
		"a lost order":   {`UPDATE orders SET state = 4, reason = 'x', settled_at = 0 WHERE length(?1) = 16`, func(rewards.User) []string { return []string{"liabilities:users"} }},
		"a reward of another user": {
			`UPDATE rewards SET user_id = (SELECT max(id) FROM users) WHERE user_id = ?1`,
			func(rewards.User) []string { return []string{"liabilities:users:"} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, u := range w.Users {
				w.giveTo(u, 1_500_001)
			}
			w.buy("filled", 22_550_000, 200*dollar)
			w.giveTo(w.Users[2], 2_000_000)
			w.buy("canceled", 5_000_000, 200*dollar)
			w.mustPass()
			user := w.Users[0]
			w.plant(test.statement, user.ID[:])
			w.mustFail(nil, test.words(user)...)
		})
	}
}

// Positions are compared to the billionth of a share.
func TestHledgerFindsAWrongPosition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.giveTo(w.Users[0], 2_000_000)
	w.buy("filled", 10_000_000, 200*dollar)
	w.Advance(time.Second)
	asked := &ledger.Positions{Asked: w.Now(), List: []rewards.Position{{Symbol: "AAPL", Qty: 10_000_000}}}
	w.mustCheck(asked)
	asked.List[0].Qty++
	w.mustFail(asked, "assets:custody", "AAPL", "0.000000001")
}
