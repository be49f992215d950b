package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// told is everything that a snapshot tells.
type told struct {
	Apps         []rewards.App
	Assets       []rewards.Asset
	Fills        []rewards.Fill
	Bookings     []rewards.Booking
	Holdings     []rewards.UserHolding
	Pending      []rewards.PendingReward
	Acknowledged []rewards.BrokerConflict
}

// keep appends what a method of a snapshot tells to a list.
func keep[T any](list *[]T) func(T) error {
	return func(item T) error {
		*list = append(*list, item)
		return nil
	}
}

func (w *World) snapshot(t *testing.T) (got told) {
	t.Helper()
	check(t, w.ReadLedger(t.Context(), func(ctx context.Context, s store.LedgerReader) (err error) {
		got.Apps, err = s.Apps(ctx)
		check(t, err)
		got.Assets, err = s.Assets(ctx)
		check(t, err)
		got.Acknowledged, err = s.Acknowledged(ctx)
		check(t, err)
		return errors.Join(s.Fills(ctx, keep(&got.Fills)), s.Bookings(ctx, keep(&got.Bookings)),
			s.Holdings(ctx, keep(&got.Holdings)), s.Pending(ctx, keep(&got.Pending)))
	}))
	return got
}

func testSnapshot(t *testing.T, w *World) {
	whole, split := w.Give(t, 2_000_000), w.Give(t, 2_000_000)
	o := w.Open(t)
	check(t, w.Settle(t, o, "canceled", 15_000_000, dollar200))
	tiny := w.Give(t, 1) // with the rest of the split one, and too small
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
		check(t, w.SaveReconciliation(t.Context(), []rewards.BrokerConflict{c}, w.Now()))
		if c.ClientOrderID != "sr-new" {
			check(t, w.AcknowledgeConflict(t.Context(), c.ClientOrderID, "known"))
		}
	}
	got := w.snapshot(t)
	part := func(r rewards.Reward, failed bool, amount money.USD, shares money.Shares) rewards.Lot {
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
	want := told{
		Apps: got.Apps, Assets: got.Assets,
		Fills: []rewards.Fill{
			{AssetID: aapl, State: rewards.OrderSettled, Filled: 15_000_000, SettledAt: w.Now()},
			{AssetID: aapl, State: rewards.OrderSettled, Filled: 500, SettledAt: w.Now()},
			{AssetID: aapl, State: rewards.OrderOpen},
		},
		Bookings: []rewards.Booking{
			{Order: settled(o.ID), Lots: []rewards.Lot{part(whole, false, 2_000_000, 10_000_000), part(split, false, 1_000_000, 5_000_000)}},
			{Order: settled(next.ID), Lots: []rewards.Lot{part(split, false, 1_000_000, 495), part(tiny, true, 1, 0)}},
		},
		Holdings: []rewards.UserHolding{
			{AppID: w.App.ID, UserID: whole.UserID, AssetID: aapl, Quantity: 15_000_495, CostBasis: 4_000_000},
		},
		Pending: []rewards.PendingReward{
			{AppID: w.App.ID, UserID: waits.UserID, AssetID: aapl, Status: rewards.Recorded, Amount: 4_000_000},
			{AppID: w.App.ID, UserID: recorded.UserID, AssetID: aapl, Status: rewards.Executing, Amount: 3_000_000},
		},
		Acknowledged: []rewards.BrokerConflict{
			{ClientOrderID: "sr-ours", FilledQty: 7, FoundAt: w.Now(), AcknowledgedAt: w.Now(), Reason: "known"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if len(got.Apps) != 1 || len(got.Assets) != 3 || open.State != rewards.OrderOpen {
		t.Errorf("%d apps, %d assets", len(got.Apps), len(got.Assets))
	}
}

// Orders are read in pages; each is told once, and an error ends the reading.
func testSnapshotPages(t *testing.T, w *World) {
	const orders = 101
	for range orders {
		w.Give(t, 1_000_000)
		check(t, w.Settle(t, w.Open(t), "filled", 5_000_000, dollar200))
	}
	bookings := w.snapshot(t).Bookings
	for i, b := range bookings {
		if len(b.Lots) != 1 || i > 0 && string(bookings[i-1].Order.ID[:]) >= string(b.Order.ID[:]) {
			t.Fatalf("booking %d: %+v", i, b)
		}
	}
	if len(bookings) != orders {
		t.Errorf("%d bookings, want %d", len(bookings), orders)
	}
	stop := errors.New("enough")
	calls := 0
	err := w.ReadLedger(t.Context(), func(ctx context.Context, s store.LedgerReader) error {
		return s.Bookings(ctx, func(rewards.Booking) error {
			calls++
			return stop
		})
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("got %v after %d calls, want the caller's error at once", err, calls)
	}
}
