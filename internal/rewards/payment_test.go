package rewards_test

import (
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

func dividend() rewards.Action {
	return rewards.Action{ID: "div-1", AssetID: 7, Terms: rewards.Terms{
		Type: rewards.ActionCashDividend, Symbol: "AAPL", Rate: "0.25", ExDate: "2026-12-03",
	}}
}

// The payment is the broker's activity of the stock since the ex-date, less tax and fees of its
// group.
func TestPaymentOfAnAction(t *testing.T) {
	t.Parallel()
	paid := rewards.Activity{
		ID: "1", Type: "DIV", Symbol: "AAPL", Date: "2026-12-20", GroupID: "g", Qty: 40 * money.Share, Net: 10_000_000, PerShare: "0.25",
	}
	with := func(n rewards.Activity, change func(*rewards.Activity)) rewards.Activity {
		change(&n)
		return n
	}
	tax := with(paid, func(n *rewards.Activity) { n.ID, n.Type, n.Net, n.Qty = "2", "DIVNRA", -1_500_000, 0 })
	fee := with(tax, func(n *rewards.Activity) { n.ID, n.Type, n.Net = "3", "DIVFEE", -20_000 })
	whole := rewards.Payment{ActivityID: "1", Net: 10_000_000, Counted: 40 * money.Share}
	less := func(by money.USD) rewards.Payment { p := whole; p.Net -= by; return p }
	type list = []rewards.Activity
	for name, c := range map[string]struct {
		list list
		want rewards.Payment // the zero value: not found
	}{
		"nothing":              {nil, rewards.Payment{}},
		"the dividend":         {list{paid}, whole},
		"less tax and a fee":   {list{tax, paid, fee}, less(1_520_000)},
		"tax of another group": {list{paid, with(tax, func(n *rewards.Activity) { n.GroupID = "h" })}, whole},
		"tax without a group":  {list{paid, with(tax, func(n *rewards.Activity) { n.GroupID = "" })}, less(1_500_000)},
		"tax of another day":   {list{paid, with(tax, func(n *rewards.Activity) { n.GroupID, n.Date = "", "2026-12-21" })}, whole},
		"no groups, another day": {list{
			with(paid, func(n *rewards.Activity) { n.GroupID = "" }),
			with(tax, func(n *rewards.Activity) { n.GroupID, n.Date = "", "2027-03-20" }),
		}, whole},
		"a canceled tax":     {list{paid, with(tax, func(n *rewards.Activity) { n.Status = "canceled" })}, whole},
		"tax alone":          {list{tax}, rewards.Payment{}},
		"all of it is tax":   {list{paid, with(tax, func(n *rewards.Activity) { n.Net = -10_000_000 })}, rewards.Payment{}},
		"before the ex-date": {list{with(paid, func(n *rewards.Activity) { n.Date = "2026-12-02" })}, rewards.Payment{}},
		"without a day":      {list{with(paid, func(n *rewards.Activity) { n.Date = "" })}, whole},
		"another stock":      {list{with(paid, func(n *rewards.Activity) { n.Symbol = "KO" })}, rewards.Payment{}},
		"after a rename":     {list{with(paid, func(n *rewards.Activity) { n.Symbol = "APL" })}, whole},
		"another rate":       {list{with(paid, func(n *rewards.Activity) { n.PerShare = "0.3" })}, rewards.Payment{}},
		"the rate in zeros":  {list{with(paid, func(n *rewards.Activity) { n.PerShare = "0.2500" })}, whole},
		"no rate":            {list{with(paid, func(n *rewards.Activity) { n.PerShare = "" })}, whole},
		"canceled":           {list{with(paid, func(n *rewards.Activity) { n.Status = "canceled" })}, rewards.Payment{}},
		"unreadable":         {list{with(paid, func(n *rewards.Activity) { n.Problem = "qty: x" })}, rewards.Payment{}},
		"a merger's":         {list{with(paid, func(n *rewards.Activity) { n.Type = "MA" })}, rewards.Payment{}},
		"not counted":        {list{with(paid, func(n *rewards.Activity) { n.Qty = 0 })}, rewards.Payment{ActivityID: "1", Net: 10_000_000}},
	} {
		got, found := dividend().PaidBy(c.list, nil, "APL")
		if !found {
			got = rewards.Payment{}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	merger := dividend()
	merger.Type, merger.NewSymbol, merger.Rate = rewards.ActionCashMerger, "KO", "5"
	cash := rewards.Activity{ID: "4", Type: "MA", Symbol: "AAPL", Date: "2026-12-03", Qty: -40 * money.Share, Net: 200_000_000}
	odd := dividend()
	odd.NewSymbol = "MSFT" // as an operator could enter it
	if p, found := odd.PaidBy(list{with(paid, func(n *rewards.Activity) { n.Symbol = "MSFT" })}, nil, "AAPL"); found {
		t.Errorf("a dividend takes the payment of another stock: %+v", p)
	}
	if p, found := merger.PaidBy(list{paid, cash}, nil, "AAPL"); !found || p.Net != 200_000_000 || p.Counted != 40*money.Share {
		t.Errorf("a merger's cash: %+v, %t", p, found)
	}
}

// Every user gets the floor of their part; together never more than was received.
func TestSharesOfAPayment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		held := rapid.SliceOfN(rapid.Int64Range(0, 1_000_000_000_000), 1, 50).Draw(t, "held")
		counted := rapid.Int64Range(0, 1_000_000_000).Draw(t, "of the house") + 1
		for _, h := range held {
			counted += h
		}
		p := rewards.Payment{Net: money.USD(rapid.Int64Range(1, 1<<50).Draw(t, "net")), Counted: money.Shares(counted)}
		var sum money.USD
		for _, h := range held {
			got, err := p.Share(money.Shares(h))
			want := new(big.Int).Mul(big.NewInt(int64(p.Net)), big.NewInt(h))
			want.Quo(want, big.NewInt(counted))
			if err != nil || int64(got) != want.Int64() {
				t.Fatalf("of %d shares: %s, %v; want %s", h, got, err, want)
			}
			sum += got
		}
		if house := p.Net - sum; house < 0 {
			t.Fatalf("shared %s of %s", sum, p.Net)
		}
	})
}

// A broker that counted fewer shares than a user has pays that user no more than all.
func TestAShareIsAtMostThePayment(t *testing.T) {
	t.Parallel()
	got, err := rewards.Payment{Net: 7, Counted: 10}.Share(25)
	if err != nil || got != 7 {
		t.Errorf("the part is %s, %v; want all", got, err)
	}
}

// Additions, section 7: source, key and metadata of the award that a user's cash becomes.
func TestCashAwards(t *testing.T) {
	t.Parallel()
	e := rewards.Effect{AppID: rewards.AppID{1}, UserID: rewards.UserID{2}, Cash: 1_230_000}
	merger := dividend()
	merger.ID, merger.Type, merger.NewSymbol = "m-1", rewards.ActionMixedMerger, "KO"
	for _, c := range []struct {
		a       rewards.Action
		attempt int
		want    rewards.NewReward
	}{
		{dividend(), 1, rewards.NewReward{
			IdempotencyKey: "dividend:div-1:" + e.UserID.String(), Symbol: "AAPL", Source: "dividend",
			Metadata: `{"corporateActionId":"div-1"}`,
		}},
		{dividend(), 2, rewards.NewReward{
			IdempotencyKey: "dividend:div-1:" + e.UserID.String() + ":2", Symbol: "AAPL", Source: "dividend",
			Metadata: `{"corporateActionId":"div-1"}`,
		}},
		{merger, 1, rewards.NewReward{
			IdempotencyKey: "merger:m-1:" + e.UserID.String(), Symbol: "KO", Source: "merger",
			Metadata: `{"corporateActionId":"m-1"}`,
		}},
	} {
		want := c.want
		want.AppID, want.UserID, want.Amount, want.AssetID, want.Canonical = e.AppID, e.UserID, e.Cash, 9, want.Metadata
		want.Uncounted = true
		want.Fingerprint = rewards.NewFingerprint(want, want.Metadata)
		if diff := cmp.Diff(want, c.a.CashAward(e, 9, c.attempt, "activity")); diff != "" {
			t.Errorf("the award (-want +got):\n%s", diff)
		}
	}
}

// The broker's activities of a spin-off name the prices that divide the cost basis.
func TestSpinOffPrices(t *testing.T) {
	t.Parallel()
	a := rewards.Action{Terms: rewards.Terms{Type: rewards.ActionSpinOff, Symbol: "AAPL", NewSymbol: "SPUN", ExDate: "2026-12-03"}}
	leg := func(symbol string, price money.Price) rewards.Activity {
		return rewards.Activity{Type: "SPIN", Symbol: symbol, Price: price, Date: "2026-12-03"}
	}
	early, canceled, unreadable := leg("SPUN", 9), leg("SPUN", 9), leg("SPUN", 9)
	early.Date, canceled.Status, unreadable.Problem = "2026-12-02", "canceled", "price: x"
	source, target := a.SpinOffPrices([]rewards.Activity{leg("AAPL", 5), leg("SPUN", 3), early, canceled, unreadable, leg("KO", 9)})
	if source != 5 || target != 3 {
		t.Errorf("the prices are %s and %s", source, target)
	}
	if source, _ := a.SpinOffPrices([]rewards.Activity{leg("APL", 6)}, "APL"); source != 6 {
		t.Errorf("under the new symbol the price is %s", source)
	}
	if source, target := a.SpinOffPrices([]rewards.Activity{leg("AAPL", 5)}); source != 5 || target != 0 {
		t.Errorf("of one leg the prices are %s and %s", source, target)
	}
}

// Only ordinary fills are reported by their orders as well.
func TestPlainActivities(t *testing.T) {
	t.Parallel()
	for n, want := range map[rewards.Activity]bool{
		{Type: "FILL", SubType: "fill"}: true, {Type: "FILL", SubType: "partial_fill"}: true,
		{Type: "FILL", SubType: "trade_bust"}: false, {Type: "FILL", SubType: "trade_correct"}: false,
		{Type: "FILL"}: false, {Type: "DIV", SubType: "fill"}: false,
	} {
		if got := n.Plain(); got != want {
			t.Errorf("%s %s is plain: %t", n.Type, n.SubType, got)
		}
	}
}

// What the broker canceled or corrected before it was booked is not shared; what it paid instead is.
func TestPaymentsThatWereCanceled(t *testing.T) {
	t.Parallel()
	paid := rewards.Activity{
		ID: "20261220000000000::a", Type: "DIV", Symbol: "AAPL", Date: "2026-12-20", Status: "executed", GroupID: "g",
		Qty: 40 * money.Share, Net: 10 * money.Dollar, PerShare: "0.25",
	}
	canceled, corrected := paid, paid
	canceled.ID, canceled.Status, canceled.Previous, canceled.Net = "20261221000000000::b", "canceled", paid.ID, -paid.Net
	corrected.ID, corrected.Status, corrected.Previous, corrected.Net = "20261221000000000::c", "correct", "a", 5*money.Dollar
	a := dividend()
	if p, found := a.PaidBy([]rewards.Activity{paid, canceled}, nil, "AAPL"); found {
		t.Errorf("a payment that was canceled is shared: %+v", p)
	}
	if p, found := a.PaidBy([]rewards.Activity{paid, corrected}, nil, "AAPL"); !found || p.Net != 5*money.Dollar {
		t.Errorf("a payment that was corrected is %+v", p)
	}
}

// A payment is for the action whose pay date it is nearest to, also when another one of the stock is looked at first.
func TestThePaymentOfAnotherAction(t *testing.T) {
	t.Parallel()
	first, second := dividend(), dividend()
	first.PayDate, second.ID, second.ExDate, second.PayDate = "2026-12-28", "div-2", "2026-12-20", "2027-01-10"
	paid := rewards.Activity{
		ID: "1", Type: "DIV", Symbol: "AAPL", Date: "2026-12-29", Qty: 40 * money.Share, Net: 10 * money.Dollar, PerShare: "0.25",
	}
	if p, found := second.PaidBy([]rewards.Activity{paid}, nil, "AAPL", first, second); found {
		t.Errorf("the second one takes %+v", p)
	}
	if _, found := first.PaidBy([]rewards.Activity{paid}, nil, "AAPL", first, second); !found {
		t.Error("the first one is not paid")
	}
	paid.Date, second.Rate = "2027-01-09", "0.26"
	if _, found := first.PaidBy([]rewards.Activity{paid}, nil, "AAPL", first, second); !found {
		t.Error("a payment at its own rate that comes late is not found")
	}
}
