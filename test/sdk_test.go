package test

import (
	"errors"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/alpacahq/alpaca-trade-api-go/v3/alpaca"
	"github.com/alpacahq/alpaca-trade-api-go/v3/marketdata"
	"github.com/shopspring/decimal"

	"stockrewards/test/world"
)

// startPaper runs `stockrewards paper` with new books.
func startPaper(t *testing.T, args ...string) *process {
	t.Helper()
	books := "sqlite:" + filepath.Join(t.TempDir(), "paper.db")
	p := launch(t, "paper", nil, append([]string{"paper", "--listen", "127.0.0.1:0", "--database", books}, args...)...)
	t.Cleanup(p.Kill)
	return p
}

// Alpaca's own Go SDK works with the paper brokerage.
func TestTheOfficialSDK(t *testing.T) {
	t.Parallel()
	p := startPaper(t, "--hours", "us", "--clock", "2026-11-27T10:00:00-05:00")
	c := alpaca.NewClient(alpaca.ClientOpts{BaseURL: p.URL, APIKey: "any", APISecret: "any", RetryLimit: -1})
	got := call[*alpaca.Clock](t)(c.GetClock())
	if !got.IsOpen || got.NextClose.UTC().Hour() != 18 {
		t.Errorf("the clock of a half day: %+v", got)
	}
	begin := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	days := call[[]alpaca.CalendarDay](t)(c.GetCalendar(alpaca.GetCalendarRequest{Start: begin, End: begin.AddDate(0, 0, 7)}))
	if len(days) != 5 || days[3].Date != "2026-11-27" || days[3].Close != "13:00" {
		t.Errorf("the calendar of the week of Thanksgiving: %+v", days)
	}
	sdkAccount(t, c)
	sdkAssets(t, c)
	sdkOrders(t, c)
	sdkErrors(t, c)
	data := marketdata.NewClient(marketdata.ClientOpts{BaseURL: p.URL, APIKey: "any", APISecret: "any", RetryLimit: -1})
	sdkMarketData(t, data)
	sdkCorporateActions(t, p.URL, c, data)
}

func sdkCorporateActions(t *testing.T, url string, c *alpaca.Client, data *marketdata.Client) {
	t.Helper()
	id := announce(t, url, `{"type":"reverse_split","symbol":"AAPL","old_rate":25,"new_rate":1,"ex_date":"2026-12-01"}`)
	announce(t, url, `{"type":"cash_dividend","symbol":"KO","rate":0.51,"ex_date":"2026-12-02","payable_date":"2026-12-20"}`)
	announce(t, url, `{"type":"name_change","old_symbol":"KO","new_symbol":"COKE","process_date":"2026-12-03"}`)
	window := marketdata.GetCorporateActionsRequest{PageLimit: 1}
	window.Start.Year, window.Start.Month, window.Start.Day = 2026, time.November, 20
	window.End.Year, window.End.Month, window.End.Day = 2026, time.December, 31
	got := call[marketdata.CorporateActions](t)(data.GetCorporateActions(window))
	if len(got.ReverseSplits) != 1 || len(got.CashDividends) != 1 || len(got.NameChanges) != 1 {
		t.Fatalf("%+v", got)
	}
	if s := got.ReverseSplits[0]; s.OldRate != 25 || s.NewRate != 1 || s.ExDate.Day != 1 {
		t.Errorf("%+v", s)
	}
	activities := call[[]alpaca.AccountActivity](t)(c.GetAccountActivities(alpaca.GetAccountActivitiesRequest{ActivityTypes: []string{"FILL"}}))
	if len(activities) == 0 || activities[0].Qty.IsZero() || activities[0].OrderID == "" {
		t.Errorf("%+v", activities)
	}
	world.Ask(t, http.StatusNoContent, "", "DELETE", url+"/control/corporate-actions/"+id, "", nil)
}

// announce announces a corporate action and returns its id.
func announce(t *testing.T, url, body string) string {
	t.Helper()
	var a struct{ ID string }
	world.Ask(t, http.StatusCreated, "", "POST", url+"/control/corporate-actions", body, &a)
	return a.ID
}

// call fails the test on an error.
func call[V any](t *testing.T) func(V, error) V {
	t.Helper()
	return func(v V, err error) V {
		t.Helper()
		noError(t, err)
		return v
	}
}

func sdkAccount(t *testing.T, c *alpaca.Client) {
	t.Helper()
	a := call[*alpaca.Account](t)(c.GetAccount())
	if a.ID == "" || a.Status != "ACTIVE" || !a.BuyingPower.Equal(a.Cash) || a.Cash.IsZero() || a.TradingBlocked {
		t.Errorf("%+v", a)
	}
}

func sdkAssets(t *testing.T, c *alpaca.Client) {
	t.Helper()
	list := call[[]alpaca.Asset](t)(c.GetAssets(alpaca.GetAssetsRequest{Status: "active", AssetClass: "us_equity"}))
	if len(list) < 900 {
		t.Errorf("%d assets", len(list))
	}
	one := call[*alpaca.Asset](t)(c.GetAsset("BRK.B"))
	if one.Symbol != "BRK.B" || !one.Tradable || !one.Fractionable || one.Status != alpaca.AssetActive || one.ID == "" {
		t.Errorf("%+v", one)
	}
	if again := call[*alpaca.Asset](t)(c.GetAsset(one.ID)); again.Symbol != one.Symbol {
		t.Errorf("by id: %+v", again)
	}
}

// buy requests an order in dollars.
func buy(clientOrderID string) alpaca.PlaceOrderRequest {
	dollars := decimal.RequireFromString("25.50")
	return alpaca.PlaceOrderRequest{
		Symbol: "AAPL", Notional: &dollars, Side: alpaca.Buy, Type: alpaca.Market, TimeInForce: alpaca.Day,
		ClientOrderID: clientOrderID,
	}
}

func sdkOrders(t *testing.T, c *alpaca.Client) {
	t.Helper()
	placed := call[*alpaca.Order](t)(c.PlaceOrder(buy("sdk-1")))
	if placed.ClientOrderID != "sdk-1" || placed.Symbol != "AAPL" || !placed.Notional.Equal(decimal.RequireFromString("25.5")) {
		t.Errorf("placed: %+v", placed)
	}
	var o *alpaca.Order
	eventually(t, "filled order", 10*time.Second, func() bool {
		o = call[*alpaca.Order](t)(c.GetOrder(placed.ID))
		return o.Status == "filled"
	})
	if o.FilledAt == nil || !o.FilledQty.IsPositive() || !o.FilledAvgPrice.IsPositive() {
		t.Errorf("filled: %+v", o)
	}
	if same := call[*alpaca.Order](t)(c.GetOrderByClientOrderID("sdk-1")); same.ID != o.ID {
		t.Errorf("by client order id: %+v", same)
	}
	list := call[[]alpaca.Order](t)(c.GetOrders(alpaca.GetOrdersRequest{Status: "all", Limit: 10, Symbols: []string{"AAPL"}}))
	if len(list) != 1 || list[0].ID != o.ID {
		t.Errorf("list: %+v", list)
	}
	held := call[*alpaca.Position](t)(c.GetPosition("AAPL"))
	positions := call[[]alpaca.Position](t)(c.GetPositions())
	if len(positions) != 1 || !positions[0].Qty.Equal(o.FilledQty) || !held.Qty.Equal(o.FilledQty) {
		t.Errorf("positions %+v, one of them %+v, want %s", positions, held, o.FilledQty)
	}
}

func sdkErrors(t *testing.T, c *alpaca.Client) {
	t.Helper()
	unknown, small := buy("sdk-2"), buy("sdk-3")
	unknown.Symbol = "NOSUCH"
	cents := decimal.RequireFromString("0.99")
	small.Notional = &cents
	for name, failing := range map[string]struct {
		request alpaca.PlaceOrderRequest
		status  int
		message string
	}{
		"the same client order id": {buy("sdk-1"), 422, "client_order_id must be unique"},
		"an unknown asset":         {unknown, 422, `asset "NOSUCH" not found`},
		"less than a dollar":       {small, 422, "notional amount must be >= 1.00"},
	} {
		_, err := c.PlaceOrder(failing.request)
		if e, ok := errors.AsType[*alpaca.APIError](err); !ok || e.StatusCode != failing.status || e.Message != failing.message {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.GetOrder("3e5a5c5e-0000-4000-8000-000000000000"); err == nil {
		t.Error("an order that there is not was found")
	}
	ended := call[*alpaca.Order](t)(c.GetOrderByClientOrderID("sdk-1"))
	if e, ok := errors.AsType[*alpaca.APIError](c.CancelOrder(ended.ID)); !ok || e.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a filled order was canceled: %v", e)
	}
}

func sdkMarketData(t *testing.T, c *marketdata.Client) {
	t.Helper()
	trades := call[map[string]marketdata.Trade](t)(c.GetLatestTrades([]string{"AAPL", "BRK.B"}, marketdata.GetLatestTradeRequest{}))
	if len(trades) != 2 || trades["BRK.B"].Price <= 0 || trades["BRK.B"].Timestamp.IsZero() {
		t.Errorf("latest trades: %+v", trades)
	}
	if one := call[*marketdata.Trade](t)(c.GetLatestTrade("AAPL", marketdata.GetLatestTradeRequest{})); one.Price <= 0 {
		t.Errorf("latest trade: %+v", one)
	}
	snapshots := call[map[string]*marketdata.Snapshot](t)(c.GetSnapshots([]string{"AAPL", "BRK.B"}, marketdata.GetSnapshotRequest{}))
	s := snapshots["AAPL"]
	if len(snapshots) != 2 || s.LatestTrade.Price <= 0 || s.PrevDailyBar.Close <= 0 || s.DailyBar.High < s.DailyBar.Low {
		t.Errorf("snapshots: %+v", snapshots)
	}
}
