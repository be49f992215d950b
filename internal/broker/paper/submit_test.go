package paper_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
)

// TestErrors is the table of the answers to orders that are not taken.
func TestErrors(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Cash: 1_000 * money.Dollar})
	d.bought(t, "used", "AAPL", "100")
	const (
		buyOne = `"notional":"1"`
		unsure = `{"code":42210000,"message":`
	)
	for _, c := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"a used id", market("used", "AAPL", "buy", buyOne), 422, `{"code":40010001,"message":"client_order_id must be unique"}`},
		{"a used id of another order", market("used", "NOPE", "sell", `"qty":"9"`), 422, `{"code":40010001,"message":"client_order_id must be unique"}`},
		{"beyond the buying power", market("a", "AAPL", "buy", `"notional":"900.01"`), 403, `{"code":40310000,"message":"insufficient buying power","buying_power":"900","cost_basis":"900.01"}`},
		{"not fractionable", market("a", "WHOLE", "buy", `"notional":"100"`), 403, `{"code":40310000,"message":"asset \"WHOLE\" is not fractionable"}`},
		{"a fraction of a whole", market("a", "WHOLE", "buy", `"qty":"1.5"`), 403, `{"code":40310000,"message":"asset \"WHOLE\" is not fractionable"}`},
		{"unknown asset", market("a", "NOPE", "buy", buyOne), 422, unsure + `"asset \"NOPE\" not found"}`},
		{"lower case", market("a", "aapl", "buy", buyOne), 422, unsure + `"asset \"aapl\" not found"}`},
		{"not tradable", market("a", "HALT", "buy", buyOne), 422, unsure + `"asset \"HALT\" is not tradable"}`},
		{"under a dollar", market("a", "AAPL", "buy", `"notional":"0.99"`), 422, unsure + `"notional amount must be >= 1.00"}`},
		{"a quantity under a dollar", market("a", "AAPL", "buy", `"qty":"0.001"`), 422, unsure + `"notional amount must be >= 1.00"}`},
		{"negative", market("a", "AAPL", "buy", `"notional":"-5"`), 422, unsure + `"notional amount must be >= 1.00"}`},
		{"three decimals", market("a", "AAPL", "buy", `"notional":"1.005"`), 422, unsure + `"notional value must be limited to 2 decimal places"}`},
		{"seven decimals", market("a", "AAPL", "buy", `"notional":1.0000001`), 422, unsure + `"notional value must be limited to 2 decimal places"}`},
		{"not a number", market("a", "AAPL", "buy", `"notional":"ten"`), 422, unsure + `"notional is invalid: not a decimal number"}`},
		{"an object", market("a", "AAPL", "buy", `"notional":{}`), 422, unsure + `"notional is invalid: not a decimal number"}`},
		{"too much", market("a", "AAPL", "buy", `"notional":"1e30"`), 422, unsure + `"notional is invalid: number too large"}`},
		{"ten decimals", market("a", "AAPL", "buy", `"qty":"0.0123456789"`), 422, unsure + `"qty must be limited to 9 decimal places"}`},
		{"no shares", market("a", "AAPL", "buy", `"qty":"0"`), 422, unsure + `"qty must be > 0"}`},
		{"too many shares", market("a", "AAPL", "buy", `"qty":"9000000000"`), 403, `{"code":40310000,"message":"insufficient buying power"`},
		{"shares without end", market("a", "BRK.A", "buy", `"qty":"9000000000"`), 422, unsure + `"qty is too large"}`},
		{"both", market("a", "AAPL", "buy", `"qty":"1","notional":"1"`), 422, unsure + `"only one of qty or notional is accepted"}`},
		{"neither", market("a", "AAPL", "buy", `"qty":null,"notional":""`), 422, unsure + `"qty or notional is required"}`},
		{"no symbol", market("a", "", "buy", buyOne), 422, unsure + `"symbol is required"}`},
		{"no side", market("a", "AAPL", "", buyOne), 422, unsure + `"invalid side"}`},
		{"a limit order", strings.Replace(market("a", "AAPL", "buy", buyOne), "market", "limit", 1), 422, unsure + `"only market orders are supported by this paper brokerage"}`},
		{"a bracket", market("a", "AAPL", "buy", buyOne+`,"order_class":"bracket"`), 422, unsure + `"only simple orders are supported by this paper brokerage"}`},
		{"not a day order", strings.Replace(market("a", "AAPL", "buy", buyOne), `"day"`, `"gtc"`, 1), 422, unsure + `"fractional orders must be DAY orders"}`},
		{"fractional shares, not of the day", strings.Replace(market("a", "AAPL", "buy", `"qty":"0.5"`), `"day"`, `"gtc"`, 1), 422, unsure + `"fractional orders must be DAY orders"}`},
		{"whole shares, not of the day", strings.Replace(market("a", "AAPL", "buy", `"qty":"2"`), `"day"`, `"gtc"`, 1), 422, unsure + `"only day orders are supported by this paper brokerage"}`},
		{"no such time in force", strings.Replace(market("a", "AAPL", "buy", buyOne), `"day"`, `"gtd"`, 1), 422, unsure + `"invalid time_in_force"}`},
		{"no time in force", strings.Replace(market("a", "AAPL", "buy", buyOne), `"day"`, `""`, 1), 422, unsure + `"invalid time_in_force"}`},
		{"extended hours", market("a", "AAPL", "buy", buyOne+`,"extended_hours":true`), 422, unsure + `"extended hours order must be DAY limit orders"}`},
		{"a long id", market(strings.Repeat("x", 129), "AAPL", "buy", buyOne), 422, unsure + `"client_order_id must be no more than 128 characters"}`},
		{"no JSON", "symbol=AAPL", 400, `{"code":40010000,"message":"request body format is invalid"}`},
		{"nothing", "", 400, `{"code":40010000,"message":"request body format is invalid"}`},
		{"too long", `{"symbol":"` + strings.Repeat("A", 1<<20) + `"}`, 400, `{"code":40010000,"message":"request body can't be read"}`},
		{"a sale of nothing", market("a", "F", "sell", `"qty":"1"`), 403, `{"code":40310000,"message":"insufficient qty available for order (requested: 1, available: 0)"`},
		{"a sale of too much", market("a", "AAPL", "sell", `"notional":"200"`), 403, `{"code":40310000,"message":"insufficient qty available for order`},
	} {
		got := d.do(t, http.MethodPost, "/v2/orders", c.body)
		if got.status != c.status || !strings.HasPrefix(got.body, c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.name, got.status, got.body, c.status, c.want)
		}
	}
	if list := get[[]order](t, d, "/v2/orders?status=all"); len(list) != 1 {
		t.Errorf("refused orders were kept: %+v", list)
	}
	a := get[account](t, d, "/v2/account")
	if a.BuyingPower != a.Cash {
		t.Errorf("refused orders hold money: %+v", a)
	}
}

// TestOrderJSON compares a whole order with how Alpaca writes one.
func TestOrderJSON(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	// What the official Go SDK sends: nulls, empty words, no content type.
	body := `{"symbol":"AAPL","qty":null,"notional":"1234.5","side":"buy","type":"market","time_in_force":"day",` +
		`"limit_price":null,"extended_hours":false,"stop_price":null,"client_order_id":"sdk-1","order_class":"",` +
		`"take_profit":null,"stop_loss":null,"trail_price":null,"trail_percent":null,"position_intent":""}`
	got := decode[map[string]any](t, d.do(t, http.MethodPost, "/v2/orders", body))
	const now = "2026-03-16T14:00:00Z"
	want := map[string]any{
		"id": got["id"], "client_order_id": "sdk-1", "created_at": now, "updated_at": now, "submitted_at": now,
		"filled_at": nil, "expired_at": nil, "canceled_at": nil, "failed_at": nil, "replaced_at": nil,
		"replaced_by": nil, "replaces": nil, "asset_id": paper.AssetID("AAPL"), "symbol": "AAPL",
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
	placed := d.place(t, "a", "AAPL", "buy", `"notional":1000`)
	var got []string
	var filled order
	for range 300 {
		filled = get[order](t, d, "/v2/orders/"+placed.ID)
		if n := len(got); n == 0 || got[n-1] != filled.Status {
			got = append(got, filled.Status)
		}
		d.advance(time.Millisecond)
	}
	if diff := cmp.Diff([]string{"pending_new", "new", "filled"}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	took := instant(t, *filled.FilledAt).Sub(monday())
	if took < 80*time.Millisecond || took > 250*time.Millisecond || filled.UpdatedAt != *filled.FilledAt {
		t.Errorf("filled after %s, updated at %s", took, filled.UpdatedAt)
	}
	wantPrice, _ := d.b.Price("AAPL", instant(t, *filled.FilledAt))
	wantQty, err := money.SharesFor(1_000*money.Dollar, wantPrice)
	if err != nil || filled.FilledQty != wantQty.String() || *filled.FilledAvgPrice != wantPrice.String() {
		t.Errorf("filled %s at %s, want %s at %s (%v)",
			filled.FilledQty, *filled.FilledAvgPrice, wantQty, wantPrice, err)
	}
}

func TestBuyByQuantity(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Cash: 1_000 * money.Dollar})
	placed := d.place(t, "a", paper.AssetID("AAPL"), "buy", `"qty":"2.5"`)
	if placed.Symbol != "AAPL" || *placed.Qty != "2.5" || placed.Notional != nil {
		t.Errorf("order %+v", placed)
	}
	d.advance(time.Second)
	filled := d.find(t, "a")
	value, err := money.Value(shares(t, filled.FilledQty), price(t, *filled.FilledAvgPrice), money.HalfAway)
	a := get[account](t, d, "/v2/account")
	if err != nil || filled.FilledQty != "2.5" || usd(t, a.Cash) != 1_000*money.Dollar-value || a.Cash != a.BuyingPower {
		t.Errorf("filled %+v, the account is %+v", filled, a)
	}
}

func TestSell(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	d.bought(t, "a", "AAPL", "1000")
	before := get[position](t, d, "/v2/positions/AAPL")
	d.place(t, "b", "AAPL", "sell", `"qty":"1"`)
	during := get[position](t, d, "/v2/positions/"+paper.AssetID("AAPL"))
	if during.Qty != before.Qty || shares(t, during.QtyAvailable) != shares(t, before.Qty)-money.Share {
		t.Errorf("while a share is for sale the position is %+v", during)
	}
	refused := d.do(t, http.MethodPost, "/v2/orders", market("c", "AAPL", "sell", `"qty":"`+before.Qty+`"`))
	if refused.status != http.StatusForbidden {
		t.Errorf("what is for sale already was sold again: %d %s", refused.status, refused.body)
	}
	d.advance(time.Second)
	d.place(t, "d", "AAPL", "sell", `"notional":"100"`)
	d.advance(time.Second)
	for _, id := range []string{"b", "d"} {
		if o := d.find(t, id); o.Status != "filled" || o.Side != "sell" {
			t.Errorf("the sale is %+v", o)
		}
	}
	rest := get[position](t, d, "/v2/positions/AAPL")
	d.place(t, "e", "AAPL", "sell", `"qty":"`+rest.Qty+`"`)
	d.advance(time.Second)
	if got := d.do(t, http.MethodGet, "/v2/positions/AAPL", ""); got.status != http.StatusNotFound {
		t.Errorf("after the sale of all: %d %s", got.status, got.body)
	}
	a := get[account](t, d, "/v2/account")
	if a.Equity != a.Cash || a.BuyingPower != a.Cash {
		t.Errorf("the account is %+v, want all in cash", a)
	}
}

// TestRejectedAtTheFill has orders that look possible when they are accepted and
// turn out not to be.
func TestRejectedAtTheFill(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	d.place(t, "a", "PENNY", "buy", `"notional":"900000000000"`) // more shares than a number holds
	d.advance(time.Second)
	o := d.find(t, "a")
	if o.Status != "rejected" || o.FailedAt == nil || o.FilledQty != "0" || o.FilledAt != nil {
		t.Errorf("the order is %+v, want it rejected", o)
	}
	if a := get[account](t, d, "/v2/account"); a.BuyingPower != "1000000000000" {
		t.Errorf("a rejected order holds money: %+v", a)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{})
	placed := d.place(t, "a", "AAPL", "buy", `"notional":"100"`)
	if got := d.do(t, http.MethodDelete, "/v2/orders/"+placed.ID, ""); got.status != http.StatusNoContent || got.body != "" {
		t.Errorf("cancel: %d %s", got.status, got.body)
	}
	d.advance(time.Hour)
	if o := d.find(t, "a"); o.Status != "canceled" || *o.CanceledAt != placed.SubmittedAt || o.FilledAt != nil {
		t.Errorf("the order is %+v, want it canceled", o)
	}
	if a := get[account](t, d, "/v2/account"); a.BuyingPower != "1000000000000" {
		t.Errorf("a canceled order holds money: %+v", a)
	}
	got := d.do(t, http.MethodDelete, "/v2/orders/"+placed.ID, "")
	if want := `{"code":42210000,"message":"order is already in \"canceled\" state"}`; got.status != 422 || got.body != want {
		t.Errorf("cancel again: %d %s", got.status, got.body)
	}
	got = d.do(t, http.MethodDelete, "/v2/orders/nope", "")
	if want := `{"code":40410000,"message":"order not found for nope"}`; got.status != 404 || got.body != want {
		t.Errorf("cancel another: %d %s", got.status, got.body)
	}
	again := d.do(t, http.MethodPost, "/v2/orders", market("a", "AAPL", "buy", `"notional":"100"`))
	if again.status != http.StatusUnprocessableEntity || !strings.Contains(again.body, "must be unique") {
		t.Errorf("a canceled order's id was taken again: %d %s", again.status, again.body)
	}
}

func TestIDsAreMade(t *testing.T) {
	t.Parallel()
	d := newDesk(t, paper.Options{Random: strings.NewReader(strings.Repeat("0123456789abcdef", 3))})
	body := `{"symbol":"AAPL","side":"buy","notional":"5","type":"market","time_in_force":"day"}`
	o := decode[order](t, d.do(t, http.MethodPost, "/v2/orders", body))
	const want = "30313233-3435-4637-b839-616263646566"
	if a := get[account](t, d, "/v2/account"); o.ID != want || o.ClientOrderID != want || a.ID != want {
		t.Errorf("ids %s, %s and %s, want %s", o.ID, o.ClientOrderID, a.ID, want)
	}
	got := d.do(t, http.MethodPost, "/v2/orders", body) // the source has run dry
	if got.status != http.StatusInternalServerError || !strings.Contains(got.body, "internal server error") {
		t.Errorf("without an id: %d %s", got.status, got.body)
	}
}
