package ledger_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/ledger"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// The complete journal of two apps, with a waiting reward and every closing assertion.
func TestJournal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.NewUser(t, w.NewApp(t, "second; a:b,\nc").ID, "other")
	w.giveTo(w.Users[0], 3_000_000)
	w.giveTo(other, 1_000_001)
	w.buy("filled", 20_050_001, 200*dollar)
	w.giveTo(w.Users[1], 7_000_000)
	got, report := w.mustCheck(&ledger.Positions{
		Asked: w.Now().Add(48 * time.Hour), List: []rewards.Position{{Symbol: "AAPL", Qty: 20_050_001}},
	})
	want, err := os.ReadFile("testdata/books.journal")
	w.check(err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(ledger.Report{Orders: 1, Lots: 2}, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestEmptyStore(t *testing.T) {
	t.Parallel()
	if got := newWorld(t).mustPass(); got != "" {
		t.Errorf("balances %s", got)
	}
}

func user(u rewards.User) string {
	return "liabilities:users:" + u.AppID.String() + ":" + u.ID.String()
}

func due(u rewards.User) string {
	return "assets:receivable:" + u.AppID.String() + ":" + u.ID.String() + ":AAPL"
}

// A lot is booked with its order, even while its reward is still executing.
func TestARewardOverTwoOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.giveTo(w.Users[0], 2_000_000)
	w.giveTo(w.Users[1], 2_000_000)
	w.giveTo(w.Users[1], 2_000_000)
	w.buy("canceled", 15_000_000, 200*dollar)
	wantBalances(t, w.mustPass(), "assets:custody 0.015000000 AAPL", "assets:cash:broker $-3.000000",
		user(w.Users[0])+" -0.010000000 AAPL", due(w.Users[0])+" $2.000000",
		user(w.Users[1])+" -0.005000000 AAPL", due(w.Users[1])+" $1.000000")
	w.buy("filled", 30_000_000, 100*dollar)
	wantBalances(t, w.mustPass(), "assets:custody 0.045000000 AAPL", "assets:cash:broker $-6.000000",
		user(w.Users[1])+" -0.035000000 AAPL", due(w.Users[1])+" $4.000000")
}

// A partial fill serves the rewards before the house.
func TestTheHouseIsLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.giveTo(w.Users[0], 400_000)
	w.buy("canceled", 1_000_000, 200*dollar) // $0.20 of $1
	if got := w.mustPass(); strings.Contains(got, "house") {
		t.Errorf("the house paid before the reward:\n%s", got)
	}
	w.buy("canceled", 1_500_000, 200*dollar) // $0.30 of $1: $0.20 is the rest of the reward
	wantBalances(t, w.mustPass(), due(w.Users[0])+" $0.400000", "expenses:house:top-up $0.100000",
		"equity:house -0.000500000 AAPL", "assets:cash:broker $-0.500000")
}

// Shares that cost less than a millionth of a dollar go to the house, without cost.
func TestDustWithoutCost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.giveTo(w.Users[0], 2_000_000)
	w.buy("canceled", 1, 200*dollar)
	wantBalances(t, w.mustPass(), "assets:custody 0.000000001 AAPL", "equity:house -0.000000001 AAPL")
}

// The house pays the top-up to the broker's minimum, and rewards too small for a share.
func TestRewardThatIsTooSmall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.giveTo(w.Users[0], 1) // a millionth of a dollar, at a price over $1000
	w.giveTo(w.Users[1], 500_000)
	w.buy("filled", 100_000, 10_000*dollar)
	got := w.mustPass()
	wantBalances(t, got, "assets:custody 0.000100000 AAPL", "assets:cash:broker $-1.000000",
		user(w.Users[1])+" -0.000050000 AAPL", due(w.Users[1])+" $0.500000",
		"equity:house -0.000050000 AAPL", "expenses:house:top-up $0.499999", "expenses:house:too-small $0.000001")
	journal, _ := w.write(nil)
	out, err := hledger(t, journal, "balance", "--cost", "equity:house", "--no-total", "--format", "%(total)")
	if err != nil || out != "$-0.500000\n" {
		t.Errorf("the house's shares cost %q, %v; want what it paid", out, err)
	}
}

// The app owes the dollars of a lot even if rounding leaves it without shares.
func TestLotWithoutShares(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.giveTo(w.Users[0], 1_999_999)
	w.giveTo(w.Users[1], 1_000_001)
	w.buy("canceled", 200_000, 10_000*dollar) // $2: a millionth of a dollar for the second reward
	if held, err := w.Holdings(t.Context(), w.App.ID, w.Users[1].ID); err != nil || len(held) != 0 {
		t.Fatalf("the test needs a lot without shares: %+v, %v", held, err)
	}
	wantBalances(t, w.mustPass(), due(w.Users[1])+" $0.000001")
	w.buy("filled", 100_000, 10_000*dollar)
	wantBalances(t, w.mustPass(), due(w.Users[1])+" $1.000001", user(w.Users[1])+" -0.000100000 AAPL")
}

func TestOrdersWithoutProvenFills(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.giveTo(w.Users[0], 2_000_000)
	w.buy("rejected", 0, 0)
	w.giveTo(w.Users[0], 2_000_000)
	w.buy("expired", 0, 0)
	o := w.Open(t) // a partial fill is not final
	o.BrokerStatus, o.FilledQty, o.FilledAvgPrice = "partially_filled", 1_000_000, 200*dollar
	w.check(w.SaveOrder(t.Context(), w.lease(), rewards.OrderOpen, o))
	if got := w.mustPass(); got != "" {
		t.Errorf("balances %s", got)
	}
}

func TestResolvedByAnOperator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.giveTo(w.Users[0], 2_000_000)
	o := w.Open(t)
	q := o
	q.State, q.Reason = rewards.OrderQuarantined, "strange"
	w.check(w.SaveOrder(t.Context(), w.lease(), rewards.OrderOpen, q))
	w.check(w.ResolveOrder(t.Context(), o.ID, rewards.Resolution{FilledQty: 7_000_000, Price: 200 * dollar, Reason: "statement"}))
	o, err := w.Order(t.Context(), o.ID)
	w.check(err)
	book := func(c []rewards.Claim, h money.Shares) (rewards.Settlement, error) {
		return rewards.Settle(o, c, h, w.Now())
	}
	_, err = w.SettleOrders(t.Context(), w.lease(), rewards.OrderEnd{From: rewards.OrderResolved, Order: o, Book: book})
	w.check(err)
	if journal, _ := w.write(nil); !strings.Contains(journal, "\n2026-09-21 * ("+o.ClientOrderID+") buy AAPL\n") {
		t.Errorf("without a fill time, the date is not that of the settlement:\n%s", journal)
	}
	wantBalances(t, w.mustPass(), "assets:custody 0.007000000 AAPL", "assets:cash:broker $-1.400000", due(w.Users[0])+" $1.400000")
}

// lost makes an order at the broker that the store does not have.
func (w *world) lost(id string) rewards.BrokerOrder {
	w.t.Helper()
	b := rewards.BrokerOrder{
		ID: "b,; x:\n" + id, ClientOrderID: "sr-x-" + id, Symbol: "AAPL", Side: "buy", Status: "filled", Notional: 3_000_000,
		FilledQty: 15_000_000, FilledAvgPrice: 200 * dollar,
	}
	w.check(w.SaveReconciliation(w.t.Context(), w.lease(), []rewards.BrokerConflict{
		{ClientOrderID: b.ClientOrderID, Symbol: "AAPL", FilledQty: b.FilledQty, Detail: "unknown"},
	}, w.Now()))
	return b
}

func TestAdoptedAndAcknowledgedOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.giveTo(w.Users[0], 1_000_000)
	adopted, owned := w.lost("one"), w.lost("two")
	o, err := w.AdoptOrder(t.Context(), adopted, "restored")
	w.check(err)
	w.check(w.AcknowledgeConflict(t.Context(), owned.ClientOrderID, "ours"))
	w.lost("three") // not acknowledged
	merged, err := o.Merge(adopted, w.Now())
	w.check(err)
	w.check(w.SaveOrder(t.Context(), w.lease(), rewards.OrderSubmitted, merged))
	w.check(w.Settle(t, merged, merged.BrokerStatus, merged.FilledQty, merged.FilledAvgPrice))
	wantBalances(t, w.mustPass(), "assets:custody 0.015000000 AAPL", "assets:custody:acknowledged 0.015000000 AAPL",
		"expenses:house:top-up $2.000000", due(w.Users[0])+" $1.000000", user(w.Users[0])+" -0.005000000 AAPL")
	asked := func(qty money.Shares) *ledger.Positions {
		return &ledger.Positions{Asked: w.Now().Add(time.Second), List: []rewards.Position{{Symbol: "AAPL", Qty: qty}}}
	}
	w.mustCheck(asked(30_000_000))
	w.mustFail(asked(45_000_000), "assets:custody", "AAPL")
}

// The position of a stock with a live order is not asserted.
func TestPositionsWithLiveOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.giveTo(w.Users[0], 2_000_000)
	asked := &ledger.Positions{Asked: w.Now()}
	w.buy("filled", 10_000_000, 200*dollar) // settled after the request
	_, report := w.mustCheck(asked)
	if diff := cmp.Diff([]string{"AAPL"}, report.NotCompared); diff != "" {
		t.Errorf("not compared (-want +got):\n%s", diff)
	}
	w.Advance(time.Second)
	asked.Asked = w.Now()
	w.mustFail(asked, "assets:custody", "AAPL")
	w.giveTo(w.Users[0], 2_000_000)
	w.Open(t)
	if _, report := w.write(asked); len(report.NotCompared) != 1 {
		t.Errorf("report %+v, want the open order seen", report)
	}
	asked.List = []rewards.Position{{Symbol: "BRK.B", Qty: 5}}
	w.mustFail(asked, "assets:custody", "BRK.B")
}

// full is a full disk.
type full struct{}

var errFull = errors.New("no space left")

// Write implements io.Writer.
func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.giveTo(w.Users[0], 2_000_000)
	w.buy("filled", 10_000_000, 200*dollar)
	write := func(ctx context.Context, positions *ledger.Positions) error {
		return w.ReadLedger(t.Context(), func(_ context.Context, reader store.LedgerReader) error {
			_, err := ledger.Write(ctx, full{}, reader, positions)
			return err
		})
	}
	if err := write(t.Context(), nil); !errors.Is(err, errFull) {
		t.Errorf("got %v, want the writer's error", err)
	}
	for _, symbol := range []string{"", `A"B`, "A B", "A;B", "A\nB"} {
		err := write(t.Context(), &ledger.Positions{List: []rewards.Position{{Symbol: symbol}}})
		if err == nil || errors.Is(err, errFull) {
			t.Errorf("symbol %q: %v, want an error about it", symbol, err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := write(ended, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
