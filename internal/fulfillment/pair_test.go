package fulfillment_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/fulfillment"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const tenToOne = `{"type":"reverse_split","symbol":"AAPL","old_rate":10,"new_rate":1,"ex_date":"2000-01-05"}`

// Two actions of one stock, on one day or over one outage, are applied in an order that fits, also when the broker pays
// the fraction of the first one in cash.
func TestTwoActionsOfOneStock(t *testing.T) {
	t.Parallel()
	const spunThatDay = `{"type":"spin_off","source_symbol":"AAPL","source_rate":1,"new_symbol":"SPUN","new_rate":3,"ex_date":"2000-01-05"}`
	const spunNextDay = `{"type":"spin_off","source_symbol":"AAPL","source_rate":1,"new_symbol":"SPUN","new_rate":3,"ex_date":"2000-01-06"}`
	const renamed = `{"type":"name_change","old_symbol":"AAPL","new_symbol":"APL","process_date":"2000-01-06"}`
	type variant struct {
		second, fault string
		outage        bool
		symbol        string // afterwards
	}
	inWorlds(t, map[string]variant{
		"a spin-off on the same day":                     {second: spunThatDay, symbol: "AAPL"},
		"and a fraction in cash":                         {second: spunThatDay, fault: "cash-in-lieu symbol=AAPL", symbol: "AAPL"},
		"a spin-off over one outage, a fraction in cash": {spunNextDay, "cash-in-lieu symbol=AAPL", true, "AAPL"},
		"a new symbol over one outage, the same":         {renamed, "cash-in-lieu symbol=AAPL", true, "APL"},
	}, func(w *world, v variant) {
		w.sync(nil)
		w.wantAfter(5*time.Second, w.give("AAPL", 3100*usd), rewards.Executed)
		before := w.holding(w.user, "AAPL").Quantity
		if v.fault != "" {
			w.afflict(v.fault)
		}
		ids := []string{w.post(tenToOne), w.post(v.second)}
		if v.outage {
			w.check(w.brokerage.SetClock(w.t.Context(), time.Date(2000, 1, 6, 14, 31, 0, 0, time.UTC), 1))
		} else {
			w.overnight()
		}
		w.serve(5 * time.Minute)
		for _, id := range ids {
			w.wantAction(id, rewards.ActionSwept)
		}
		if got := w.holding(w.user, v.symbol).Quantity; got != before/10 {
			w.t.Errorf("%s shares became %s", before, got)
		}
		w.wantBalance()
	})
}

// Two splits of one stock on one day: at no moment is its price in doubt, although the previous close is before both.
func TestThePriceAfterTwoSplitsOnOneDay(t *testing.T) {
	t.Parallel()
	const body = `{"type":"%s","symbol":"AAPL","old_rate":%d,"new_rate":%d,"ex_date":"2000-01-05"}`
	inWorlds(t, map[string][2]rewards.Ratio{
		"both forward": {{Old: 1, New: 2}, {Old: 1, New: 3}},
		"both reverse": {{Old: 4, New: 1}, {Old: 5, New: 1}},
		"one of each":  {{Old: 7, New: 1}, {Old: 1, New: 3}},
	}, func(w *world, ratios [2]rewards.Ratio) {
		w.sync(nil)
		w.wantAfter(5*time.Second, w.give("AAPL", 31_000*usd), rewards.Executed)
		w.serve(5 * time.Second)
		want := w.holding(w.user, "AAPL").Quantity
		price := w.market.LastPrice(w.asset("AAPL"))
		var ids []string
		for _, r := range ratios {
			kind := rewards.ActionForwardSplit
			if r.New < r.Old {
				kind = rewards.ActionReverseSplit
			}
			ids = append(ids, w.post(fmt.Sprintf(body, kind, r.Old, r.New)))
			price = r.PriceOrNone(price)
		}
		w.until("2000-01-04 20:00:00")
		w.serve(5 * time.Second)
		w.until("2000-01-05 02:30:00")
		for range 600 {
			w.serve(100 * time.Millisecond)
			w.wantAlarm(rewards.AlarmPriceInDoubt, false)
		}
		for i, id := range ids {
			w.wantAction(id, rewards.ActionSwept)
			var err error
			want, err = ratios[i].Of(want)
			w.check(err)
		}
		if got := w.holding(w.user, "AAPL").Quantity; got < want-1 || got > want+1 { // in either order
			w.t.Errorf("the user has %s shares, want %s", got, want)
		}
		w.until("2000-01-05 10:00:00")
		w.serve(time.Minute)
		if got := w.market.LastPrice(w.asset("AAPL")); !rewards.Plausible(got, price) {
			w.t.Errorf("the price is %s, want about %s", got, price)
		}
		w.wantValued("AAPL", true)
		w.wantAfter(10*time.Second, w.give("AAPL", 5*usd), rewards.Executed)
		w.wantBalance()
		w.wantAlarm("", false)
	})
}

// What a spin-off moves of the cost basis is counted in the shares before a later split, whose prices are known first.
func TestTheBasisOfASpinOffBeforeASplit(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{
		"alone":                  `{"type":"name_change","old_symbol":"KO","new_symbol":"KOX","process_date":"2000-01-06"}`,
		"a split next day":       `{"type":"forward_split","symbol":"AAPL","old_rate":1,"new_rate":3,"ex_date":"2000-01-06"}`,
		"a reverse split":        `{"type":"reverse_split","symbol":"AAPL","old_rate":10,"new_rate":1,"ex_date":"2000-01-06"}`,
		"a split that is undone": "",
	}, func(w *world, second string) {
		w.sync(nil)
		w.wantAfter(5*time.Second, w.give("AAPL", 3100*usd), rewards.Executed)
		w.faulty(ofActivities, says(200, `[]`)) // which name no prices
		var spun string
		if second != "" {
			spun = w.post(spinOff)
			w.post(second)
			w.check(w.brokerage.SetClock(w.t.Context(), time.Date(2000, 1, 6, 14, 31, 0, 0, time.UTC), 1))
			w.serve(3 * time.Minute)
		} else {
			spun = w.spinOffAfterTheSplit()
		}
		w.wantAction(spun, rewards.ActionSwept)
		basis := w.holding(w.user, "SPUN").CostBasis // at the brokerage both together are worth five quarters
		if basis < 610*usd || basis > 630*usd {
			w.t.Errorf("the new stock has %s of the cost basis, want about a fifth of 3100", basis)
		}
	})
}

// spinOffAfterTheSplit has both applied in their order, after the split was undone.
func (w *world) spinOffAfterTheSplit() (spun string) {
	w.t.Helper()
	split, spun := w.lateSpinOff()
	w.undo(split)
	w.serve(20 * time.Second)
	for _, id := range []string{spun, split} {
		w.approve(id)
		w.serve(20 * time.Second)
	}
	return spun
}

// A company gives shares of a stock that the account has a fraction of, and the broker pays the fraction of what it
// gives in cash: the house owes that.
func TestGivenSharesWithoutTheirFraction(t *testing.T) {
	t.Parallel()
	type variant struct {
		body  string
		spent money.USD // for the stock that gives
		given rewards.Ratio
	}
	inWorlds(t, map[string]variant{
		"of a merger into a stock that is held": {
			`{"type":"stock_merger","acquiree_symbol":"AAPL","acquiree_rate":1,"acquirer_symbol":"KO","acquirer_rate":0.5,"effective_date":"2000-01-05"}`,
			3100 * usd,
			rewards.Ratio{Old: 2, New: 1},
		},
		"of a spin-off of less than one share": {
			`{"type":"spin_off","source_symbol":"AAPL","source_rate":3,"new_symbol":"KO","new_rate":1,"ex_date":"2000-01-05"}`,
			80 * usd,
			rewards.Ratio{Old: 3, New: 1},
		},
	}, func(w *world, v variant) {
		w.sync(nil)
		w.wantAfter(5*time.Second, w.give("AAPL", v.spent), rewards.Executed)
		w.wantAfter(5*time.Second, w.give("KO", 50*usd), rewards.Executed)
		source, target := w.holding(w.user, "AAPL").Quantity, w.holding(w.user, "KO").Quantity
		w.afflict("cash-in-lieu symbol=AAPL")
		id := w.post(v.body)
		w.overnight()
		w.serve(5 * time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		given, err := v.given.Of(source)
		w.check(err)
		if got := w.holding(w.user, "KO").Quantity; got != target+given {
			w.t.Errorf("the user has %s, want %s and %s", got, target, given)
		}
		w.wantBalance()
		w.wantAlarm("house_owes:KO", true)
		w.until("2000-01-05 10:00:00")
		w.serve(time.Minute)
		w.wantAfter(time.Minute, w.give("KO", 50*usd), rewards.Executed)
		w.serve(time.Minute)
		w.wantAlarm("house_owes:KO", false)
		w.wantBalance()
	})
}

// meanwhile is a store in which an operator decides right before the worker's decision is stored.
type meanwhile struct {
	fulfillment.Store
	decide func(rewards.ActionChange)
}

func (m meanwhile) ApplyAction(
	ctx context.Context, l rewards.Lease, c rewards.ActionChange, s rewards.Switch, r rewards.Renaming,
) error {
	m.decide(c)
	return m.Store.ApplyAction(ctx, l, c, s, r)
}

func (m meanwhile) ChangeActions(ctx context.Context, l rewards.Lease, changes []rewards.ActionChange) error {
	for _, c := range changes {
		m.decide(c)
	}
	return m.Store.ChangeActions(ctx, l, changes)
}

// An operator applies a spin-off while a later split is being applied: the order is right all the same.
func TestAnApprovalThatIsOvertaken(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.holders("AAPL")
		split := w.announce("1", "3", "2000-01-06")
		w.afflict("wrong-ratio symbol=AAPL")
		spun := w.post(spinOff)
		w.until("2000-01-05 09:35:00")
		w.serve(2 * time.Minute)
		w.wantAction(spun, rewards.ActionHeld)
		approved := false
		w.restartWith(meanwhile{w.store, func(c rewards.ActionChange) {
			if c.After.ID == split && c.After.State == rewards.ActionApplied && !approved {
				approved = true
				w.approve(spun)
			}
		}}, w.client)
		w.until("2000-01-06 02:31:00")
		w.serve(2 * time.Minute)
		w.wantAction(split, rewards.ActionSwept)
		w.wantHeld(spun, "the action "+split+" was applied already")
		w.undo(split)
		w.serve(20 * time.Second)
		w.approve(spun)
		w.serve(20 * time.Second)
		w.wantAction(spun, rewards.ActionSwept)
	})
}

// An operator decides while the worker decides to hold the action: the operator's decision stays.
func TestAnApprovalIsNotLost(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		w.afflict("wrong-ratio symbol=AAPL")
		id := w.announce("1", "4", "2000-01-05")
		w.restartWith(meanwhile{w.store, func(c rewards.ActionChange) {
			if c.After.ID == id && c.After.State == rewards.ActionHeld && c.Before.ApprovedAt.IsZero() {
				w.approve(id)
			}
		}}, w.client)
		w.until("2000-01-05 02:31:00")
		w.serve(time.Minute)
		w.wantAction(id, rewards.ActionSwept)
	})
}

// An action that was to be applied, then ignored, is applied when the operator decides so again.
func TestApplyAfterIgnore(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		before := w.holdings("AAPL")
		id := w.announce("1", "4", "2000-01-05")
		w.approve(id)
		_, err := w.operator("action ignore").IgnoreAction(w.t.Context(), id, true)
		w.check(err)
		_, err = w.operator("action apply").ApproveAction(w.t.Context(), id, true)
		w.check(err)
		w.until("2000-01-05 02:31:00")
		w.serve(time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		w.wantConverted("AAPL", before, rewards.Ratio{Old: 1, New: 4})
	})
}

// An operator applies two actions one by one that the broker's position shows at once, after an outage. The first one
// books what it announces, so that the house buys nothing for shares that are not missing. What nothing explains, such as
// shares that were sold by hand, is booked with the last one.
func TestTwoActionsThatAnOperatorApplies(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]money.Shares{"exactly": 0, "with shares of something else": 2 * money.Share}, func(w *world, more money.Shares) {
		w.cfg.ReviewActions = true
		w.restartWith(w.store, newClient(w.wire))
		w.sync(nil)
		w.wantAfter(5*time.Second, w.give("AAPL", 3100*usd), rewards.Executed)
		before := w.holding(w.user, "AAPL").Quantity
		ids := []string{
			w.post(`{"symbol":"AAPL","ex_date":"2000-01-05","type":"forward_split","old_rate":2,"new_rate":3}`),
			w.post(`{"symbol":"AAPL","ex_date":"2000-01-06","type":"reverse_split","old_rate":7,"new_rate":2}`),
		}
		w.check(w.brokerage.SetClock(w.t.Context(), time.Date(2000, 1, 6, 14, 31, 0, 0, time.UTC), 1))
		position := before*3/2*2/7 + more
		w.faulty(ofPositions, says(200, `[{"asset_id":"`+exchange.AssetID("AAPL")+`","symbol":"AAPL","qty":"`+position.String()+`"}]`))
		w.serve(3 * time.Minute)
		for i, id := range ids {
			w.wantAction(id, rewards.ActionHeld)
			w.approve(id)
			w.serve(time.Minute)
			w.wantAction(id, rewards.ActionSwept)
			extra := money.Shares(0)
			if i == 1 {
				extra = more
			}
			if got := w.house("AAPL"); got < extra-2 || got > extra+2 {
				w.t.Errorf("after action %d the house has %s shares, want %s", i+1, got, extra)
			}
		}
	})
}
