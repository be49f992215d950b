package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// kept is a store of the version before members had places: four orders of seven rewards.
type kept struct {
	exec   func(query string, args ...any)
	app    rewards.AppID
	users  []rewards.UserID
	given  []rewards.Reward
	orders []rewards.OrderID
}

// share is a member of an order of the kept store, and what the order bought for it.
type share struct {
	reward  int
	carried money.USD
	bought  money.USD
	shares  money.Shares
	cost    money.USD // basis that it added
}

// reward adds a reward. What is open waits, unless an order has it.
func (k *kept) reward(user int, amount, booked money.USD, status rewards.Status, ordered bool) {
	i := len(k.given)
	r := rewards.Reward{
		AppID: k.app, ID: rewards.FirstID[rewards.Reward](time.UnixMicro(start).Add(time.Duration(i*50) * time.Millisecond)),
		UserID: k.users[user], IdempotencyKey: string('a' + rune(i)), Amount: amount, Status: status,
	}
	k.given = append(k.given, r)
	stored, executed, reason, waiting := rewards.Recorded, int64(0), "", int64(1)
	switch {
	case status == rewards.Executed:
		stored, executed = status, int64(start)
	case status == rewards.Failed:
		stored, reason = status, "order_rejected: by the broker"
	case ordered:
		waiting = 0
	default:
	}
	k.exec(`INSERT INTO rewards (app_id, id, user_id, idempotency_key, fingerprint, amount, asset_id, symbol, source,
		metadata, status, booked, executed_at, failure_reason)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, 'AAPL', '', '', ?7, ?8, ?9, ?10)`, k.app[:], r.ID[:], r.UserID[:],
		r.IdempotencyKey, make([]byte, 33), int64(amount), int64(stored), int64(booked), executed, reason)
	if stored == rewards.Recorded {
		k.exec(`INSERT INTO open_rewards (app_id, id, asset_id, status, waiting, pending) VALUES (?1, ?2, 1, ?3, ?4, ?5)`,
			k.app[:], r.ID[:], int64(status), waiting, int64(amount-booked))
	}
}

// order adds an order with its members, a second after the one before. A final one has an event of its first member.
func (k *kept) order(state rewards.OrderState, members ...share) {
	n := int64(len(k.orders))
	at := int64(start) + 1_000_000*(n+1)
	id := rewards.FirstID[rewards.Order](time.UnixMicro(at))
	k.orders = append(k.orders, id)
	var notional money.USD
	var filled money.Shares
	for _, m := range members {
		notional, filled = notional+m.carried, filled+m.shares
	}
	settled, reason := at, ""
	if !state.Final() {
		settled = 0
	}
	if state == rewards.OrderRefused {
		reason = "rejected"
	}
	k.exec(`INSERT INTO orders (id, client_order_id, asset_id, symbol, notional, house, members_hash, state, attempts,
		first_attempt_at, filled_qty, filled_avg_price, filled_at, reason, settled_at)
		VALUES (?1, ?2, 1, 'AAPL', ?3, 0, ?4, ?5, 1, ?6, ?7, ?8, ?6, ?9, ?10)`, id[:], fmt.Sprint("sr-", n), int64(notional),
		make([]byte, 32), int64(state), at, int64(filled), int64(dollar200), reason, settled)
	for i, m := range members {
		r := k.given[m.reward]
		k.exec(`INSERT INTO order_rewards (order_id, position, app_id, reward_id, amount) VALUES (?1, ?2, ?3, ?4, ?5)`,
			id[:], int64(i), k.app[:], r.ID[:], int64(m.carried))
		if m.bought > 0 {
			k.exec(`INSERT INTO allocations (app_id, reward_id, order_id, amount, shares, user_id, at, cost)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`, k.app[:], r.ID[:], id[:], int64(m.bought), int64(m.shares),
				r.UserID[:], at, int64(m.cost))
		}
	}
	if state.Final() {
		k.exec(`INSERT INTO events (app_id, last, types, subject, positions, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
			k.app[:], rewards.PastSequences+n+1, int64(state-rewards.OrderSettled+1), id[:],
			rewards.AppendPositions(nil, []int{0}), at)
	}
}

// TestVersion22 brings a store of schema version 22 up to date: one with two settled orders, a refused and a
// live one. It is read before, while and after the members are moved. exec and open are as in TestVersion12.
func TestVersion22(t *testing.T, exec func(query string, args ...any), open func() store.Engine) {
	t.Helper()
	// Both users have the same hash.
	k := &kept{exec: exec, app: rewards.AppID{1}, users: []rewards.UserID{{2, 15: 9}, {3, 15: 9}}}
	w := &World{App: rewards.App{ID: k.app, Name: "first"}}
	exec(`INSERT INTO apps (id, name) VALUES (?1, 'first')`, k.app[:])
	for _, id := range k.users {
		w.Users = append(w.Users, rewards.User{ID: id, AppID: k.app})
		exec(`INSERT INTO users (app_id, id, email, email_folded, external_id) VALUES (?1, ?2, '', '', ?3)`, k.app[:], id[:], id.String())
	}
	exec(`INSERT INTO assets (id, symbol, name, used) VALUES (1, 'AAPL', 'Apple', 1)`)
	k.reward(0, 3_000_000, 3_000_000, rewards.Executed, false)
	k.reward(1, 10_000_000, 10_000_000, rewards.Executed, false)
	k.reward(0, 4_000_000, 0, rewards.Failed, false)
	k.reward(0, 5_000_000, 1_000_000, rewards.Executing, true)
	k.reward(1, 6_000_000, 0, rewards.Executing, true)
	k.reward(1, 7_000_000, 0, rewards.Recorded, false)
	k.reward(0, 30_000, 30_000, rewards.Failed, false) // less than a billionth of a share
	k.order(rewards.OrderSettled, share{0, 3_000_000, 3_000_000, 15_000_000, 3_000_000},
		share{1, 10_000_000, 2_000_000, 10_000_000, 0}, share{6, 30_000, 10_000, 0, 0})
	k.order(rewards.OrderSettled, share{1, 8_000_000, 8_000_000, 40_000_000, 10_000_000},
		share{3, 5_000_000, 1_000_000, 5_000_000, 0}, share{6, 20_000, 20_000, 0, 0})
	k.order(rewards.OrderRefused, share{reward: 2, carried: 4_000_000})
	k.order(rewards.OrderOpen, share{reward: 3, carried: 4_000_000}, share{reward: 4, carried: 6_000_000})
	exec(`INSERT INTO positions (asset_id, booked) VALUES (1, 70000000)`)
	exec(`INSERT INTO holdings (app_id, user_id, asset_id, quantity, cost_basis) VALUES (?1, ?2, 1, 20000000, 3000000),
		(?1, ?3, 1, 50000000, 10000000)`, k.app[:], k.users[0][:], k.users[1][:])
	w.engine = open()
	w.now.Store(start + 10_000_000)
	w.reopen(t)
	w.wantKept(t, k)
	lease, err := w.TakeLease(t.Context(), "tester", time.Hour, false)
	check(t, err)
	w.lease = lease
	w.moveKept(t, k)
}

// wantKept checks what an updated store says of the kept one, with nothing moved.
func (w *World) wantKept(t *testing.T, k *kept) {
	t.Helper()
	r := w.readings(t)
	bought := func(reward int) (list []string) {
		for _, o := range r.histories[k.given[reward].ID] {
			list = append(list, fmt.Sprintf("%s of %s: %d", o.Bought.Amount, o.Carried, o.Bought.Shares))
		}
		return list
	}
	for i, want := range [][]string{
		{"3 of 3: 15000000"},
		{"2 of 10: 10000000", "8 of 8: 40000000"},
		{"0 of 4: 0"},
		{"1 of 5: 5000000", "0 of 4: 0"},
		{"0 of 6: 0"},
		nil,
		{"0.01 of 0.03: 0", "0.02 of 0.02: 0"},
	} {
		wantEqual(t, fmt.Sprint("the orders of the reward ", i), want, bought(i))
	}
	wantEqual(t, "statuses", map[rewards.Status]int{
		rewards.Recorded: 1, rewards.Executing: 2, rewards.Executed: 2, rewards.Failed: 2,
	}, r.counts)
	wantEqual(t, "shares", map[rewards.RewardID]money.Shares{
		k.given[0].ID: 15_000_000, k.given[1].ID: 50_000_000, k.given[3].ID: 5_000_000,
	}, r.shares)
	wantEqual(t, "members", map[rewards.OrderID]int{k.orders[0]: 3, k.orders[1]: 3, k.orders[2]: 1, k.orders[3]: 2}, r.sizes)
	wantEqual(t, "events", []string{"reward.executed: a executed", "reward.executed: b executed", "reward.failed: c failed"},
		described(w.events(t, w.App, rewards.AllEvents, 2)))
	var executed []string
	for _, reward := range r.lists["executed, pages of 1"] {
		executed = append(executed, reward.IdempotencyKey)
	}
	wantEqual(t, "executed", []string{"b", "a"}, executed)
	var activity []string
	for i := range k.users {
		for _, a := range r.activities[fmt.Sprint("activity of user ", i, ", pages of 1")] {
			activity = append(activity, fmt.Sprintf("%d for %s at %d", a.Quantity, a.CostBasis, a.Place.At.UnixMicro()-start))
		}
	}
	wantEqual(t, "activity", []string{
		"5000000 for 0 at 2000000", "15000000 for 3 at 1000000", "40000000 for 10 at 2000000", "10000000 for 0 at 1000000",
	}, activity)
	claims := r.members[k.orders[3]]
	if claims[0].Booked != 1_000_000 || claims[0].BookedShares != 5_000_000 || claims[1].BookedShares != 0 {
		t.Errorf("the live order has %+v", claims)
	}
}

// moveKept books the live order of the kept store and moves the members of the others, one after the other.
func (w *World) moveKept(t *testing.T, k *kept) {
	t.Helper()
	const members = `SELECT (SELECT count(*) FROM past_members) * 100 + (SELECT count(*) FROM past_allocations) * 10 +
		(` + lotRows + `)`
	live, err := w.LiveOrders(t.Context())
	check(t, err)
	check(t, w.Settle(t, live[0], "filled", 50_000_000, dollar200))
	want, events := w.readings(t), described(w.events(t, w.App, rewards.AllEvents, 2))
	wantEqual(t, "statuses", map[rewards.Status]int{
		rewards.Recorded: 1, rewards.Executing: 0, rewards.Executed: 4, rewards.Failed: 2,
	}, want.counts)
	for _, u := range k.users {
		w.wantSums(t, u)
	}
	wantEqual(t, "the last events", []string{"reward.executed: d executed", "reward.executed: e executed"}, events[3:])
	for i, left := range []int64{762, 434, 106, 6} {
		w.wantRows(t, fmt.Sprint("members, allocations and lots after ", i, " orders"), left, members)
		wantEqual(t, fmt.Sprint("readings after ", i, " orders"), want, w.readings(t), cmp.AllowUnexported(readings{}))
		wantEqual(t, fmt.Sprint("events after ", i, " orders"), events, described(w.events(t, w.App, rewards.AllEvents, 2)))
		if done := w.moveOne(t); done != (i == 3) {
			t.Errorf("after %d orders: all moved: %t", i, done)
		}
	}
	w.wantRows(t, "members", 9, `SELECT count(*) FROM order_rewards`)
	w.wantRows(t, "allocations", 8, `SELECT count(*) FROM allocations`)
	w.reopen(t)
	wantEqual(t, "readings after a restart", want, w.readings(t), cmp.AllowUnexported(readings{}))
}
