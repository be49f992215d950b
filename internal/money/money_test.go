package money_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stockrewards/internal/money"
)

func TestDecimalKeepsTheExactNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		usd  money.USD
		sign int
		over bool // greater than a million
	}{
		"5.25":                    {usd: 5_250_000, sign: 1},
		"0.30000000000000004":     {usd: 300_000, sign: 1},
		"1e2":                     {usd: 100_000_000, sign: 1},
		"1E+2":                    {usd: 100_000_000, sign: 1},
		"100.0":                   {usd: 100_000_000, sign: 1},
		"0.0000005":               {usd: 1, sign: 1},
		"0.00000049999999999":     {usd: 0, sign: 1},
		"1e-400":                  {usd: 0, sign: 1},
		"0e999999999999999999999": {usd: 0, sign: 0},
		"-0":                      {usd: 0, sign: 0},
		"-0.0000005":              {usd: -1, sign: -1},
		"1000000":                 {usd: 1_000_000_000_000, sign: 1},
		"1000000.0000000":         {usd: 1_000_000_000_000, sign: 1},
		"10e5":                    {usd: 1_000_000_000_000, sign: 1},
		"1000000.0000000000001":   {usd: 1_000_000_000_000, sign: 1, over: true},
		"999999.9999999":          {usd: 1_000_000_000_000, sign: 1},
		"1000001":                 {usd: 1_000_001_000_000, sign: 1, over: true},
		"9e6":                     {usd: 9_000_000_000_000, sign: 1, over: true},
	} {
		d, err := money.ParseDecimal(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		usd, err := d.USD()
		if err != nil || usd != want.usd || d.Sign() != want.sign || d.GreaterThan(1_000_000) != want.over {
			t.Errorf("%s: %s, sign %d, over %t, %v; want %+v", text, usd, d.Sign(), d.GreaterThan(1_000_000), err, want)
		}
	}
}

func TestParseDecimalRejects(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "-", "+1", ".5", "5.", "1.", "01", "1e", "1e+", "1e+-1", "e5", "1.2.3", " 1", "1 ", "0x1", "NaN", "Infinity", "1_000", "--1", "1,5", "١",
	} {
		if d, err := money.ParseDecimal(text); !errors.Is(err, money.ErrSyntax) {
			t.Errorf("%q parsed as %+v, %v", text, d, err)
		}
	}
	for _, text := range []string{"1e400", "1e99999999999999999999", "9223372036854.775808", "1" + strings.Repeat("0", 60_000)} {
		d, err := money.ParseDecimal(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.USD(); !errors.Is(err, money.ErrOverflow) || !d.GreaterThan(1_000_000) {
			t.Errorf("%.30s: %v, want an overflow that is over the limit", text, err)
		}
	}
}

func TestExactQuantitiesRejectMoreDecimals(t *testing.T) {
	t.Parallel()
	if s, err := money.ParseShares("0.020956410"); err != nil || s != 20_956_410 {
		t.Errorf("got %s, %v", s, err)
	}
	if _, err := money.ParseShares("0.0209564101"); !errors.Is(err, money.ErrPrecision) {
		t.Errorf("ten decimals: %v", err)
	}
	if _, err := money.ParseShares("9223372037"); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("too many shares: %v", err)
	}
	if p, err := money.ParsePrice("250.5203333333333333"); err != nil || p != 250_520_333_333 {
		t.Errorf("got %s, %v", p, err)
	}
}

func TestParseUSDDown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]money.USD{
		"1.0299999": 1_029_999, "-0.1500009": -150_000, "0.0000019": 1, "-0.0000009": 0, "5": 5_000_000, "1e-400": 0,
		"9223372036854.7758079": math.MaxInt64,
	} {
		if got, err := money.ParseUSDDown(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]error{"1,5": money.ErrSyntax, "9223372036854.775808": money.ErrOverflow} {
		if _, err := money.ParseUSDDown(text); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", text, err, want)
		}
	}
}

func TestQuantitiesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Min(math.MinInt64+1).Draw(t, "n")
		if got, err := money.ParseShares(money.Shares(n).String()); err != nil || got != money.Shares(n) {
			t.Fatalf("%s parsed as %d, %v", money.Shares(n), got, err)
		}
		if got, err := money.ParseUSD(money.USD(n).String()); err != nil || got != money.USD(n) {
			t.Fatalf("%s parsed as %d, %v", money.USD(n), got, err)
		}
	})
	if got := money.USD(math.MinInt64).String(); got != "-9223372036854.775808" {
		t.Errorf("got %s", got)
	}
}

// exact returns a x b / c, rounded, computed with big integers.
func exact(a, b, c int64, r money.Rounding) *big.Int {
	product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	q, rem := new(big.Int).QuoRem(product, big.NewInt(c), new(big.Int))
	if r == money.HalfAway && rem.Lsh(rem, 1).Cmp(big.NewInt(c)) >= 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func TestMulDivEqualsExactArithmetic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Min(0).Draw(t, "a"), rapid.Int64Min(0).Draw(t, "b")
		c := rapid.Int64Min(1).Draw(t, "c")
		r := rapid.SampledFrom([]money.Rounding{money.Down, money.HalfAway}).Draw(t, "rounding")
		want := exact(a, b, c, r)
		got, err := money.MulDiv(a, b, c, r)
		if want.IsInt64() != (err == nil) || err == nil && want.Int64() != got {
			t.Fatalf("%d x %d / %d = %d, %v; want %s", a, b, c, got, err, want)
		}
	})
	for _, bad := range [][3]int64{{-1, 1, 1}, {1, -1, 1}, {1, 1, 0}, {1, 1, -1}, {math.MaxInt64, math.MaxInt64, 1}} {
		if _, err := money.MulDiv(bad[0], bad[1], bad[2], money.HalfAway); !errors.Is(err, money.ErrOverflow) {
			t.Errorf("%v: %v, want an overflow", bad, err)
		}
	}
}

func TestAddingReportsOverflow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		want := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		got, err := money.AddUSD(money.USD(a), money.USD(b))
		if want.IsInt64() != (err == nil) || err == nil && int64(got) != want.Int64() {
			t.Fatalf("%d + %d = %d, %v", a, b, got, err)
		}
	})
}

// Specification, section 2.3 and the decisions on change.
func TestPercent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value, cost money.USD
		want        string
	}{
		{5_250_000, 5_250_000, "+0.00%"},
		{0, 1, "-100.00%"},
		{2, 1, "+100.00%"},
		{1_052_500, 1_000_000, "+5.25%"},
		{1_000_050, 1_000_000, "+0.01%"},
		{1_000_049, 1_000_000, "+0.00%"},
		{999_950, 1_000_000, "-0.01%"},
		{999_951, 1_000_000, "+0.00%"},
		{900_000, 1_000_000, "-10.00%"},
		{12_345_678, 1_000_000, "+1134.57%"},
	} {
		if got, err := money.Percent(test.value, test.cost); err != nil || got != test.want {
			t.Errorf("%s over %s is %s, %v; want %s", test.value, test.cost, got, err, test.want)
		}
	}
	if got, err := money.Percent(math.MaxInt64, 1); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("got %s, %v; want an overflow", got, err)
	}
}

func TestUpToCent(t *testing.T) {
	t.Parallel()
	for given, want := range map[money.USD]money.USD{0: 0, 1: 10_000, 10_000: 10_000, 10_001: 20_000, 5_250_000: 5_250_000} {
		if got, err := given.UpToCent(); err != nil || got != want {
			t.Errorf("%s up to the cent is %s, %v; want %s", given, got, err, want)
		}
	}
	if _, err := money.USD(math.MaxInt64).UpToCent(); !errors.Is(err, money.ErrOverflow) {
		t.Errorf("got %v, want an overflow", err)
	}
}

func FuzzDecimal(f *testing.F) {
	for _, seed := range []string{"1", "-0.5e-3", "1e400", "00", "1.e1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkRoundTrip(t, text, money.ParseUSD)
		checkRoundTrip(t, text, money.ParseShares)
		checkRoundTrip(t, text, money.ParsePrice)
		d, err := money.ParseDecimal(text)
		want, ok := new(big.Rat).SetString(text)
		if err != nil || len(text) > 40 || strings.ContainsAny(text, "eE") {
			return // big.Rat reads more than JSON's numbers, and huge exponents slowly
		}
		if !ok || d.Sign() != want.Sign() || d.GreaterThan(1_000_000) != (want.Cmp(big.NewRat(1_000_000, 1)) > 0) {
			t.Errorf("%q: sign %d, over %t", text, d.Sign(), d.GreaterThan(1_000_000))
		}
	})
}

// checkRoundTrip checks that a parsed quantity is the same after formatting and parsing.
func checkRoundTrip[Q interface {
	~int64
	String() string
}](t *testing.T, text string, parse func(string) (Q, error)) {
	t.Helper()
	q, err := parse(text)
	if err != nil {
		return
	}
	if again, err := parse(q.String()); err != nil || again != q {
		t.Errorf("%q is %d, written %q, read %d (%v)", text, q, q.String(), again, err)
	}
}
