package paper_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
)

// priced is a brokerage that trades one stock at the reference price.
func priced(t *testing.T, reference money.Price, seed uint64) *paper.Brokerage {
	t.Helper()
	return open(t, ":memory:", paper.Options{
		Catalog: []paper.Asset{{Symbol: "X", Name: "X", Exchange: "NYSE", Price: reference}}, Seed: seed,
	})
}

func mustPrice(t rapid.TB, b *paper.Brokerage, symbol string, at time.Time) money.Price {
	t.Helper()
	p, ok := b.Price(symbol, at)
	if !ok {
		t.Fatalf("no price of %s", symbol)
	}
	return p
}

// TestPriceProperties checks what the model promises for any stock, seed and time.
func TestPriceProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		reference := money.Price(rapid.Int64Range(1, 1_000_000_000_000_000_000).Draw(r, "reference"))
		seed := rapid.Uint64().Draw(r, "seed")
		b := priced(t, reference, seed)
		for range 20 {
			at := time.Unix(rapid.Int64Range(-5_000_000_000, 10_000_000_000).Draw(r, "second"), 999_999_999)
			checkPrice(r, b, reference, at)
		}
	})
}

func checkPrice(r *rapid.T, b *paper.Brokerage, reference money.Price, at time.Time) {
	r.Helper()
	p := mustPrice(r, b, "X", at)
	if p <= 0 {
		r.Errorf("price %s", p)
	}
	if q := mustPrice(r, b, "X", at.Truncate(time.Second).UTC()); p != q {
		r.Errorf("the price of a second is %s and %s", p, q)
	}
	step := money.Price(10_000_000)
	if p < dollar {
		step = 100_000
	}
	if p%step != 0 {
		r.Errorf("price %s is no multiple of %s", p, step)
	}
	// Within half and one and a half of the reference, but for the rounding.
	if p > reference+reference/2+step || p < reference/2-step {
		r.Errorf("price %s of a stock of %s", p, reference)
	}
	// No day moves it by more than 5 % and a step.
	q := mustPrice(r, b, "X", at.Add(24*time.Hour))
	if low, high := min(p, q), max(p, q); high-low > low/20+step {
		r.Errorf("from %s to %s in a day", p, q)
	}
}

// TestPricesLookReal checks that the catalog's prices have the volatility of
// stocks, that they differ between seeds and that they move within an hour.
func TestPricesLookReal(t *testing.T) {
	t.Parallel()
	b, other := open(t, ":memory:", paper.Options{}), open(t, ":memory:", paper.Options{Seed: 7})
	for _, symbol := range []string{"AAPL", "BRK.A", "BRK.B", "F", "NVDA", "HALT"} {
		var squares float64
		var same, still int
		const days = 1_000
		for i := range days {
			at := monday().AddDate(0, 0, i)
			today, tomorrow := mustPrice(t, b, symbol, at), mustPrice(t, b, symbol, at.AddDate(0, 0, 1))
			change := math.Log(float64(tomorrow) / float64(today))
			squares += change * change
			if today == mustPrice(t, other, symbol, at) {
				same++
			}
			if today == mustPrice(t, b, symbol, at.Add(time.Hour)) {
				still++
			}
		}
		volatility := 100 * math.Sqrt(squares/days)
		if volatility < 0.3 || volatility > 2 {
			t.Errorf("%s moves by %.2f %% a day", symbol, volatility)
		}
		if same > days/10 || still > days/2 {
			t.Errorf("%s: %d of %d prices are the same with another seed, %d an hour later", symbol, same, days, still)
		}
	}
	if _, ok := b.Price("NOPE", monday()); ok {
		t.Error("a price of a stock that is not listed")
	}
}

// TestPricesStay pins a few prices: books that exist must not be revalued by a new
// version of the program.
func TestPricesStay(t *testing.T) {
	t.Parallel()
	b := open(t, ":memory:", paper.Options{})
	got := ""
	for _, symbol := range []string{"AAPL", "BRK.A", "F", "PENNY"} {
		got += fmt.Sprintf("%s %s %s\n", symbol, mustPrice(t, b, symbol, monday()),
			mustPrice(t, b, symbol, monday().AddDate(0, 0, 1)))
	}
	const want = "AAPL 275.75 275.3\nBRK.A 645508.51 636995.76\nF 11.47 11.58\nPENNY 0.021 0.021\n"
	if got != want {
		t.Errorf("prices\n%swant\n%s", got, want)
	}
}

func TestImpossibleCatalogs(t *testing.T) {
	t.Parallel()
	x := paper.Asset{Symbol: "X", Price: dollar}
	for name, list := range map[string][]paper.Asset{
		"no symbol":      {{Price: dollar}},
		"no price":       {{Symbol: "X"}},
		"negative price": {{Symbol: "X", Price: -dollar}},
		"huge price":     {{Symbol: "X", Price: math.MaxInt64}},
		"twice":          {x, x},
	} {
		if b, err := paper.Open(t.Context(), ":memory:", paper.Options{Catalog: list}); err == nil {
			t.Errorf("%s: opened", name)
			_ = b.Close()
		}
	}
}

func BenchmarkSnapshots(b *testing.B) {
	var list []paper.Asset
	symbols := ""
	for i := range 600 {
		symbol := fmt.Sprintf("S%d", i)
		list = append(list, paper.Asset{Symbol: symbol, Price: money.Price(i+1) * dollar})
		symbols += symbol + ","
	}
	p, err := paper.Open(b.Context(), ":memory:", paper.Options{Catalog: list})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	for b.Loop() {
		benchmarkRequest(b, p, "GET", "/v2/stocks/snapshots?symbols="+symbols, "")
	}
}
