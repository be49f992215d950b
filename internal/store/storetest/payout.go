package storetest

import (
	"errors"
	"math/big"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// entitle announces a cash dividend of AAPL and records who holds the stock.
func (w *World) entitle(t *testing.T, id string) rewards.Switch {
	t.Helper()
	s := w.apply(t, id, "AAPL", rewards.Terms{Type: rewards.ActionCashDividend, Rate: "0.25"}, 0)
	w.sweep(t)
	return s
}

// shareOut computes all parts of a payment, with another process for each transaction.
func (w *World) shareOut(t *testing.T, id string) (p rewards.Payout, steps int) {
	t.Helper()
	for done := false; !done; steps++ {
		w.reopen(t)
		var err error
		done, err = w.SharePayout(t.Context(), w.lease, id)
		check(t, err)
	}
	return w.payout(t, id), steps
}

func (w *World) payout(t *testing.T, id string) rewards.Payout {
	t.Helper()
	p, found, err := w.Payout(t.Context(), id)
	check(t, err)
	if !found {
		t.Fatalf("%s has no payout", id)
	}
	return p
}

// unpaid lists the ids of the actions that are not paid out.
func (w *World) unpaid(t *testing.T) (ids []string) {
	t.Helper()
	for _, a := range read(t, w.UnpaidActions) {
		ids = append(ids, a.ID)
	}
	return ids
}

// wantParts checks that every holder has their own floor of the payment, and what they sum up to.
func (w *World) wantParts(t *testing.T, p rewards.Payout) (payees int) {
	t.Helper()
	var sum money.USD
	for _, e := range w.effects(t, p.Switch) {
		part := new(big.Int).Mul(big.NewInt(int64(p.Net)), big.NewInt(int64(e.Entitled)))
		if want := part.Quo(part, big.NewInt(int64(p.Counted))).Int64(); int64(e.Cash) != want {
			t.Errorf("the part of %s of %s shares is %s, want %d millionths", p.Net, e.Before, e.Cash, want)
		}
		if sum += e.Cash; e.Cash > 0 {
			payees++
		}
	}
	if p.Shared != sum || sum > p.Net || payees == 0 {
		t.Errorf("%d parts sum up to %s, stored is %s of %s", payees, sum, p.Shared, p.Net)
	}
	return payees
}

// wantEntitlement checks what the store says of who gets a dividend. It returns the dividend with an ex-date of a day
// later, for which nobody is recorded.
func (c *crowd) wantEntitlement(t *testing.T, s rewards.Switch, div rewards.Action, held portfolios) rewards.Action {
	t.Helper()
	moved, other := div, div
	moved.Boundary, other.ID = c.Now().Add(24*time.Hour), "other"
	for _, x := range []struct {
		a    rewards.Action
		want bool
	}{{div, true}, {moved, false}, {other, false}} {
		if entitled, err := c.Entitled(t.Context(), x.a); err != nil || entitled != x.want {
			t.Errorf("entitled at %s by %s: %t, %v", x.a.Boundary, x.a.ID, entitled, err)
		}
	}
	e, err := c.Entitlement(t.Context(), div)
	check(t, err)
	var users money.Shares
	for _, list := range held {
		for _, h := range list {
			if h.AssetID == c.aapl {
				users += h.Quantity
			}
		}
	}
	if e.Number != s.Number || e.Shares != users || len(e.Switches) != 1 || e.Switches[0].ExDate != div.ExDate {
		t.Errorf("the entitlement is %+v, want %s shares of switch %d", e, users, s.Number)
	}
	return moved
}

// testPayout: a dividend goes to those who held the stock at its boundary: each gets their floor of
// it, once, however often a process is killed.
func testPayout(t *testing.T, w *World) {
	c := newCrowd(t, w, 1_800) // more than the users of a transaction
	before := c.read(t, c.Store)
	s := w.entitle(t, "div")
	held := before.converted(t, c.aapl, s.Conversion)
	c.wantHoldings(t, "after the entitlement", held)
	c.wantEffects(t, s, before, held)
	div, _, err := w.Action(t.Context(), "div")
	check(t, err)
	moved := c.wantEntitlement(t, s, div, held)
	c.bought(t, "AAPL", held) // too late for this dividend
	check(t, c.SetDividends(t.Context(), "second", rewards.DividendsHouse))
	wantEqual(t, "unpaid", []string{"div"}, w.unpaid(t))
	payment := rewards.Payment{ActivityID: "a", Net: 12_345_678_901}
	check(t, w.SaveActivities(t.Context(), w.lease, []rewards.Activity{
		{ID: "a", Type: "DIV", Symbol: "AAPL", Date: "2026-12-20", Body: "{}"},
		{ID: "unused", Type: "DIV", Symbol: "AAPL", Date: "2026-12-20", Body: "{}"},
	}))
	for _, again := range []rewards.Payment{payment, {ActivityID: "b", Net: 5, Counted: 5}} {
		check(t, w.BeginPayout(t.Context(), w.lease, "div", again))
		list, spent, err := w.PaymentsOf(t.Context(), "2026-01-01", "AAPL")
		check(t, err)
		if len(list) != 2 || len(spent) != 1 || !spent["a"] {
			t.Errorf("activities %+v, of which %v paid for an action", list, spent)
		}
		payment.Counted = s.Booked
		wantEqual(t, "the payout", rewards.Payout{Payment: payment, ActionID: "div", Switch: s.Number, At: w.Now()}, w.payout(t, "div"))
	}
	p, steps := w.shareOut(t, "div")
	payees := w.wantParts(t, p)
	if steps != 2 || p.SharedAt.IsZero() {
		t.Errorf("shared in %d transactions at %s", steps, p.SharedAt)
	}
	if done, err := w.SharePayout(t.Context(), w.lease, "div"); err != nil || !done {
		t.Errorf("shared again: %v, %v", done, err)
	}
	wantEqual(t, "the payout, shared again", p, w.payout(t, "div"))
	a, _, err := w.Action(t.Context(), "div")
	check(t, err)
	if entitled, err := w.Entitled(t.Context(), moved); err != nil || !entitled {
		t.Errorf("entitled while the cash is shared: %t, %v", entitled, err)
	}
	if a.State != rewards.ActionAnnounced {
		t.Errorf("the dividend is %s before its awards exist", a.State)
	}
	by := w.As(rewards.Operator{Actor: "ann@db1", Command: "action", Reason: "checked"})
	wantCode(t, failure(by.IgnoreAction(t.Context(), "div", true)), rewards.CodeConflict)
	withdrawn := rewards.Observation{SeenAt: w.Now()}.Hold(a, "withdrawn")
	check(t, w.change(t, rewards.ActionChange{Before: a, After: withdrawn}))
	wantEqual(t, "unpaid, while it is held", []string{"div"}, w.unpaid(t))
	c.payAll(t, a, payees)
	a, _, err = w.Action(t.Context(), "div")
	check(t, err)
	if a.State != rewards.ActionSwept || !a.AppliedAt.Equal(w.Now()) {
		t.Errorf("the dividend is %s, applied at %s", a.State, a.AppliedAt)
	}
	if p = w.payout(t, "div"); p.PaidAt.IsZero() || len(w.unpaid(t)) != 0 {
		t.Errorf("paid at %s, unpaid are %v", p.PaidAt, w.unpaid(t))
	}
	if owed, err := w.OwedCash(t.Context(), ""); err != nil || len(owed) != 0 {
		t.Errorf("%d users are owed cash of a dividend that became awards: %v", len(owed), err)
	}
}

// payAll makes awards of the parts. Each part is read by a process that is killed before it notes
// them, and by the next one. An operator who changes the policies meanwhile does not change those of this payment.
func (c *crowd) payAll(t *testing.T, a rewards.Action, payees int) {
	t.Helper()
	wantCode(t, c.SetDividends(t.Context(), "first", rewards.DividendsHouse), rewards.CodeUnavailable)
	c.Advance(time.Second) // since the payment was booked
	check(t, c.SetDividends(t.Context(), "first", rewards.DividendsHouse))
	check(t, c.SetDividends(t.Context(), "second", rewards.DividendsReinvest))
	paid := make(map[rewards.UserID]rewards.RewardID)
	for n := 0; ; n++ {
		part, policies, err := c.NextPayees(t.Context(), a.ID)
		check(t, err)
		repeated := false
		for i, e := range part {
			if first := e.AppID == c.App.ID; first != (policies[e.AppID] == rewards.DividendsReinvest) {
				t.Fatalf("the policies are %v", policies)
			}
			if e.Cash == 0 {
				continue
			}
			outcomes, err := c.RecordRewards(t.Context(), []rewards.NewReward{a.CashAward(e, a.AssetID, 1, "")})
			check(t, err)
			repeated = outcomes[0].Verdict == rewards.Replay
			if repeated != (paid[e.UserID] != rewards.RewardID{}) {
				t.Fatalf("verdict %d for a user who got %s", outcomes[0].Verdict, paid[e.UserID])
			}
			paid[e.UserID], part[i].RewardID = outcomes[0].Reward.ID, outcomes[0].Reward.ID
		}
		c.reopen(t)
		if !repeated && len(part) > 0 {
			continue // killed
		}
		check(t, c.SavePaid(t.Context(), c.lease, a.ID, part))
		check(t, c.SavePaid(t.Context(), c.lease, a.ID, part))
		if len(part) == 0 {
			break
		}
	}
	if len(paid) != payees {
		t.Errorf("%d users are paid, want %d", len(paid), payees)
	}
	for _, e := range c.effects(t, c.payout(t, a.ID).Switch) {
		if e.RewardID != paid[e.UserID] {
			t.Errorf("the stored award of %s is %s, want %s", e.UserID, e.RewardID, paid[e.UserID])
		}
	}
}

// testLateDividend: who bought after the boundary gets nothing of a dividend, although it became
// known later.
func testLateDividend(t *testing.T, w *World) {
	w.buy(t, w.Users[0], "AAPL", 2_000_000, 10_000_000)
	w.buy(t, w.Users[1], "AAPL", 2_000_000, 10_000_000)
	w.buy(t, w.Users[2], "KO", 2_000_000, 10_000_000)
	w.Advance(time.Hour)
	asset, boundary := w.Asset(t, "AAPL").ID, w.Now()
	bought := func(want bool) {
		t.Helper()
		if got, err := w.ChangedSince(t.Context(), asset, boundary); err != nil || got != want {
			t.Errorf("bought since: %v, %v; want %v", got, err, want)
		}
	}
	bought(false)
	w.buy(t, w.Users[2], "KO", 2_000_000, 10_000_000)
	bought(false)
	w.buy(t, w.Users[1], "AAPL", 1_000_000, 5_000_000)
	w.buy(t, w.Users[2], "AAPL", 1_000_000, 5_000_000)
	bought(true)
	c, s := w.derive(t, w.announce(t, "div", "AAPL", rewards.Terms{Type: rewards.ActionCashDividend, Rate: "1"}), rewards.Fraction{})
	s.EntitledAt = boundary
	open := w.openFor(t, w.Users[0], "AAPL", 1_000_000) // an open order does not matter
	check(t, w.ApplyAction(t.Context(), w.lease, c, s, rewards.Renaming{}))
	w.sweep(t)
	check(t, w.Settle(t, open, "filled", 5_000_000, dollar200))
	list, err := w.Switches(t.Context(), "div")
	check(t, err)
	if len(list) != 1 || !list[0].EntitledAt.Equal(boundary) || list[0].SweptAt.IsZero() {
		t.Errorf("the switches of the dividend are %+v", list)
	}
	entitled := map[rewards.UserID]money.Shares{}
	for _, e := range w.effects(t, list[0].Number) {
		entitled[e.UserID] = e.Entitled
	}
	want := map[rewards.UserID]money.Shares{w.Users[0].ID: 10_000_000, w.Users[1].ID: 10_000_000, w.Users[2].ID: 0}
	wantEqual(t, "the shares that count", want, entitled)
	check(t, w.BeginPayout(t.Context(), w.lease, "div", rewards.Payment{ActivityID: "a", Net: 3, Counted: 20_000_000}))
	p, _ := w.shareOut(t, "div")
	if payees := w.wantParts(t, p); payees != 2 || p.Shared != 2 {
		t.Errorf("%d users get %s", payees, p.Shared)
	}
}

// testPayoutOfTooFew: when the broker counted fewer shares than the users have, the last ones get
// less: never more is shared than was paid.
func testPayoutOfTooFew(t *testing.T, w *World) {
	newCrowd(t, w, 40)
	s := w.entitle(t, "div")
	const net = 1_000_003
	check(t, w.BeginPayout(t.Context(), w.lease, "div", rewards.Payment{ActivityID: "a", Net: net, Counted: s.Booked / 2}))
	p, _ := w.shareOut(t, "div")
	var sum money.USD
	for _, e := range w.effects(t, p.Switch) {
		sum += e.Cash
	}
	if p.Shared != net || sum != net {
		t.Errorf("shared are %s, stored as %s; want all of %d millionths", sum, p.Shared, net)
	}
}

// testPayoutRefused: nothing is paid for an action that is not swept, or by a former leader.
func testPayoutRefused(t *testing.T, w *World) {
	w.buy(t, w.Users[0], "AAPL", 2_000_000, 10_000_000)
	payment := rewards.Payment{ActivityID: "a", Net: 1_000_000}
	want := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	begin := func(l rewards.Lease) error { return w.BeginPayout(t.Context(), l, "div", payment) }
	want("nobody is entitled", begin(w.lease), rewards.ErrStale)
	w.apply(t, "div", "AAPL", rewards.Terms{Type: rewards.ActionCashDividend, Rate: "0.25"}, 0)
	want("the entitlement is not complete", begin(w.lease), rewards.ErrStale)
	w.sweep(t)
	want("no payment to share", failure(w.SharePayout(t.Context(), w.lease, "div")), rewards.ErrStale)
	_, _, err := w.NextPayees(t.Context(), "div")
	want("no payment to pay out", err, rewards.ErrStale)
	want("no payment was paid out", w.SavePaid(t.Context(), w.lease, "div", nil), rewards.ErrStale)
	want("a former leader begins", begin(w.lost()), rewards.ErrLostLease)
	check(t, begin(w.lease))
	want("a former leader shares", failure(w.SharePayout(t.Context(), w.lost(), "div")), rewards.ErrLostLease)
	_, _, err = w.NextPayees(t.Context(), "div")
	want("it is not shared", err, rewards.ErrStale)
	want("it is not shared", w.SavePaid(t.Context(), w.lease, "div", nil), rewards.ErrStale)
	w.shareOut(t, "div")
	want("a former leader pays", w.SavePaid(t.Context(), w.lost(), "div", nil), rewards.ErrLostLease)
	w.entitle(t, "other")
	check(t, w.BeginPayout(t.Context(), w.lease, "other", payment)) // it was booked for the first one
	if _, found, err := w.Payout(t.Context(), "other"); err != nil || found {
		t.Errorf("a payment is booked twice: %v", err)
	}
	wantEqual(t, "unpaid", []string{"div", "other"}, w.unpaid(t))
	w.apply(t, "nobody", "TSLA", rewards.Terms{Type: rewards.ActionCashDividend, Rate: "0.25"}, 0)
	w.sweep(t)
	err = w.BeginPayout(t.Context(), w.lease, "nobody", rewards.Payment{ActivityID: "z", Net: 1})
	want("nobody had shares", err, rewards.ErrStale)
	w.entitle(t, "ignored")
	check(t, w.BeginPayout(t.Context(), w.lease, "ignored", rewards.Payment{ActivityID: "i", Net: 1_000_000}))
	by := w.As(rewards.Operator{Actor: "ann@db1", Command: "action ignore", Reason: "paid twice"})
	check(t, failure(by.IgnoreAction(t.Context(), "ignored", false)))
	want("the action is ignored", failure(w.SharePayout(t.Context(), w.lease, "ignored")), rewards.ErrStale)
	err = w.BeginPayout(t.Context(), w.lease, "ignored", rewards.Payment{ActivityID: "j", Net: 1})
	want("the action is ignored", err, rewards.ErrStale)
}

// testOwedCash: what did not become an award is owed: a merger's cash, and cash whose award
// failed.
func testOwedCash(t *testing.T, w *World) {
	for _, u := range w.Users[:2] {
		w.buy(t, u, "AAPL", 2_000_000, 10_000_000)
		w.buy(t, u, "KO", 2_000_000, 10_000_000)
	}
	w.entitle(t, "div")
	w.apply(t, "merger", "KO", rewards.Terms{Type: rewards.ActionCashMerger, Rate: "3"}, 0)
	w.sweep(t)
	wantEqual(t, "unpaid", []string{"div", "merger"}, w.unpaid(t))
	for id, activity := range map[string]string{"div": "a", "merger": "b"} {
		check(t, w.BeginPayout(t.Context(), w.lease, id, rewards.Payment{ActivityID: activity, Net: 4_000_000}))
		w.shareOut(t, id)
	}
	a, _, err := w.Action(t.Context(), "div")
	check(t, err)
	part, _, err := w.NextPayees(t.Context(), "div")
	check(t, err)
	for i, e := range part {
		part[i].RewardID = w.record(t, a.CashAward(e, a.AssetID, 1, "")).ID
	}
	check(t, w.SavePaid(t.Context(), w.lease, "div", part))
	check(t, w.SavePaid(t.Context(), w.lease, "div", nil))
	owed := func(action string) (got []string) {
		t.Helper()
		list, err := w.OwedCash(t.Context(), action)
		check(t, err)
		for _, o := range list {
			if o.AppID != w.App.ID || o.Cash != 2_000_000 {
				t.Errorf("owed: %+v", o)
			}
			for i, u := range w.Users {
				if u.ID == o.UserID {
					got = append(got, o.ActionID+" user-"+string(rune('0'+i))+": "+o.Why)
				}
			}
		}
		return got
	}
	wantEqual(t, "owed before the merger is paid out", nil, owed(""))
	check(t, w.SavePaid(t.Context(), w.lease, "merger", nil))
	_, _, err = w.ReverseReward(t.Context(), part[0].RewardID, 0, "a mistake")
	check(t, err)
	const kept = ": it is not reinvested"
	merger := []string{"merger user-0" + kept, "merger user-1" + kept}
	failed := "div user-0: the award " + part[0].RewardID.String() + " failed: canceled: a mistake"
	wantEqual(t, "owed", append([]string{failed}, merger...), owed(""))
	wantEqual(t, "owed of the merger", merger, owed("merger"))
	wantEqual(t, "owed of another one", nil, owed("none"))
}
