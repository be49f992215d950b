package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// memberContract are the tests of members, lots and spans, and of orders that are booked together.
func memberContract() map[string]func(*testing.T, *World) {
	return map[string]func(*testing.T, *World){
		"SettleInSpans":   testSpans,
		"SettleTogether":  testSettleTogether,
		"SettleApart":     testSettleApart,
		"MembersMoved":    testMoveMembers,
		"LotsSealed":      testLots,
		"LotsOfBlocks":    testLotsOfBlocks,
		"LotsOnce":        testLotsOnce,
		"LotsOfAnother":   testLotsOfAnother,
		"LotsSealedAgain": testSealAgain,
		"LotsAfterClock":  testLotsAfterTheClock,
		"LotsMoved":       testMoveLots,
		"LotsAfterALoss":  testSealAfterALoss,
		"LotsMovedByTwo":  testMoveLotsByTwo,
	}
}

// readings are what the store says about orders, their members and their users.
type readings struct {
	histories  map[rewards.RewardID][]rewards.Ordered
	shares     map[rewards.RewardID]money.Shares
	lists      map[string][]rewards.Reward
	activities map[string][]rewards.UserActivity
	counts     map[rewards.Status]int
	members    map[rewards.OrderID][]rewards.Claim
	sizes      map[rewards.OrderID]int
	ledger     ledger
}

// readings reads all of it. Numbers of orders are left out, because they change when an order is moved.
func (w *World) readings(t *testing.T) (r readings) {
	t.Helper()
	r.histories = make(map[rewards.RewardID][]rewards.Ordered)
	r.lists, r.activities = make(map[string][]rewards.Reward), make(map[string][]rewards.UserActivity)
	r.members = make(map[rewards.OrderID][]rewards.Claim)
	var ids []rewards.RewardID
	for _, reward := range w.walk(t, w.App.ID, rewards.RewardFilter{}, 100) {
		ids = append(ids, reward.ID)
		h, err := w.History(t.Context(), reward.AppID, reward.ID)
		check(t, err)
		for i := range h.Orders {
			h.Orders[i].Number = 0
		}
		r.histories[reward.ID] = h.Orders
	}
	var err error
	r.shares, err = w.SharesOf(t.Context(), w.App.ID, ids)
	check(t, err)
	r.counts, err = w.CountRewards(t.Context(), w.App.ID, 1000)
	check(t, err)
	for _, limit := range []int{1, 3, 100} {
		r.lists[fmt.Sprint("executed, pages of ", limit)] = w.walk(t, w.App.ID, rewards.RewardFilter{Status: rewards.Executed}, limit)
		for i, u := range w.Users {
			r.lists[fmt.Sprint("executed of user ", i, ", pages of ", limit)] = w.walk(t, u.AppID,
				rewards.RewardFilter{UserID: &u.ID, Status: rewards.Executed}, limit)
			r.activities[fmt.Sprint("activity of user ", i, ", pages of ", limit)] = w.activity(t, u.AppID, u.ID, limit)
		}
	}
	orders, err := w.Orders(t.Context(), 0, rewards.Page[rewards.Order]{Limit: 1000})
	check(t, err)
	var orderIDs []rewards.OrderID
	for _, o := range orders {
		orderIDs = append(orderIDs, o.ID)
		r.members[o.ID], err = w.Members(t.Context(), o.ID)
		check(t, err)
	}
	r.sizes, err = w.MemberCounts(t.Context(), orderIDs)
	check(t, err)
	r.ledger = w.readLedger(t)
	slices.SortFunc(r.ledger.Fills, func(a, b rewards.Fill) int { return a.SettledAt.Compare(b.SettledAt) }) // in no order
	for i := range r.ledger.Bookings {
		r.ledger.Bookings[i].Order.Number = 0
	}
	return r
}

// unmove stores the members of all booked orders as the version before did.
func (w *World) unmove(t *testing.T) {
	t.Helper()
	const booked = `(SELECT id FROM orders WHERE state >= 6 AND number > 0)`
	const numbers = ` IN (SELECT number FROM orders WHERE state >= 6)`
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		remove := []string{`DELETE FROM members WHERE place / 1024` + numbers}
		if _, columns := tx.(store.ColumnTx); columns {
			remove = []string{
				`DELETE FROM member_blocks WHERE block / 32` + numbers,
				`DELETE FROM member_parts WHERE place / 1024` + numbers,
			}
		}
		statements := []string{
			`INSERT INTO past_members (order_id, position, app_id, reward_id, amount)
				SELECT order_id, position, app_id, reward_id, amount FROM order_rewards WHERE order_id IN ` + booked,
			`INSERT INTO past_allocations (app_id, reward_id, order_id, amount, shares, user_id, at, cost)
				SELECT app_id, reward_id, order_id, amount, shares, user_id, at, cost FROM allocations
				WHERE order_id IN ` + booked,
			`UPDATE rewards SET place = 0, shares = 0`,
			`DELETE FROM past_lots`,
			`DELETE FROM order_lots`,
			`DELETE FROM lot_blocks`,
			`DELETE FROM lot_segments`,
			`DELETE FROM executed_spans`,
		}
		statements = append(append(statements, remove...), `UPDATE orders SET number = 0 WHERE state >= 6`)
		for _, statement := range statements {
			if _, err := tx.Exec(ctx, "-- only in tests\n"+statement); err != nil {
				return err
			}
		}
		return nil
	}))
}

// moveOne moves the members of one order, and reports whether that was all.
func (w *World) moveOne(t *testing.T) (done bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	steps := 0
	err := w.MoveMembers(ctx, func(rewards.OrderID) {
		steps++
		cancel()
	})
	if err == nil != (steps == 0) {
		t.Fatalf("moved %d orders: %v", steps, err)
	}
	return err == nil
}

// testMoveMembers: the members of orders that an earlier version booked read the same before, while and
// after they are moved, also when such a reward is in an order that is booked meanwhile.
func testMoveMembers(t *testing.T, w *World) {
	w.fillLists(t)
	live, err := w.LiveOrders(t.Context())
	check(t, err)
	want := w.readings(t)
	w.unmove(t)
	wantEqual(t, "as an earlier version stored it", want, w.readings(t), cmp.AllowUnexported(readings{}))
	moved := 0
	for ; moved < 2; moved++ {
		w.moveOne(t)
		wantEqual(t, fmt.Sprint(moved+1, " orders moved"), want, w.readings(t), cmp.AllowUnexported(readings{}))
	}
	check(t, w.Settle(t, live[0], "canceled", 30_000_000, dollar200))
	w.Advance(time.Second)
	check(t, w.Settle(t, w.Open(t), "filled", 500_000_000, dollar200))
	want = w.readings(t)
	for !w.moveOne(t) {
		moved++
		wantEqual(t, fmt.Sprint(moved, " orders moved, and new ones booked"), want, w.readings(t), cmp.AllowUnexported(readings{}))
	}
	wantEqual(t, "orders moved", 5, moved)
	w.wantRows(t, "members that are not moved", 0, `SELECT count(*) FROM past_members`)
	w.wantRows(t, "allocations that are not moved", 0, `SELECT count(*) FROM past_allocations`)
}
