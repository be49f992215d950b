package paper_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
)

func TestRateLimit(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{RequestsPerMinute: 3})
	d.advance(20 * time.Second)
	reset := strconv.FormatInt(monday().Add(time.Minute).Unix(), 10)
	for i, want := range []struct {
		path, remaining string
		status          int
	}{
		{"/v2/clock", "2", 200},
		{"/v2/nothing", "1", 404},
		{"/v2/stocks/snapshots?symbols=AAPL", "2", 200}, // another limit
		{"/v2/clock", "0", 200},
		{"/v2/clock", "0", 429},
		{"/v2/clock", "0", 429},
		{"/v2/stocks/snapshots?symbols=AAPL", "1", 200},
	} {
		got := d.do("GET", want.path, "")
		headers := []string{
			got.header.Get("X-RateLimit-Limit"), got.header.Get("X-RateLimit-Remaining"), got.header.Get("X-RateLimit-Reset"),
		}
		if diff := cmp.Diff([]string{"3", want.remaining, reset}, headers); got.status != want.status || diff != "" {
			t.Errorf("request %d: status %d, want %d; headers (-want +got):\n%s", i, got.status, want.status, diff)
		}
		if want.status == 429 && got.body != `{"code":42910000,"message":"rate limit exceeded"}` {
			t.Errorf("request %d: %s", i, got.body)
		}
	}
	d.advance(40 * time.Second)
	d.expect("GET", "/v2/clock", "", 200, "")
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{KeyID: "key", SecretKey: "secret"})
	for _, c := range []struct {
		key, secret string
		status      int
		body        string
	}{
		{"key", "secret", 200, ""},
		{"key", "other", 403, `{"message":"forbidden."}`},
		{"other", "secret", 403, `{"message":"forbidden."}`},
		{"key", "", 401, `{"message":"unauthorized"}`},
		{"", "", 401, `{"message":"unauthorized"}`},
	} {
		got := d.do("GET", "/v2/clock", "", "APCA-API-KEY-ID", c.key, "APCA-API-SECRET-KEY", c.secret)
		if got.status != c.status || c.body != "" && got.body != c.body {
			t.Errorf("%s/%s: %d %s, want %d %s", c.key, c.secret, got.status, got.body, c.status, c.body)
		}
	}
}

// TestTransportHonoursContext cancels requests at several points. The books must stay
// usable, in memory too, where they have a single connection.
func TestTransportHonoursContext(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	for i := range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		if i == 0 {
			cancel()
		} else {
			time.AfterFunc(time.Duration(i)*20*time.Microsecond, cancel)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://paper.test/v2/orders",
			strings.NewReader(market(strconv.Itoa(i), "AAPL", "buy", notional("5"))))
		d.check(err)
		resp, err := d.b.Transport().RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if i == 0 && !errors.Is(err, context.Canceled) {
			t.Errorf("a canceled request: %v", err)
		}
		cancel()
	}
	d.buy("after", "AAPL", "5")
}

func TestAssets(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	type asset struct {
		ID           string `json:"id"`
		Symbol       string `json:"symbol"`
		Class        string `json:"class"`
		Status       string `json:"status"`
		Tradable     bool   `json:"tradable"`
		Fractionable bool   `json:"fractionable"`
	}
	list := get[[]asset](d, "/v2/assets?status=active&asset_class=us_equity")
	if len(list) != len(catalog()) {
		t.Errorf("%d assets, want %d", len(list), len(catalog()))
	}
	for _, want := range list {
		for _, name := range []string{want.Symbol, want.ID} {
			if diff := cmp.Diff(want, get[asset](d, "/v2/assets/"+name)); diff != "" {
				t.Errorf("%s (-listed +single):\n%s", name, diff)
			}
		}
		if want.Tradable != (want.Symbol != "HALT") || want.Fractionable != (want.Symbol != "WHOLE") {
			t.Errorf("%+v", want)
		}
	}
	if nyse := get[[]asset](d, "/v2/assets?exchange=NYSE"); len(nyse) != 5 {
		t.Errorf("%d assets at the NYSE, want 5", len(nyse))
	}
}

// TestMarketData checks that the endpoints agree with each other and with the model.
func TestMarketData(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	type bar struct {
		O number `json:"o"`
		H number `json:"h"`
		L number `json:"l"`
		C number `json:"c"`
	}
	type trade struct {
		P number `json:"p"`
	}
	type snapshot struct {
		LatestTrade trade `json:"latestTrade"`
		LatestQuote struct {
			Ap number `json:"ap"`
			Bp number `json:"bp"`
		} `json:"latestQuote"`
		MinuteBar    bar `json:"minuteBar"`
		DailyBar     bar `json:"dailyBar"`
		PrevDailyBar bar `json:"prevDailyBar"`
	}
	type single struct {
		Trade trade `json:"trade"`
	}
	all := get[map[string]map[string]any](d, "/v2/stocks/snapshots?symbols=AAPL,PENNY,NOPE,BRK.B")
	if len(all) != 3 {
		t.Errorf("snapshots %v, want three", all)
	}
	trades := get[map[string]map[string]trade](d, "/v2/stocks/trades/latest?symbols=AAPL,PENNY,NOPE,BRK.B")["trades"]
	bars := get[map[string]map[string]bar](d, "/v2/stocks/bars/latest?symbols=AAPL,NOPE")["bars"]
	if len(trades) != 3 || len(bars) != 1 {
		t.Errorf("trades %v, bars %v", trades, bars)
	}
	for symbol, latest := range trades {
		s := get[snapshot](d, "/v2/stocks/"+symbol+"/snapshot")
		want, _ := d.b.Price(symbol, monday())
		previous, _ := d.b.Price(symbol, monday().Truncate(24*time.Hour))
		one := get[single](d, "/v2/stocks/"+symbol+"/trades/latest").Trade
		got := []string{
			string(latest.P), string(one.P), string(s.LatestTrade.P), string(s.MinuteBar.C), string(s.DailyBar.C),
			string(s.PrevDailyBar.C), string(s.DailyBar.O),
		}
		w, p := want.String(), previous.String()
		if diff := cmp.Diff([]string{w, w, w, w, w, p, p}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", symbol, diff)
		}
		low, high := price(string(s.DailyBar.L)), price(string(s.DailyBar.H))
		if low > want || high < want || low <= 0 {
			t.Errorf("%s: %s is not between %s and %s", symbol, want, low, high)
		}
		if bid, ask := price(string(s.LatestQuote.Bp)), price(string(s.LatestQuote.Ap)); bid >= want || ask <= want {
			t.Errorf("%s: bid %s, trade %s, ask %s", symbol, bid, want, ask)
		}
	}
}

// number is a JSON number, as it is written.
type number string

// UnmarshalJSON refuses anything else.
func (n *number) UnmarshalJSON(raw []byte) error {
	if c := raw[0]; c < '0' || c > '9' {
		return errors.New("not a number")
	}
	*n = number(raw)
	return nil
}
