package exchange_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/money"
)

const (
	dollar money.Price = 1_000_000_000
	seed   uint64      = 0x5eed_0f_57_0c_c5
)

func monday() time.Time { return time.Date(2026, 3, 16, 14, 0, 0, 0, time.UTC) }

// open opens an exchange that lists the symbols at their reference prices.
func open(t rapid.TB, seed uint64, hours exchange.Hours, references map[string]money.Price) *exchange.Exchange {
	t.Helper()
	var catalog []exchange.Asset
	for symbol, reference := range references {
		catalog = append(catalog, exchange.Asset{Symbol: symbol, Price: reference})
	}
	x, err := exchange.New(catalog, hours, seed)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestPriceProperties checks the promises of the model for any stock, seed and time.
func TestPriceProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		reference := money.Price(rapid.Int64Range(1, int64(exchange.MaxPrice)).Draw(r, "reference"))
		x := open(r, rapid.Uint64().Draw(r, "seed"), exchange.AlwaysOpen, map[string]money.Price{"X": reference})
		for range 20 {
			at := time.Unix(rapid.Int64Range(-5_000_000_000, 10_000_000_000).Draw(r, "second"), 999_999_999)
			checkPrice(r, x, reference, at)
		}
	})
}

func checkPrice(r *rapid.T, x *exchange.Exchange, reference money.Price, at time.Time) {
	r.Helper()
	l := x.BySymbol("X")
	p := x.Price(l, at)
	if p <= 0 {
		r.Errorf("price %s", p)
	}
	if q := x.Price(l, at.Truncate(time.Second).UTC()); p != q {
		r.Errorf("the price of one second is %s and %s", p, q)
	}
	tick := money.Price(10_000_000)
	if p < dollar {
		tick = 100_000
	}
	if p%tick != 0 {
		r.Errorf("price %s is not a multiple of %s", p, tick)
	}
	if p > reference+reference/2+tick || p < reference/2-tick {
		r.Errorf("price %s of a stock of %s", p, reference)
	}
	q := x.Price(l, at.Add(24*time.Hour))
	if low, high := min(p, q), max(p, q); high-low > low/20+tick {
		r.Errorf("from %s to %s in a day, more than 5 %%", p, q)
	}
}

// TestVolatility checks that prices move like those of stocks, within an hour too, and
// differ between seeds.
func TestVolatility(t *testing.T) {
	t.Parallel()
	references := map[string]money.Price{
		"AAPL": 255 * dollar, "BRK.A": 700_000 * dollar, "BRK.B": 480 * dollar, "F": 12 * dollar, "NVDA": 180 * dollar,
		"HALT": 30 * dollar,
	}
	x, other := open(t, seed, exchange.AlwaysOpen, references), open(t, 7, exchange.AlwaysOpen, references)
	for _, l := range x.Listings() {
		var squares float64
		var same, still int
		const days = 1_000
		for i := range days {
			at := monday().AddDate(0, 0, i)
			today, tomorrow := x.Price(l, at), x.Price(l, at.AddDate(0, 0, 1))
			change := math.Log(float64(tomorrow) / float64(today))
			squares += change * change
			if today == other.Price(other.BySymbol(l.Symbol), at) {
				same++
			}
			if today == x.Price(l, at.Add(time.Hour)) {
				still++
			}
		}
		if volatility := 100 * math.Sqrt(squares/days); volatility < 0.3 || volatility > 2 {
			t.Errorf("%s moves by %.2f %% a day", l.Symbol, volatility)
		}
		if same > days/10 || still > days/2 {
			t.Errorf("%s: %d of %d prices are the same with another seed, %d an hour later", l.Symbol, same, days, still)
		}
	}
}

// TestPricesArePinned: a new version of the program must not revalue books that exist.
func TestPricesArePinned(t *testing.T) {
	t.Parallel()
	x := open(t, seed, exchange.AlwaysOpen, map[string]money.Price{
		"AAPL": 255 * dollar, "BRK.A": 700_000 * dollar, "F": 12 * dollar, "PENNY": dollar / 50,
	})
	got := ""
	for _, l := range x.Listings() {
		got += fmt.Sprintf("%s %s %s\n", l.Symbol, x.Price(l, monday()), x.Price(l, monday().AddDate(0, 0, 1)))
	}
	const want = "AAPL 275.75 275.3\nBRK.A 645508.51 636995.76\nF 11.47 11.58\nPENNY 0.021 0.021\n"
	if got != want {
		t.Errorf("prices\n%swant\n%s", got, want)
	}
	const id = "0a7b3051-d9c8-8749-9a2c-50f826c2a32a" // also stored by services
	if got := exchange.AssetID("AAPL"); got != id {
		t.Errorf("AssetID = %s, want %s", got, id)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	x := exchange.Asset{Symbol: "X", Price: dollar}
	for name, catalog := range map[string][]exchange.Asset{
		"no symbol":      {{Price: dollar}},
		"no price":       {{Symbol: "X"}},
		"negative price": {{Symbol: "X", Price: -dollar}},
		"huge price":     {{Symbol: "X", Price: math.MaxInt64}},
		"twice":          {x, x},
	} {
		if _, err := exchange.New(catalog, exchange.AlwaysOpen, 0); err == nil {
			t.Errorf("%s: opened", name)
		}
	}
}

// TestHolidays compares the sessions with the closings that the exchange has published.
func TestHolidays(t *testing.T) {
	t.Parallel()
	x := open(t, seed, exchange.USEquities, nil)
	for _, c := range []struct {
		year           int
		closed, halves string
	}{
		{2021, "01-01 01-18 02-15 04-02 05-31 07-05 09-06 11-25 12-24", "11-26"},
		{2022, "01-17 02-21 04-15 05-30 06-20 07-04 09-05 11-24 12-26", "11-25"},
		{2023, "01-02 01-16 02-20 04-07 05-29 06-19 07-04 09-04 11-23 12-25", "07-03 11-24"},
		{2024, "01-01 01-15 02-19 03-29 05-27 06-19 07-04 09-02 11-28 12-25", "07-03 11-29 12-24"},
		{2025, "01-01 01-20 02-17 04-18 05-26 06-19 07-04 09-01 11-27 12-25", "07-03 11-28 12-24"},
		{2026, "01-01 01-19 02-16 04-03 05-25 06-19 07-03 09-07 11-26 12-25", "11-27 12-24"},
		{2027, "01-01 01-18 02-15 03-26 05-31 06-18 07-05 09-06 11-25 12-24", "11-26"},
		{2028, "01-17 02-21 04-14 05-29 06-19 07-04 09-04 11-23 12-25", "07-03 11-24"},
	} {
		var closed, halves []string
		for day := x.Date(c.year, 1, 1); day.Year() == c.year; day = exchange.NextDay(day) {
			s, open := x.SessionOn(day)
			weekend := day.Weekday() == time.Saturday || day.Weekday() == time.Sunday
			switch date := day.Format("01-02"); {
			case !open && !weekend:
				closed = append(closed, date)
			case open && weekend, open && s.Open.Format("15:04") != "09:30":
				t.Errorf("%d-%s: session %v", c.year, date, s)
			case open && s.Close.Hour() != 16:
				halves = append(halves, s.Close.Format("01-02"))
			}
		}
		if diff := cmp.Diff([]string{c.closed, c.halves}, []string{strings.Join(closed, " "), strings.Join(halves, " ")}); diff != "" {
			t.Errorf("%d: closed and half days (-want +got):\n%s", c.year, diff)
		}
	}
}
