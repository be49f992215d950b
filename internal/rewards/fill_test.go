package rewards_test

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const (
	perUSD  money.Price = 1_000_000_000
	hundred             = 100 * perUSD
)

// A filled order has spent its notional, up to the rounding of its price (a cent, or 0.01 %)
// and of its quantity (a billionth of a share).
func TestFilledHasSpentTheNotional(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		qty   money.Shares
		price money.Price
		whole bool
	}{
		"exact":                          {money.Share, hundred, true},
		"a cent less":                    {money.Share, hundred - perUSD/100, true},
		"more than a cent less":          {money.Share, hundred - perUSD/100 - 2_000, false},
		"a thousandth of a share":        {money.Share / 1000, hundred, false},
		"a billionth at 50 million":      {1, 50_000_000 * perUSD, false},
		"a billionth less, at 5 million": {19_999, 5_000_000 * perUSD, true},
		"two less, at 20 million":        {4_998, 20_000_000 * perUSD, false},
		"one less, at 20 million":        {4_999, 20_000_000 * perUSD, true},
	} {
		o, b := openOrder()
		b.Status, b.FilledQty, b.FilledAvgPrice = "filled", test.qty, test.price
		if _, err := o.Merge(b, time.Now()); (err == nil) != test.whole || err != nil && !errors.Is(err, rewards.ErrContradiction) {
			t.Errorf("%s: merged: %v, want it accepted: %t", name, err, test.whole)
		}
		b.Status = "canceled" // it may have spent less
		if _, err := o.Merge(b, time.Now()); err != nil {
			t.Errorf("%s, canceled: %v", name, err)
		}
		o.State = rewards.OrderQuarantined
		resolved, err := o.Resolve(rewards.Resolution{FilledQty: test.qty, Price: test.price})
		if err != nil || (resolved.BrokerStatus == "filled") != test.whole {
			t.Errorf("%s: resolved: %s, %v; want it whole: %t", name, resolved.BrokerStatus, err, test.whole)
		}
	}
}

// A fill's price is accepted within 40 % of one of the known levels.
func TestAFillsPriceIsComparedWithKnownLevels(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		price    money.Price
		levels   []money.Price
		accepted bool
	}{
		"no level":                  {perUSD / 100, nil, true},
		"levels of zero":            {perUSD / 100, []money.Price{0, 0}, true},
		"near":                      {60 * perUSD, []money.Price{0, hundred}, true},
		"too low":                   {60*perUSD - 1, []money.Price{0, hundred}, false},
		"too high":                  {140*perUSD + 1, []money.Price{hundred}, false},
		"near an older level":       {hundred, []money.Price{hundred, 20 * perUSD}, true},
		"a cent instead of dollars": {perUSD / 100, []money.Price{hundred, 120 * perUSD}, false},
	} {
		o, b := openOrder()
		b.Status, b.FilledQty, b.FilledAvgPrice = "canceled", money.Share/2, test.price
		merged, err := o.Merge(b, time.Now(), test.levels...)
		if (err == nil) != test.accepted || err != nil && !errors.Is(err, rewards.ErrFarPrice) {
			t.Errorf("%s: merged: %v, want it accepted: %t", name, err, test.accepted)
		}
		if err != nil && (!errors.Is(err, rewards.ErrContradiction) || merged != o) {
			t.Errorf("%s: %v; changed: %t", name, err, merged != o)
		}
	}
}

// An accepted fill that is reported again is not compared with newer prices; a changed one
// is.
func TestAnAcceptedFillIsNotComparedAgain(t *testing.T) {
	t.Parallel()
	o, b := openOrder()
	b.Status, b.FilledQty, b.FilledAvgPrice = "partially_filled", money.Share/2, hundred
	o, err := o.Merge(b, time.Now(), hundred)
	check(t, err)
	if _, err := o.Merge(b, time.Now(), 20*perUSD); err != nil {
		t.Errorf("the same fill: %v", err)
	}
	b.FilledQty++
	if _, err := o.Merge(b, time.Now(), 20*perUSD); !errors.Is(err, rewards.ErrFarPrice) {
		t.Errorf("a larger fill at that price: %v", err)
	}
}
