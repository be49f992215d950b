package paper_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/money"
)

// TestErrors is the table of orders that are refused.
func TestErrors(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Cash: 1_000 * money.Dollar})
	d.buy("used", "AAPL", "100")
	const (
		buyOne        = `"notional":"1"`
		unprocessable = `{"code":42210000,"message":`
	)
	for _, c := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"a used id", market("used", "AAPL", "buy", buyOne), 422, `{"code":40010001,"message":"client_order_id must be unique"}`},
		{"a used id of another order", market("used", "NOPE", "sell", quantity("9")), 422, `{"code":40010001,"message":"client_order_id must be unique"}`},
		{"beyond the buying power", market("a", "AAPL", "buy", notional("900.01")), 403, `{"code":40310000,"message":"insufficient buying power","buying_power":"900","cost_basis":"900.01"}`},
		{"not fractionable", market("a", "WHOLE", "buy", notional("100")), 403, `{"code":40310000,"message":"asset \"WHOLE\" is not fractionable"}`},
		{"a fraction of a whole", market("a", "WHOLE", "buy", quantity("1.5")), 403, `{"code":40310000,"message":"asset \"WHOLE\" is not fractionable"}`},
		{"unknown asset", market("a", "NOPE", "buy", buyOne), 422, unprocessable + `"asset \"NOPE\" not found"}`},
		{"lower case", market("a", "aapl", "buy", buyOne), 422, unprocessable + `"asset \"aapl\" not found"}`},
		{"not tradable", market("a", "HALT", "buy", buyOne), 422, unprocessable + `"asset \"HALT\" is not tradable"}`},
		{"under a dollar", market("a", "AAPL", "buy", notional("0.99")), 422, unprocessable + `"notional amount must be >= 1.00"}`},
		{"a quantity under a dollar", market("a", "AAPL", "buy", quantity("0.001")), 422, unprocessable + `"notional amount must be >= 1.00"}`},
		{"negative", market("a", "AAPL", "buy", `"notional":"-5"`), 422, unprocessable + `"notional amount must be >= 1.00"}`},
		{"three decimals", market("a", "AAPL", "buy", notional("1.005")), 422, unprocessable + `"notional value must be limited to 2 decimal places"}`},
		{"seven decimals", market("a", "AAPL", "buy", `"notional":1.0000001`), 422, unprocessable + `"notional value must be limited to 2 decimal places"}`},
		{"not a number", market("a", "AAPL", "buy", `"notional":"ten"`), 422, unprocessable + `"notional is invalid: not a decimal number"}`},
		{"an object", market("a", "AAPL", "buy", `"notional":{}`), 422, unprocessable + `"notional is invalid: not a decimal number"}`},
		{"too much", market("a", "AAPL", "buy", `"notional":"1e30"`), 422, unprocessable + `"notional is invalid: too large"}`},
		{"ten decimals", market("a", "AAPL", "buy", quantity("0.0123456789")), 422, unprocessable + `"qty must be limited to 9 decimal places"}`},
		{"no shares", market("a", "AAPL", "buy", quantity("0")), 422, unprocessable + `"qty must be > 0"}`},
		{"too many shares", market("a", "AAPL", "buy", quantity("9000000000")), 403, `{"code":40310000,"message":"insufficient buying power"`},
		{"shares without end", market("a", "BRK.A", "buy", quantity("9000000000")), 422, unprocessable + `"qty is too large"}`},
		{"both", market("a", "AAPL", "buy", `"qty":"1","notional":"1"`), 422, unprocessable + `"only one of qty or notional is accepted"}`},
		{"neither", market("a", "AAPL", "buy", `"qty":null,"notional":""`), 422, unprocessable + `"qty or notional is required"}`},
		{"no symbol", market("a", "", "buy", buyOne), 422, unprocessable + `"symbol is required"}`},
		{"no side", market("a", "AAPL", "", buyOne), 422, unprocessable + `"invalid side"}`},
		{"a limit order", strings.Replace(market("a", "AAPL", "buy", buyOne), "market", "limit", 1), 422, unprocessable + `"only market orders are supported by this paper brokerage"}`},
		{"a bracket", market("a", "AAPL", "buy", buyOne+`,"order_class":"bracket"`), 422, unprocessable + `"only simple orders are supported by this paper brokerage"}`},
		{"not a day order", strings.Replace(market("a", "AAPL", "buy", buyOne), `"day"`, `"gtc"`, 1), 422, unprocessable + `"fractional orders must be DAY orders"}`},
		{"fractional shares, not of the day", strings.Replace(market("a", "AAPL", "buy", quantity("0.5")), `"day"`, `"gtc"`, 1), 422, unprocessable + `"fractional orders must be DAY orders"}`},
		{"whole shares, not of the day", strings.Replace(market("a", "AAPL", "buy", quantity("2")), `"day"`, `"gtc"`, 1), 422, unprocessable + `"only day orders are supported by this paper brokerage"}`},
		{"no such time in force", strings.Replace(market("a", "AAPL", "buy", buyOne), `"day"`, `"gtd"`, 1), 422, unprocessable + `"invalid time_in_force"}`},
		{"no time in force", strings.Replace(market("a", "AAPL", "buy", buyOne), `"day"`, `""`, 1), 422, unprocessable + `"invalid time_in_force"}`},
		{"extended hours", market("a", "AAPL", "buy", buyOne+`,"extended_hours":true`), 422, unprocessable + `"extended hours order must be DAY limit orders"}`},
		{"a long id", market(strings.Repeat("x", 129), "AAPL", "buy", buyOne), 422, unprocessable + `"client_order_id must be no more than 128 characters"}`},
		{"no JSON", "symbol=AAPL", 400, `{"code":40010000,"message":"request body format is invalid"}`},
		{"nothing", "", 400, `{"code":40010000,"message":"request body format is invalid"}`},
		{"too long", `{"symbol":"` + strings.Repeat("A", 1<<20) + `"}`, 400, `{"code":40010000,"message":"request body can't be read"}`},
		{"a sale of nothing", market("a", "F", "sell", quantity("1")), 403, `{"code":40310000,"message":"insufficient qty available for order (requested: 1, available: 0)"`},
		{"a sale of too much", market("a", "AAPL", "sell", notional("200")), 403, `{"code":40310000,"message":"insufficient qty available for order`},
	} {
		got := d.do("POST", "/v2/orders", c.body)
		if got.status != c.status || !strings.HasPrefix(got.body, c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.name, got.status, got.body, c.status, c.want)
		}
	}
	if list := get[[]order](d, "/v2/orders?status=all"); len(list) != 1 {
		t.Errorf("refused orders are listed: %+v", list)
	}
	a := d.account()
	if a.BuyingPower != a.Cash {
		t.Errorf("refused orders hold cash: %+v", a)
	}
}

// TestOrderJSON compares an order with Alpaca's JSON.
func TestOrderJSON(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	// The official Go SDK sends nulls, empty strings, and no content type.
	body := `{"symbol":"AAPL","qty":null,"notional":"1234.5","side":"buy","type":"market","time_in_force":"day",` +
		`"limit_price":null,"extended_hours":false,"stop_price":null,"client_order_id":"sdk-1","order_class":"",` +
		`"take_profit":null,"stop_loss":null,"trail_price":null,"trail_percent":null,"position_intent":""}`
	got := send[map[string]any](d, "POST", "/v2/orders", body)
	const now = "2026-03-16T14:00:00Z"
	want := map[string]any{
		"id": got["id"], "client_order_id": "sdk-1", "created_at": now, "updated_at": now, "submitted_at": now,
		"filled_at": nil, "expired_at": nil, "canceled_at": nil, "failed_at": nil, "replaced_at": nil,
		"replaced_by": nil, "replaces": nil, "asset_id": exchange.AssetID("AAPL"), "symbol": "AAPL",
		"asset_class": "us_equity", "notional": "1234.5", "qty": nil, "filled_qty": "0", "filled_avg_price": nil,
		"order_class": "", "order_type": "market", "type": "market", "side": "buy", "position_intent": "buy_to_open",
		"time_in_force": "day", "limit_price": nil, "stop_price": nil, "status": "pending_new",
		"extended_hours": false, "legs": nil, "trail_percent": nil, "trail_price": nil, "hwm": nil,
		"subtag": nil, "source": nil,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestLifeOfAnOrder(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	placed := d.place("a", "AAPL", "buy", `"notional":1000`)
	var got []string
	var filled order
	for range 300 {
		filled = get[order](d, "/v2/orders/"+placed.ID)
		if n := len(got); n == 0 || got[n-1] != filled.Status {
			got = append(got, filled.Status)
		}
		d.advance(time.Millisecond)
	}
	if diff := cmp.Diff([]string{"pending_new", "new", "filled"}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	took := instant(*filled.FilledAt).Sub(monday())
	if took < 80*time.Millisecond || took > 250*time.Millisecond || filled.UpdatedAt != *filled.FilledAt {
		t.Errorf("filled after %s, updated at %s", took, filled.UpdatedAt)
	}
	wantPrice, _ := d.b.Price("AAPL", instant(*filled.FilledAt))
	wantQty := must(money.SharesFor(1_000*money.Dollar, wantPrice))
	if filled.FilledQty != wantQty.String() || *filled.FilledAvgPrice != wantPrice.String() {
		t.Errorf("filled %s at %s, want %s at %s", filled.FilledQty, *filled.FilledAvgPrice, wantQty, wantPrice)
	}
}

func TestBuyByQuantity(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Cash: 1_000 * money.Dollar})
	placed := d.place("a", exchange.AssetID("AAPL"), "buy", quantity("2.5"))
	if placed.Symbol != "AAPL" || *placed.Qty != "2.5" || placed.Notional != nil {
		t.Errorf("order %+v", placed)
	}
	d.advance(time.Second)
	filled := d.find("a")
	value := must(money.Value(shares(filled.FilledQty), price(*filled.FilledAvgPrice), money.HalfAway))
	a := d.account()
	if filled.FilledQty != "2.5" || usd(a.Cash) != 1_000*money.Dollar-value || a.Cash != a.BuyingPower {
		t.Errorf("filled %+v, the account is %+v", filled, a)
	}
}

func TestSell(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	d.buy("a", "AAPL", "1000")
	before := d.position("AAPL")
	d.place("b", "AAPL", "sell", quantity("1"))
	during := d.position(exchange.AssetID("AAPL"))
	if during.Qty != before.Qty || shares(during.QtyAvailable) != shares(before.Qty)-money.Share {
		t.Errorf("with an open sell the position is %+v", during)
	}
	d.expect("POST", "/v2/orders", market("c", "AAPL", "sell", quantity(before.Qty)), 403, "insufficient qty")
	d.advance(time.Second)
	d.place("d", "AAPL", "sell", notional("100"))
	d.advance(time.Second)
	for _, id := range []string{"b", "d"} {
		if o := d.find(id); o.Status != "filled" || o.Side != "sell" {
			t.Errorf("the sale is %+v", o)
		}
	}
	rest := d.position("AAPL")
	d.place("e", "AAPL", "sell", quantity(rest.Qty))
	d.advance(time.Second)
	d.expect("GET", "/v2/positions/AAPL", "", 404, "position does not exist")
	a := d.account()
	if a.Equity != a.Cash || a.BuyingPower != a.Cash {
		t.Errorf("the account is %+v, want all in cash", a)
	}
}

// TestRejectedAtTheFill buys more shares than the type can hold, which shows only at the fill.
func TestRejectedAtTheFill(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	d.place("a", "PENNY", "buy", notional("900000000000"))
	d.advance(time.Second)
	o := d.find("a")
	if o.Status != "rejected" || o.FailedAt == nil || o.FilledQty != "0" || o.FilledAt != nil {
		t.Errorf("the order is %+v, want it rejected", o)
	}
	d.checkEnded()
}

func TestCancel(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	placed := d.place("a", "AAPL", "buy", notional("100"))
	d.expect("DELETE", "/v2/orders/"+placed.ID, "", 204, "")
	d.advance(time.Hour)
	if o := d.find("a"); o.Status != "canceled" || *o.CanceledAt != placed.SubmittedAt || o.FilledAt != nil {
		t.Errorf("the order is %+v, want it canceled", o)
	}
	d.checkEnded()
	d.expect("DELETE", "/v2/orders/"+placed.ID, "", 422, `{"code":42210000,"message":"order is already in \"canceled\" state"}`)
	d.expect("DELETE", "/v2/orders/nope", "", 404, `{"code":40410000,"message":"order not found for nope"}`)
	d.expect("POST", "/v2/orders", market("a", "AAPL", "buy", notional("100")), 422, "must be unique")
}

func TestIDs(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Random: strings.NewReader(strings.Repeat("0123456789abcdef", 3))})
	body := `{"symbol":"AAPL","side":"buy","notional":"5","type":"market","time_in_force":"day"}`
	o := send[order](d, "POST", "/v2/orders", body)
	const want = "30313233-3435-4637-b839-616263646566"
	if a := d.account(); o.ID != want || o.ClientOrderID != want || a.ID != want {
		t.Errorf("ids %s, %s and %s, want %s", o.ID, o.ClientOrderID, a.ID, want)
	}
	d.expect("POST", "/v2/orders", body, 500, "internal server error") // the source is exhausted
}

func TestOrders(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	for i, symbol := range []string{"AAPL", "F", "BRK.B", "AAPL", "F", "BRK.B"} {
		d.advance(time.Second)
		d.place(fmt.Sprint(i), symbol, "buy", notional("100"))
	}
	// Five are filled, the sixth is open. The seventh is of the same instant, and gets the next microsecond.
	d.place("6", "F", "sell", quantity("1"))
	third := url.QueryEscape(monday().Add(3 * time.Second).Format(time.RFC3339Nano))
	for _, c := range []struct{ query, want string }{
		{"", "6 5"},
		{"status=open&direction=asc", "5 6"},
		{"status=closed", "4 3 2 1 0"},
		{"status=closed&direction=asc&limit=2", "0 1"},
		{"status=all&direction=asc", "0 1 2 3 4 5 6"},
		{"status=all&limit=3", "6 5 4"},
		{"status=all&symbols=AAPL,BRK.B&direction=asc", "0 2 3 5"},
		{"status=all&symbols=aapl", "3 0"},
		{"status=all&symbols=B", ""},
		{"status=all&side=sell", "6"},
		{"status=all&direction=asc&after=" + third, "3 4 5 6"},
		{"status=all&direction=asc&until=" + third, "0 1"},
		{"status=all&direction=asc&after=2026-03-16T14:00:02.9999999Z", "2 3 4 5 6"},
		{"status=all&direction=asc&until=2026-03-16T14:00:03.0000001Z", "0 1 2"},
		{"status=all&after=2026-03-17", ""},
		{"status=all&until=2026-03-17&limit=1&nested=true", "6"},
	} {
		var got []string
		for _, o := range get[[]order](d, "/v2/orders?"+c.query) {
			got = append(got, o.ClientOrderID)
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.query, diff)
		}
	}
	for _, query := range []string{"status=new", "limit=0", "limit=501", "limit=x", "direction=up", "after=now", "until=x"} {
		d.expect("GET", "/v2/orders?"+query, "", 422, "")
	}
}

func TestLookups(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	for path, want := range map[string]string{
		"/v2/orders/x":                      `404 {"code":40410000,"message":"order not found for x"}`,
		byClientID("y"):                     `404 {"code":40410000,"message":"order not found for y"}`,
		"/v2/orders:by_client_order_id":     `422 {"code":42210000,"message":"client_order_id is required"}`,
		"/v2/positions/AAPL":                `404 {"code":40410000,"message":"position does not exist"}`,
		"/v2/assets/nope":                   `404 {"code":40410000,"message":"asset not found for NOPE"}`,
		"/v2/stocks/NOPE/snapshot":          `404 {"message":"no data for NOPE"}`,
		"/v2/stocks/snapshots":              `400 {"message":"symbols is required"}`,
		"/v2/nothing":                       `404 {"message":"endpoint not found."}`,
		"/v2/positions":                     `200 []`,
		"/v2/orders":                        `200 []`,
		"/v2/assets?status=inactive":        `200 []`,
		"/v2/assets?asset_class=crypto":     `200 []`,
		"/v2/stocks/snapshots?symbols=NOPE": `200 {}`,
	} {
		r := d.do("GET", path, "")
		if got := fmt.Sprint(r.status, " ", r.body); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestClockSetBack sets the clock back between orders: each is filled right after its
// submission.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	d.buy("a", "AAPL", "10")
	d.advance(-time.Hour)
	d.buy("b", "AAPL", "10")
	d.advance(-100 * time.Millisecond)
	d.buy("c", "AAPL", "10")
}
