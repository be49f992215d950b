package rewards_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// An order whose notional is lowered by the house's offer gives every member what it would have got
// without the offer: floor(filled x amount / spent). The house never gives more than it has, and
// what its shares can't pay for waits.
func TestTheHousePaysAtTheOrdersPrice(t *testing.T) {
	t.Parallel()
	ids := testIDs(time.UnixMilli(1_790_000_000_000))
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Int64Range(1, 20_000_000), 1, 8).Draw(t, "amounts")
		var claims []rewards.Claim
		var waiting []rewards.Waiting
		var sum money.USD
		for _, a := range list {
			c := claim(ids, money.USD(a), money.USD(a))
			claims = append(claims, c)
			waiting = append(waiting, rewards.Waiting{RewardID: c.RewardID, Pending: c.Amount})
			sum += c.Amount
		}
		planned := money.Price(rapid.Int64Range(0, 9).Draw(t, "price at planning")) * hundred
		fill := hundred * money.Price(rapid.IntRange(1, 9).Draw(t, "price of the fill"))
		has, err := money.SharesFor(sum*money.USD(rapid.IntRange(0, 9).Draw(t, "tenths that the house has"))/10, hundred)
		check(t, err)
		offer := rewards.HouseOffer(has, planned, money.USD(rapid.Int64Range(0, 1_000_000).Draw(t, "promised")))
		p, hold, err := rewards.PlanOrder(rewards.Queues(waiting), rewards.MaxMembers, rewards.PlanLimits{
			MaxNotional: 1 << 50, DailyLeft: 1 << 50, HouseLeft: 1 << 50, HousePerApp: 1 << 50, TopUp: true, Offer: offer,
		})
		check(t, err)
		if hold != rewards.NoHold || p.Notional != sum+p.House || p.Notional < money.Dollar || p.Notional%money.Cent != 0 {
			t.Fatalf("hold %d, notional %s of %s and %s", hold, p.Notional, sum, p.House)
		}
		if -p.House > offer {
			t.Fatalf("the house offers %s of %s", -p.House, offer)
		}
		if best := sum - offer; offer > 0 && p.Notional > max(best+money.Cent, money.Dollar) {
			t.Fatalf("the order buys for %s, although the house offers %s of %s", p.Notional, offer, sum)
		}
		o := rewards.Order{Notional: p.Notional, House: p.House, BrokerStatus: "filled", FilledAvgPrice: fill}
		spent := p.Notional
		if rapid.Bool().Draw(t, "partly") {
			o.BrokerStatus = "canceled"
			spent = money.USD(rapid.Int64Range(0, int64(p.Notional)).Draw(t, "spent"))
		}
		o.FilledQty, err = money.SharesFor(spent, o.FilledAvgPrice)
		check(t, err)
		if o.FilledQty == 0 {
			return
		}
		wantAtThePrice(t, o, claims, has)
	})
}

// wantAtThePrice settles the order and checks what its members and the house got.
func wantAtThePrice(t *rapid.T, o rewards.Order, claims []rewards.Claim, has money.Shares) {
	s, err := rewards.Settle(o, claims, has, time.UnixMilli(1_790_000_000_001))
	check(t, err)
	carried, err := o.Carried()
	check(t, err)
	var dollars money.USD
	var shares money.Shares
	for _, r := range s.Results {
		dollars += r.Bought.Amount
		shares += r.Bought.Shares
		if r.Bought.Amount == 0 {
			continue
		}
		if want, err := money.Portion(o.FilledQty, r.Bought.Amount, carried); err != nil || want != r.Bought.Shares {
			t.Fatalf("%s bought %s shares, want %s, %v", r.Bought.Amount, r.Bought.Shares, want, err)
		}
	}
	given := dollars - carried
	part, err := money.MulDiv(int64(max(0, -o.House)), int64(carried), int64(o.Notional), money.Down)
	check(t, err)
	switch {
	case shares+s.HouseShares != o.FilledQty:
		t.Fatalf("%s and %s of %s shares", shares, s.HouseShares, o.FilledQty)
	case -s.HouseShares > has:
		t.Fatalf("the house gave %s of %s", -s.HouseShares, has)
	case given > money.USD(part):
		t.Fatalf("the house paid for %s of a part of the order", given)
	}
	worth, err := money.MulDiv(int64(has), int64(carried), int64(o.FilledQty), money.Down)
	if err == nil && o.BrokerStatus == "filled" && o.House < 0 && given < min(-o.House, money.USD(worth)) {
		t.Fatalf("the house paid for %s of %s with shares worth %s", given, -o.House, money.USD(worth))
	}
}
