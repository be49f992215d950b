package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// ledger is everything that a LedgerReader reads.
type ledger struct {
	Apps         []rewards.App
	Assets       []rewards.Asset
	Fills        []rewards.Fill
	Bookings     []rewards.Booking
	Holdings     []rewards.UserHolding
	Takings      []rewards.UserTaking
	Pending      []rewards.PendingReward
	Acknowledged []rewards.AcknowledgedOrder
	Switches     []rewards.Switch
	Effects      []rewards.Effect // of the first switch
	Receipts     []rewards.Receipt
	Corrections  []rewards.Correction
	CashInLieu   []rewards.CashInLieu
	Stocks       []rewards.Stock
}

// collect returns a function that appends to a list.
func collect[T any](list *[]T) func(T) error {
	return func(item T) error {
		*list = append(*list, item)
		return nil
	}
}

func (w *World) readLedger(t *testing.T) (got ledger) {
	t.Helper()
	check(t, w.ReadLedger(t.Context(), func(ctx context.Context, s store.LedgerReader) (err error) {
		got.Apps, err = s.Apps(ctx)
		check(t, err)
		got.Assets, err = s.Assets(ctx)
		check(t, err)
		got.Acknowledged, err = s.Acknowledged(ctx)
		check(t, err)
		got.Switches, err = s.Switches(ctx)
		check(t, err)
		got.Receipts, err = s.Receipts(ctx)
		check(t, err)
		got.Corrections, err = s.Corrections(ctx)
		check(t, err)
		got.CashInLieu, err = s.CashInLieu(ctx)
		check(t, err)
		got.Stocks, err = s.Stocks(ctx)
		check(t, err)
		check(t, s.Effects(ctx, 1, collect(&got.Effects)))
		return errors.Join(s.Fills(ctx, collect(&got.Fills)), s.Bookings(ctx, collect(&got.Bookings)),
			s.Holdings(ctx, collect(&got.Holdings)), s.Takings(ctx, collect(&got.Takings)), s.Pending(ctx, collect(&got.Pending)))
	}))
	return got
}

func testSnapshot(t *testing.T, w *World) {
	whole, split := w.Give(t, 2_000_000), w.Give(t, 2_000_000)
	o := w.Open(t)
	check(t, w.Settle(t, o, "canceled", 15_000_000, dollar200))
	tiny := w.Give(t, 1) // together with the rest of split; too small for a share
	next := w.Open(t)
	check(t, w.Settle(t, next, "filled", 500, dollar1*2_000_000))
	recorded := w.Give(t, 3_000_000)
	open := w.Open(t)
	waits := w.Give(t, 4_000_000)
	for _, c := range []rewards.BrokerConflict{
		{ClientOrderID: "sr-ours", FilledQty: 7},
		{ClientOrderID: "sr-nothing"},
		{ClientOrderID: "sr-new", FilledQty: 8},
		{ClientOrderID: o.ClientOrderID, FilledQty: 9},
	} {
		check(t, w.SaveReconciliation(t.Context(), w.lease, []rewards.BrokerConflict{c}, w.Now()))
		if c.ClientOrderID != "sr-new" {
			check(t, w.AcknowledgeConflict(t.Context(), c.ClientOrderID, "known"))
		}
	}
	got := w.readLedger(t)
	lot := func(r rewards.Reward, failed bool, amount money.USD, shares money.Shares) rewards.Lot {
		return rewards.Lot{
			AppID: r.AppID, RewardID: r.ID, UserID: r.UserID, Failed: failed,
			Bought: rewards.Allocation{Amount: amount, Shares: shares},
		}
	}
	settled := func(id rewards.OrderID) rewards.Order {
		o, err := w.Order(t.Context(), id)
		check(t, err)
		return o
	}
	aapl := whole.AssetID
	want := ledger{
		Apps: got.Apps, Assets: got.Assets,
		Fills: []rewards.Fill{
			{AssetID: aapl, State: rewards.OrderSettled, Filled: 15_000_000, SettledAt: w.Now()},
			{AssetID: aapl, State: rewards.OrderSettled, Filled: 500, SettledAt: w.Now()},
			{AssetID: aapl, State: rewards.OrderOpen},
		},
		Bookings: []rewards.Booking{
			{Order: settled(o.ID), Lots: []rewards.Lot{lot(whole, false, 2_000_000, 10_000_000), lot(split, false, 1_000_000, 5_000_000)}},
			{Order: settled(next.ID), Lots: []rewards.Lot{lot(split, false, 1_000_000, 495), lot(tiny, true, 1, 0)}},
		},
		Holdings: []rewards.UserHolding{
			{AppID: w.App.ID, UserID: whole.UserID, AssetID: aapl, Quantity: 15_000_495, CostBasis: 4_000_000},
		},
		Pending: []rewards.PendingReward{
			{AppID: w.App.ID, UserID: waits.UserID, AssetID: aapl, Status: rewards.Recorded, Amount: 4_000_000},
			{AppID: w.App.ID, UserID: recorded.UserID, AssetID: aapl, Status: rewards.Executing, Amount: 3_000_000},
		},
		Acknowledged: []rewards.AcknowledgedOrder{{BrokerConflict: rewards.BrokerConflict{
			ClientOrderID: "sr-ours", FilledQty: 7, FoundAt: w.Now(), AcknowledgedAt: w.Now(), Reason: "known",
		}}},
		Stocks: []rewards.Stock{{AssetID: aapl, Booked: 15_000_500, House: 5}},
	}
	wantEqual(t, "the ledger", want, got)
	if len(got.Apps) != 1 || len(got.Assets) != 3 || open.State != rewards.OrderOpen {
		t.Errorf("%d apps, %d assets", len(got.Apps), len(got.Assets))
	}
}

// testSnapshotPages: orders are read in pages, each order once. An error ends the reading.
func testSnapshotPages(t *testing.T, w *World) {
	const orders = 101 // more than a page
	given := w.Give(t, 1_000_000)
	first := w.Open(t)
	check(t, w.Settle(t, first, "filled", 5_000_000, dollar200))
	var copies, members, lots [][]any
	for i := range orders - 1 {
		id := first.ID
		id[0]++
		id[1] = byte(i)
		copies = append(copies, []any{
			id[:], fmt.Sprint("copy ", i), int64(first.AssetID), first.Symbol, int64(first.Notional), first.MembersHash[:],
		})
		members = append(members, []any{id[:], w.App.ID[:], given.ID[:], int64(given.Amount)})
		lots = append(lots, []any{w.App.ID[:], given.ID[:], id[:], int64(given.Amount)})
	}
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.ExecEach(ctx, `INSERT INTO orders (id, client_order_id, asset_id, symbol, notional, house, members_hash,
			state, attempts, first_attempt_at, settled_at) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, 6, 1, 1, 1)`, copies)
		if err != nil {
			return err
		}
		_, err = tx.ExecEach(ctx, `INSERT INTO past_members (order_id, position, app_id, reward_id, amount)
			VALUES (?1, 0, ?2, ?3, ?4)`, members)
		if err != nil {
			return err
		}
		_, err = tx.ExecEach(ctx, `INSERT INTO past_allocations (app_id, reward_id, order_id, amount, shares)
			VALUES (?1, ?2, ?3, ?4, 0)`, lots)
		return err
	}))
	bookings := w.readLedger(t).Bookings
	for i, b := range bookings {
		if len(b.Lots) != 1 || i > 0 && string(bookings[i-1].Order.ID[:]) >= string(b.Order.ID[:]) {
			t.Fatalf("booking %d: %+v", i, b)
		}
	}
	if len(bookings) != orders {
		t.Errorf("%d bookings, want %d", len(bookings), orders)
	}
	stop := errors.New("the test stops here")
	calls := 0
	err := w.ReadLedger(t.Context(), func(ctx context.Context, s store.LedgerReader) error {
		return s.Bookings(ctx, func(rewards.Booking) error {
			calls++
			return stop
		})
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("got %v after %d calls, want the caller's error after one", err, calls)
	}
}
