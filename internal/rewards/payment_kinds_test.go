package rewards_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// A regular and a special dividend of a stock are paid on one day, each with its tax, by a broker that names no groups.
// What is shared of both must be what the account received.
func TestTwoDividendsOfADayWithoutGroups(t *testing.T) {
	t.Parallel()
	regular, special := dividend(), dividend()
	special.ID, special.Rate = "div-2", "1"
	list := []rewards.Activity{
		{ID: "1", Type: "DIV", Symbol: "AAPL", Date: "2026-12-20", Qty: 40 * money.Share, Net: 10 * money.Dollar, PerShare: "0.25"},
		{ID: "2", Type: "DIVNRA", Symbol: "AAPL", Date: "2026-12-20", Net: -3 * money.Dollar},
		{ID: "3", Type: "DIV", Symbol: "AAPL", Date: "2026-12-20", Qty: 40 * money.Share, Net: 40 * money.Dollar, PerShare: "1"},
		{ID: "4", Type: "DIVNRA", Symbol: "AAPL", Date: "2026-12-20", Net: -12 * money.Dollar},
	}
	one, foundOne := regular.PaidBy(list, nil, "AAPL", regular, special)
	two, foundTwo := special.PaidBy(list, map[string]bool{"1": true}, "AAPL", special)
	if !foundOne || !foundTwo || one.Net+two.Net != 35*money.Dollar {
		t.Errorf("shared are %s (%t) and %s (%t), want 35 in all: 7 and 28", one.Net, foundOne, two.Net, foundTwo)
	}
}

// The broker reports "the average amount paid per share" (trading-api.json), and rounds what it pays to the cent: the
// average of a position with fractions is not the announced rate.
func TestTheAveragePaidPerShare(t *testing.T) {
	t.Parallel()
	// 32.482941589 x 0.25 = 8.120735..., of which the account gets 8.12: 0.249977 per share.
	paid := rewards.Activity{
		ID: "1", Type: "DIV", SubType: "CDIV", Status: "executed", Symbol: "AAPL", Date: "2026-12-20", GroupID: "g",
		Qty: 32_482_941_589, Net: 8_120_000, PerShare: "0.249977",
	}
	if _, found := dividend().PaidBy([]rewards.Activity{paid}, nil, "AAPL"); !found {
		t.Error("the only payment for the only dividend of the stock is never found, so never shared")
	}
}

// A return of capital is announced among the cash dividends, and comes as an activity of another type.
func TestOtherTypesOfDividends(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"DIVROC", "DIVCGL", "DIVCGS", "DIVTXEX"} {
		paid := rewards.Activity{
			ID: "1", Type: kind, Status: "executed", Symbol: "AAPL", Date: "2026-12-20", GroupID: "g",
			Qty: 40 * money.Share, Net: 10 * money.Dollar, PerShare: "0.25",
		}
		if _, found := dividend().PaidBy([]rewards.Activity{paid}, nil, "AAPL"); !found {
			t.Errorf("a payment of the type %s is never found, so never shared", kind)
		}
	}
}

// A distribution of which a part is a capital gain: siblings of one group.
func TestAPaymentInTwoParts(t *testing.T) {
	t.Parallel()
	list := []rewards.Activity{
		{ID: "1", Type: "DIV", Symbol: "AAPL", Date: "2026-12-20", GroupID: "g", Qty: 40 * money.Share, Net: 6 * money.Dollar},
		{ID: "2", Type: "DIVCGL", Symbol: "AAPL", Date: "2026-12-20", GroupID: "g", Qty: 40 * money.Share, Net: 4 * money.Dollar},
	}
	if p, found := dividend().PaidBy(list, nil, "AAPL"); !found || p.Net != 10*money.Dollar {
		t.Errorf("shared are %s (%t) of the 10 dollars that the account received", p.Net, found)
	}
}

// The cash of a merger is booked with the shares that came, not with those that went.
func TestCashOfAMergerBesideTheAcquirersShares(t *testing.T) {
	t.Parallel()
	a := rewards.Action{ID: "m", AssetID: 7, Terms: rewards.Terms{
		Type: rewards.ActionMixedMerger, Symbol: "NVDA", NewSymbol: "COST", OldRate: "1", NewRate: "0.2", Rate: "20", ExDate: "2026-12-03",
	}}
	list := []rewards.Activity{
		{ID: "1", Type: "MA", SubType: "SCMA", Symbol: "NVDA", Date: "2026-12-03", GroupID: "g", Qty: -10 * money.Share},
		{ID: "2", Type: "MA", SubType: "SCMA", Symbol: "COST", Date: "2026-12-03", GroupID: "g", Qty: 2 * money.Share, Net: 200 * money.Dollar},
	}
	if p, found := a.PaidBy(list, nil, "NVDA"); !found || p.Net != 200*money.Dollar || p.Counted != 0 {
		t.Errorf("%+v, %t; want 200 dollars for all that is booked, because the counted shares are another stock's", p, found)
	}
}

// Rates are the nearest numbers of a computer: a third has sixteen digits. What is no simple fraction is exact.
func TestRatesWithManyDigits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		terms rewards.Terms
		want  rewards.Ratio
	}{
		{rewards.Terms{Type: rewards.ActionStockDividend, Rate: "0.08333333333333333"}, rewards.Ratio{Old: 12, New: 13}},
		{rewards.Terms{Type: rewards.ActionReverseSplit, OldRate: "1", NewRate: "0.06666666666666667"}, rewards.Ratio{Old: 15, New: 1}},
		{rewards.Terms{Type: rewards.ActionReverseSplit, OldRate: "12.333333333333334", NewRate: "1"}, rewards.Ratio{Old: 37, New: 3}},
		{rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "1.0123456789012"}, rewards.Ratio{Old: 2_500_000_000_000, New: 2_530_864_197_253}},
	} {
		if got, err := c.terms.UnitRatio(); err != nil || got != c.want {
			t.Errorf("%s: %d:%d, %v; want %d:%d", c.terms, got.Old, got.New, err, c.want.Old, c.want.New)
		}
	}
	tooMany := rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: "1.0123456789012345678"}
	if _, err := tooMany.UnitRatio(); !errors.Is(err, rewards.ErrTerms) {
		t.Errorf("nineteen decimals: %v, want ErrTerms", err)
	}
}

// The broker counts shares in the units of the ex-date, and who is entitled may be recorded in others.
func TestCountedInTheUnitsOfTheEntitlement(t *testing.T) {
	t.Parallel()
	at := func(number, undoes int64, ex rewards.Date) rewards.DatedSwitch {
		w := rewards.DatedSwitch{ExDate: ex}
		w.Number, w.Undoes, w.Keep = number, undoes, rewards.Ratio{Old: 1, New: 4}
		if undoes > 0 && number != 9 {
			w.Keep, w.Give = rewards.Ratio{Old: 1, New: 1}, rewards.Ratio{Old: 1}
		}
		return w
	}
	const early, exDate, late = "2026-12-01", "2026-12-03", "2026-12-05"
	entitled := rewards.DatedSwitch{ExDate: exDate}
	entitled.Number, entitled.Keep = 5, rewards.Ratio{Old: 1, New: 1}
	for name, c := range map[string]struct {
		list []rewards.DatedSwitch
		want money.Shares
	}{
		"no split":                             {nil, 40},
		"a split before both":                  {[]rewards.DatedSwitch{at(1, 0, early)}, 40},
		"of a later ex-date, recorded after":   {[]rewards.DatedSwitch{at(1, 0, late)}, 160},
		"of an earlier ex-date, applied late":  {[]rewards.DatedSwitch{at(7, 0, early)}, 10},
		"the same, and undone":                 {[]rewards.DatedSwitch{at(7, 0, early), at(8, 7, early)}, 40},
		"the same, and the undo taken back":    {[]rewards.DatedSwitch{at(7, 0, early), at(8, 7, early), at(9, 8, early)}, 10},
		"undone before it was recorded":        {[]rewards.DatedSwitch{at(1, 0, early), at(2, 1, early)}, 40},
		"it did not happen, undone afterwards": {[]rewards.DatedSwitch{at(1, 0, early), at(7, 1, early)}, 160},
		"after both":                           {[]rewards.DatedSwitch{at(7, 0, late)}, 40},
	} {
		list := slices.SortedFunc(slices.Values(append(c.list, entitled)), func(a, b rewards.DatedSwitch) int { return cmp.Compare(a.Number, b.Number) })
		e := rewards.Entitlement{Number: 5, Switches: list}
		if p, err := e.Count(rewards.Payment{Counted: 40}, exDate); err != nil || p.Counted != c.want {
			t.Errorf("%s: %d, %v; want %d", name, p.Counted, err, c.want)
		}
	}
	short := rewards.Entitlement{Number: 5, Shares: 41}
	if p, err := short.Count(rewards.Payment{Counted: 40}, exDate); err != nil || p.Counted != 41 {
		t.Errorf("the house owes a share: counted are %d, %v; want 41", p.Counted, err)
	}
}

// A part of a dividend is a return of capital, by a broker that names no groups, and it is booked first.
func TestAReturnOfCapitalIsBookedFirst(t *testing.T) {
	t.Parallel()
	list := []rewards.Activity{
		{ID: "1", Type: "DIVROC", Symbol: "AAPL", Date: "2026-12-20", Qty: 40 * money.Share, Net: 1 * money.Dollar},
		{ID: "2", Type: "DIV", Symbol: "AAPL", Date: "2026-12-20", Qty: 40 * money.Share, Net: 9 * money.Dollar},
	}
	if p, found := dividend().PaidBy(list, nil, "AAPL"); !found || p.Net != 10*money.Dollar {
		t.Errorf("shared are %s (%t) of 10 dollars", p.Net, found)
	}
}

// The broker corrects a payment after it was shared: the correction is no payment for another dividend.
func TestAPaymentIsCorrectedAfterItWasShared(t *testing.T) {
	t.Parallel()
	second := dividend()
	second.ID = "div-2"
	list := []rewards.Activity{
		{ID: "20261220000000000::a", Type: "DIV", Symbol: "AAPL", Date: "2026-12-20", Qty: 40 * money.Share, Net: 10 * money.Dollar},
		{
			ID: "20261221000000000::b", Type: "DIV", Status: "correct", Previous: "a", Symbol: "AAPL", Date: "2026-12-20",
			Qty: 40 * money.Share, Net: 9 * money.Dollar,
		},
	}
	if p, found := second.PaidBy(list, map[string]bool{"20261220000000000::a": true}, "AAPL", second); found {
		t.Errorf("another action's payment pays for this one: %+v", p)
	}
}

// The broker books one payment of a group in two rows, each for a part of the position.
func TestAPaymentInTwoRowsOfOneRate(t *testing.T) {
	t.Parallel()
	list := []rewards.Activity{
		{ID: "1", Type: "DIV", Symbol: "AAPL", Date: "2026-12-20", GroupID: "g", Qty: 60 * money.Share, Net: 15 * money.Dollar, PerShare: "0.25"},
		{ID: "2", Type: "DIV", Symbol: "AAPL", Date: "2026-12-20", GroupID: "g", Qty: 40 * money.Share, Net: 10 * money.Dollar, PerShare: "0.25"},
	}
	if p, found := dividend().PaidBy(list, nil, "AAPL"); !found || p.Net != 25*money.Dollar || p.Counted != 100*money.Share {
		t.Errorf("%+v, %t; want 25 dollars for 100 shares", p, found)
	}
}
