package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// filled returns the end of an order with a fill.
func (w *World) filled(o rewards.Order, qty money.Shares, price money.Price) rewards.OrderEnd {
	from := o.State
	o.State, o.BrokerStatus, o.FilledQty, o.FilledAvgPrice, o.FilledAt = rewards.OrderOpen, "filled", qty, price, w.Now()
	return rewards.OrderEnd{From: from, Order: o, Book: w.book(o)}
}

// holdingsOf returns a call that reads a user's holdings.
func (w *World) holdingsOf(u rewards.User) func(context.Context) ([]rewards.Holding, error) {
	return func(ctx context.Context) ([]rewards.Holding, error) { return w.Holdings(ctx, u.AppID, u.ID) }
}

// testSettleTogether: orders are booked in one transaction as one after the other. Each has what the one before
// left of the house's shares, and one is seen at the broker for the first time.
func testSettleTogether(t *testing.T, w *World) {
	w.Give(t, 400_000)
	check(t, w.Settle(t, w.Open(t), "filled", 5_000_000, dollar200))
	w.houseShares(t, "topped up", 3_000_000)
	plan := func(amount money.USD) (rewards.Reward, rewards.Order) {
		t.Helper()
		given, r := w.Give(t, amount), w.planRequest(t)
		r.Limits.Price, r.Limits.UseHouse = dollar200, true
		o, hold, err := w.PlanOrder(t.Context(), w.lease, r)
		if err != nil || hold != rewards.NoHold || o.House >= 0 {
			t.Fatalf("an order of %s, %s of the house: hold %d, %v", o.Notional, o.House, hold, err)
		}
		return given, o
	}
	whole, first := plan(1_200_000)
	split, second := plan(5_000_000)
	third := w.openFor(t, w.Users[1], "KO", 2_000_000)
	first, err := w.BeginAttempt(t.Context(), w.lease, first, w.Now(), w.Now())
	check(t, err)
	before := w.events(t, w.App, rewards.AllEvents, 200)
	if list := read(t, w.holdingsOf(w.Users[1])); len(list) != 0 {
		t.Errorf("the second user has %v before", list)
	}
	n, err := w.SettleOrders(t.Context(), w.lease, w.filled(first, 5_000_000, dollar200),
		w.filled(w.Accept(t, second), 46_400_000, dollar200/2), w.filled(third, 10_000_000, dollar200))
	if n != 3 || err != nil {
		t.Fatalf("booked %d, %v; want all three", n, err)
	}
	w.houseShares(t, "gave the rest to the second", 0)
	if list := read(t, w.holdingsOf(w.Users[1])); len(list) != 1 || list[0].Quantity != 10_000_000 {
		t.Errorf("the second user has %v, want what the third order bought", list)
	}
	w.wantRows(t, "shares of the first", 6_000_000, `SELECT shares FROM allocations WHERE amount = 1200000`)
	w.wantRows(t, "dollars of the second", 4_840_000, `SELECT amount FROM allocations WHERE shares = 48400000`)
	w.wantRows(t, "settled orders", 4, `SELECT count(*) FROM orders WHERE state = 6`)
	if got := w.reward(t, split); got.Status != rewards.Executing || got.Booked != 4_840_000 {
		t.Errorf("the second award is %s with %s bought, want the rest to wait", got.Status, got.Booked)
	}
	w.listed(t, rewards.Executing, split)
	if got := w.reward(t, whole); got.Status != rewards.Executed {
		t.Errorf("the first award is %s", got.Status)
	}
	after := w.events(t, w.App, rewards.AllEvents, 200)
	if len(after) != len(before)+2 {
		t.Errorf("%d events, want one for each completed award: %v", len(after)-len(before), described(after))
	}
}

// testSettleAllOrNone: when one order cannot be booked, the orders before it are not booked either.
func testSettleAllOrNone(t *testing.T, w *World) {
	settled := w.openFor(t, w.Users[0], "AAPL", 1_000_000)
	check(t, w.Settle(t, settled, "filled", 5_000_000, dollar200))
	half := w.filled(w.openFor(t, w.Users[0], "TSLA", 1_000_000), 5_000_000, dollar200)
	half.Book = func([]rewards.Claim, money.Shares) (rewards.Settlement, error) {
		return rewards.Settlement{}, rewards.ErrHalfBought
	}
	fine := w.filled(w.openFor(t, w.Users[0], "KO", 2_000_000), 10_000_000, dollar200)
	before := read(t, w.LiveOrders)
	for _, test := range []struct {
		last rewards.OrderEnd
		want error
	}{{w.filled(settled, 5_000_000, dollar200), rewards.ErrStale}, {half, rewards.ErrHalfBought}} {
		if n, err := w.SettleOrders(t.Context(), w.lease, fine, test.last); n != 0 || !errors.Is(err, test.want) {
			t.Errorf("booked %d, %v; want %v", n, err, test.want)
		}
		wantEqual(t, "live orders", before, read(t, w.LiveOrders))
		w.wantRows(t, "allocations", 1, `SELECT count(*) FROM allocations`)
		w.houseShares(t, "after a failed booking", 0)
	}
	if n, err := w.SettleOrders(t.Context(), w.lease, fine); n != 1 || err != nil {
		t.Errorf("booked %d, %v; want the one that can be", n, err)
	}
}

// testSettleAtMostTheAward: a booking that would buy more than was awarded, or leave nothing of a reward that still
// waits, is refused by the store too, and changes nothing. The broker's figures are not in doubt.
func testSettleAtMostTheAward(t *testing.T, w *World) {
	w.Give(t, 1_000_000)
	end := w.filled(w.Open(t), 5_000_000, dollar200)
	honest, before := end.Book, read(t, w.LiveOrders)
	for name, change := range map[string]func(*rewards.Result){
		"more than the award": func(r *rewards.Result) { r.Bought.Amount++ },
		"less than nothing":   func(r *rewards.Result) { r.Bought.Amount = -1 },
		"all, and it waits":   func(r *rewards.Result) { r.Status = rewards.Executing },
	} {
		end.Book = func(claims []rewards.Claim, house money.Shares) (rewards.Settlement, error) {
			s, err := honest(claims, house)
			change(&s.Results[0])
			return s, err
		}
		n, err := w.SettleOrders(t.Context(), w.lease, end)
		if n != 0 || err == nil {
			t.Errorf("%s: booked %d, %v", name, n, err)
		}
		WantBookedLater(t, end.Order, err)
		wantEqual(t, "live orders", before, read(t, w.LiveOrders))
		w.wantRows(t, "allocations", 0, `SELECT count(*) FROM allocations`)
	}
	end.Book = honest
	if n, err := w.SettleOrders(t.Context(), w.lease, end); n != 1 || err != nil {
		t.Errorf("booked %d, %v; want the order", n, err)
	}
}

// WantBookedLater checks that an error of booking an order is not held against the order.
func WantBookedLater(t *testing.T, o rewards.Order, err error) {
	t.Helper()
	step := o.Next(rewards.Evidence{Source: rewards.FromBooking, Err: err})
	if err == nil || rewards.CodeOf(err) == rewards.CodeUnavailable || step.Kind != rewards.StepNone {
		t.Errorf("%v: step %d, reason %q; want another booking", err, step.Kind, step.Order.Reason)
	}
}

// TestReadsAfterSettlements checks that whoever reads after a settlement sees it, however many read and settle at
// once. Each call of settle buys a lot, and lots counts them.
func TestReadsAfterSettlements(t *testing.T, lots func() money.Shares, settle func()) {
	t.Helper()
	const settlements, readers = 30, 4
	var settled atomic.Int64
	var group sync.WaitGroup
	for range readers {
		group.Go(func() {
			for before := int64(0); before < settlements; {
				before = settled.Load()
				if got := int64(lots()); got < before {
					t.Errorf("%d lots, %d are settled", got, before)
					return
				}
			}
		})
	}
	for range settlements {
		settle()
		settled.Add(1)
	}
	group.Wait()
}

// testSettleApart: over a network a transaction books no other order after 256 members, and small orders together.
func testSettleApart(t *testing.T, w *World) {
	const many = 256
	batch := make([]rewards.NewReward, many)
	for i := range batch {
		batch[i] = w.Request(t, 2_000_000)
	}
	_, err := w.RecordRewards(t.Context(), batch)
	check(t, err)
	large := w.filled(w.Open(t), many*10_000_000, dollar200)
	var small []rewards.OrderEnd
	for range 3 {
		w.Give(t, 2_000_000)
		small = append(small, w.filled(w.Open(t), 10_000_000, dollar200))
	}
	list := append([]rewards.OrderEnd{large}, small...)
	want := len(list)
	if w.fleet(t) {
		want = 1
	}
	n, err := w.SettleOrders(t.Context(), w.lease, list...)
	check(t, err)
	wantEqual(t, "orders booked together", want, n)
	if n < len(list) {
		n, err = w.SettleOrders(t.Context(), w.lease, small...)
		check(t, err)
		wantEqual(t, "small orders booked together", len(small), n)
	}
	w.wantRows(t, "members", many+3, `SELECT count(*) FROM allocations WHERE amount = 2000000 AND shares = 10000000`)
}
