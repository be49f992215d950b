package rewards_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// shares reads a quantity of shares.
func shares(t *testing.T, text string) money.Shares {
	t.Helper()
	n, err := money.ParseShares(text)
	check(t, err)
	return n
}

// exact is n x by / per, rounded down, without limits.
func exact(n, by, per int64) *big.Int {
	product := new(big.Int).Mul(big.NewInt(n), big.NewInt(by))
	return product.Quo(product, big.NewInt(per))
}

// Additions, section 7: what each type does to 10.000000001 shares that cost $100.000001.
func TestConversionOfEachType(t *testing.T) {
	t.Parallel()
	part, err := rewards.ParseFraction("1/3")
	check(t, err)
	const target = rewards.AssetID(8)
	for _, c := range []struct {
		terms       rewards.Terms
		kept, given string
		basis, goes money.USD
	}{
		{rewards.Terms{Type: "forward_split", OldRate: "1", NewRate: "4"}, "40.000000004", "0", 100_000_001, 0},
		{rewards.Terms{Type: "forward_split", OldRate: "2", NewRate: "3"}, "15.000000001", "0", 100_000_001, 0},
		{rewards.Terms{Type: "reverse_split", OldRate: "10", NewRate: "1"}, "1", "0", 100_000_001, 0},
		{rewards.Terms{Type: "reverse_split", OldRate: "3", NewRate: "1"}, "3.333333333", "0", 100_000_001, 0},
		{rewards.Terms{Type: "stock_dividend", Rate: "0.05"}, "10.500000001", "0", 100_000_001, 0},
		{rewards.Terms{Type: "position", OldRate: "4", NewRate: "1"}, "2.5", "0", 100_000_001, 0},
		{rewards.Terms{Type: "cash_dividend", Rate: "0.25"}, "10.000000001", "0", 100_000_001, 0},
		{rewards.Terms{Type: "name_change"}, "10.000000001", "0", 100_000_001, 0},
		{rewards.Terms{Type: "spin_off", OldRate: "4", NewRate: "1"}, "10.000000001", "2.5", 66_666_668, 33_333_333},
		{rewards.Terms{Type: "stock_merger", OldRate: "2", NewRate: "3"}, "0", "15.000000001", 0, 100_000_001},
		{rewards.Terms{Type: "stock_and_cash_merger", OldRate: "2", NewRate: "1"}, "0", "5", 0, 100_000_001},
		{rewards.Terms{Type: "cash_merger", Rate: "5"}, "0", "0", 0, 0},
		{rewards.Terms{Type: "worthless_removal"}, "0", "0", 0, 0},
	} {
		conversion, err := c.terms.Conversion(target, part)
		check(t, err)
		had := rewards.Holding{AssetID: 7, Quantity: shares(t, "10.000000001"), CostBasis: 100_000_001, Generation: 3}
		kept, given, err := conversion.Apply(had)
		check(t, err)
		want := rewards.Holding{AssetID: 7, Quantity: shares(t, c.kept), CostBasis: c.basis, Generation: 3}
		gets := rewards.Holding{Quantity: shares(t, c.given), CostBasis: c.goes}
		if c.terms.Type.Gives() {
			gets.AssetID = target
		}
		if diff := cmp.Diff(want, kept) + cmp.Diff(gets, given); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.terms.Type, diff)
		}
	}
}

// Terms that contradict themselves are not applied.
func TestTermsThatCannotBeApplied(t *testing.T) {
	t.Parallel()
	for name, terms := range map[string]rewards.Terms{
		"no ratio":              {Type: "forward_split"},
		"half a ratio":          {Type: "forward_split", OldRate: "1"},
		"not a number":          {Type: "forward_split", OldRate: "1", NewRate: "four"},
		"negative":              {Type: "forward_split", OldRate: "-1", NewRate: "4"},
		"zero":                  {Type: "reverse_split", OldRate: "10", NewRate: "0"},
		"reversed":              {Type: "forward_split", OldRate: "4", NewRate: "1"},
		"reversed back":         {Type: "reverse_split", OldRate: "1", NewRate: "4"},
		"one to one":            {Type: "forward_split", OldRate: "2", NewRate: "2.0"},
		"beyond a thousand":     {Type: "forward_split", OldRate: "1", NewRate: "1001"},
		"beyond a thousandth":   {Type: "reverse_split", OldRate: "1001", NewRate: "1"},
		"no rate":               {Type: "stock_dividend"},
		"a spin-off of nothing": {Type: "spin_off", OldRate: "1", NewRate: "0"},
		"a merger of nothing":   {Type: "stock_merger", OldRate: "0", NewRate: "1"},
		"unknown":               {Type: "unit_split", OldRate: "1", NewRate: "4"},
	} {
		if c, err := terms.Conversion(8, rewards.Whole()); !errors.Is(err, rewards.ErrTerms) {
			t.Errorf("%s: %+v, %v; want ErrTerms", name, c, err)
		}
	}
	for _, kind := range []rewards.ActionType{
		"forward_split", "reverse_split", "stock_dividend", "cash_dividend", "name_change", "spin_off", "stock_merger",
		"cash_merger", "stock_and_cash_merger", "worthless_removal", "position",
	} {
		if !kind.Known() {
			t.Errorf("%s is unknown", kind)
		}
	}
	for _, kind := range []rewards.ActionType{"unit_split", "rights_distribution", "partial_call", ""} {
		if kind.Known() {
			t.Errorf("%s is known", kind)
		}
	}
}

// A ratio is exact: new shares are floor(old x new / old rate), for every quantity.
func TestRatioIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rewards.Ratio{Old: rapid.Int64Range(1, 1_000_000).Draw(t, "old"), New: rapid.Int64Range(0, 1_000_000).Draw(t, "new")}
		q := rapid.Int64Min(0).Draw(t, "quantity")
		want := exact(q, r.New, r.Old)
		got, err := r.Of(money.Shares(q))
		if want.IsInt64() != (err == nil) || err == nil && int64(got) != want.Int64() {
			t.Fatalf("%d x %d / %d = %d, %v; want %s", q, r.New, r.Old, got, err, want)
		}
	})
}

// The users' floors never add up to more than the broker's floor of their sum, and fall short by
// less than a billionth for each user: nobody loses a fraction that they were shown.
func TestHoldingsAddUpToLessThanThePosition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rewards.Ratio{Old: rapid.Int64Range(1, 1000).Draw(t, "old"), New: rapid.Int64Range(1, 1000).Draw(t, "new")}
		c := rewards.Conversion{Keep: r}
		var before, after money.Shares
		list := rapid.SliceOfN(rapid.Int64Range(0, 1_000_000_000_000), 1, 50).Draw(t, "holdings")
		for _, q := range list {
			kept, _, err := c.Apply(rewards.Holding{Quantity: money.Shares(q), CostBasis: money.USD(q)})
			if err != nil || kept.CostBasis != money.USD(q) {
				t.Fatalf("the cost basis of %d became %d, %v", q, kept.CostBasis, err)
			}
			before, after = before+money.Shares(q), after+kept.Quantity
		}
		position, err := r.Of(before)
		if house := position - after; err != nil || house < 0 || int(house) >= len(list) {
			t.Fatalf("the house has %d after %d holdings, %v", house, len(list), err)
		}
	})
}

// The cost basis is divided without a rest, and never below zero.
func TestBasisIsDividedExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		price := rapid.Int64Range(1, math.MaxInt64)
		terms := rewards.Terms{
			Type: rewards.ActionSpinOff, NewRate: rapid.SampledFrom([]string{"1", "3", "0.25"}).Draw(t, "new"),
			OldRate: rapid.SampledFrom([]string{"1", "4", "7.5"}).Draw(t, "old"),
		}
		source, target := price.Draw(t, "source"), price.Draw(t, "target")
		part, err := terms.BasisPart(money.Price(source), money.Price(target))
		if err != nil {
			t.Fatal(err)
		}
		c, err := terms.Conversion(8, part)
		if err != nil {
			t.Fatal(err)
		}
		basis := money.USD(rapid.Int64Min(0).Draw(t, "basis"))
		kept, given, err := c.Apply(rewards.Holding{Quantity: money.Share, CostBasis: basis})
		if err != nil || kept.CostBasis < 0 || given.CostBasis < 0 || kept.CostBasis+given.CostBasis != basis {
			t.Fatalf("%d became %d and %d, %v", basis, kept.CostBasis, given.CostBasis, err)
		}
		worth := new(big.Int).Mul(big.NewInt(target), big.NewInt(c.Give.New))
		whole := new(big.Int).Mul(big.NewInt(source), big.NewInt(c.Give.Old))
		want := new(big.Int).Mul(big.NewInt(int64(basis)), worth)
		if want.Quo(want, whole.Add(whole, worth)).Cmp(big.NewInt(int64(given.CostBasis))) != 0 {
			t.Fatalf("of %d goes %d, want %s", basis, given.CostBasis, want)
		}
		again, err := rewards.ParseFraction(part.String())
		if err != nil || again.Of(basis) != given.CostBasis {
			t.Fatalf("as stored, %s gives %d, %v; want %d", part, again.Of(basis), err, given.CostBasis)
		}
	})
}

func TestBasisPartNeedsBothPrices(t *testing.T) {
	t.Parallel()
	terms := rewards.Terms{Type: rewards.ActionSpinOff, OldRate: "4", NewRate: "1"}
	got, err := terms.BasisPart(80*money.Price(money.Share), 80*money.Price(money.Share))
	check(t, err)
	if got.String() != "1/5" {
		t.Errorf("at equal prices %s goes, want 1/5", got)
	}
	for _, prices := range [][2]money.Price{{0, 1}, {1, 0}, {-1, 1}, {0, 0}} {
		if _, err := terms.BasisPart(prices[0], prices[1]); !errors.Is(err, rewards.ErrTerms) {
			t.Errorf("prices %v: %v, want ErrTerms", prices, err)
		}
	}
	for _, text := range []string{"", "x", "-1/2", "3/2", "1/0"} {
		if f, err := rewards.ParseFraction(text); err == nil {
			t.Errorf("%q is read as %s", text, f)
		}
	}
	if got := (rewards.Fraction{}).String(); got != "0" {
		t.Errorf("nothing is written as %q", got)
	}
}

// A price in other units is the inverse of the shares': the value stays, within a rounding.
func TestPriceInOtherUnits(t *testing.T) {
	t.Parallel()
	const dollar = money.Price(money.Share)
	for _, c := range []struct {
		r           rewards.Ratio
		price, want money.Price
	}{
		{rewards.Ratio{Old: 1, New: 4}, 200 * dollar, 50 * dollar},
		{rewards.Ratio{Old: 10, New: 1}, 200 * dollar, 2000 * dollar},
		{rewards.Ratio{Old: 2, New: 3}, 100 * dollar, 66_666_666_667},
		{rewards.Ratio{Old: 1, New: 1}, 1, 1},
		{rewards.Ratio{Old: 1, New: 0}, 200 * dollar, 0},
		{rewards.Ratio{}, 200 * dollar, 0},
		{rewards.Ratio{Old: 1000, New: 1}, math.MaxInt64, 0},
	} {
		if got := c.r.PriceOrNone(c.price); got != c.want {
			t.Errorf("%s at %+v: %s, want %s", c.price, c.r, got, c.want)
		}
		if back := c.r.Inverse(); back.New != c.r.Old || back.Old != c.r.New {
			t.Errorf("the inverse of %+v is %+v", c.r, back)
		}
	}
}
