package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// Decisions, portfolio: value is quantity times price in millionths; change is
// (value / costBasis - 1) in percent with two decimals and a sign, null only without a
// cost basis. Both round half away from zero (more in packages money and rewards).
func TestValuesAndChanges(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	const share = money.Share
	for name, run := range map[string]struct {
		quantity money.Shares
		cost     money.USD
		price    string
		want     string // quantity, value, costBasis and change
	}{
		"gain":                {share, 100 * money.Dollar, "105.25", `1,"value":105.25,"costBasis":100,"change":"+5.25%"`},
		"loss":                {share, 100 * money.Dollar, "95", `1,"value":95,"costBasis":100,"change":"-5.00%"`},
		"gain, half":          {share, 100 * money.Dollar, "100.005", `1,"value":100.005,"costBasis":100,"change":"+0.01%"`},
		"loss, half":          {share, 100 * money.Dollar, "99.995", `1,"value":99.995,"costBasis":100,"change":"-0.01%"`},
		"all is lost":         {1, 1 * money.Dollar, "0.000001", `0.000000001,"value":0,"costBasis":1,"change":"-100.00%"`},
		"fraction":            {123_456_789, 25*money.Dollar + 1, "213.37", `0.123456789,"value":26.341975,"costBasis":25.000001,"change":"+5.37%"`},
		"value, half":         {1, money.Dollar, "500", `0.000000001,"value":0.000001,"costBasis":1,"change":"-100.00%"`},
		"value, under a half": {1, money.Dollar, "499.999999999", `0.000000001,"value":0,"costBasis":1,"change":"-100.00%"`},
		"without cost basis":  {share / 2, 0, "10", `0.5,"value":5,"costBasis":0,"change":null`},
		"beyond floats":       {9_007_199_254_740_993, 9_007_199_254_740_993, "1", `9007199.254740993,"value":9007199.254741,"costBasis":9007199254.740993,"change":"-99.90%"`},
	} {
		user := c.newUser(t)
		c.hold(t, user, "KO", run.quantity, run.cost)
		w.set(t, "KO", run.price)
		a := c.get(t, "/v1/users/"+user+"/portfolio").wantStatus(t, http.StatusOK)
		_, total, _ := strings.Cut(run.want, ",") // the portfolio equals its only holding
		want := `{` + total + `,"holdings":[{"asset":"KO","quantity":` + run.want + `}]}`
		if diff := cmp.Diff(want, string(a.body)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Specification, sections 2.3 and 4.4: no wrapper, one entry per symbol, sums.
// Decisions, portfolio: sorted by symbol; the value is the sum of the holdings' rounded
// values.
func TestPortfolioOfSeveralStocks(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	user := c.newUser(t)
	path := "/v1/users/" + user + "/portfolio"
	const empty = `{"value":0,"costBasis":0,"change":null,"holdings":[]}`
	wantBody(t, c.get(t, path).wantStatus(t, http.StatusOK), empty)
	for _, h := range []struct {
		symbol, price string
		quantity      money.Shares
		cost          money.USD
	}{
		{"NVDA", "500", 1, 10}, // worth half a millionth, rounded up; so is the next
		{"KO", "500", 1, 20}, {"AAPL", "255.30", 411_764_705, 100 * money.Dollar}, {"BRK.B", "0.1", money.Share, money.Dollar / 10},
	} {
		c.hold(t, user, h.symbol, h.quantity, h.cost)
		w.set(t, h.symbol, h.price)
	}
	wantBody(t, c.get(t, path).wantStatus(t, http.StatusOK), `{"value":105.223531,"costBasis":100.10003,"change":"+5.12%","holdings":[`+
		`{"asset":"AAPL","quantity":0.411764705,"value":105.123529,"costBasis":100,"change":"+5.12%"},`+
		`{"asset":"BRK.B","quantity":1,"value":0.1,"costBasis":0.1,"change":"+0.00%"},`+
		`{"asset":"KO","quantity":0.000000001,"value":0.000001,"costBasis":0.00002,"change":"-95.00%"},`+
		`{"asset":"NVDA","quantity":0.000000001,"value":0.000001,"costBasis":0.00001,"change":"-90.00%"}]}`)
	other := c.newUser(t)
	wantBody(t, c.get(t, "/v1/users/"+other+"/portfolio").wantStatus(t, http.StatusOK), empty)
}

func wantBody(t *testing.T, a answer, want string) {
	t.Helper()
	if diff := cmp.Diff(want, string(a.body)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", a.request.target, diff)
	}
}

// Decisions, portfolio: without a price 502 upstream_error, never a value of zero or a
// missing holding.
func TestPortfolioWithoutAPrice(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	user := c.newUser(t)
	path := "/v1/users/" + user + "/portfolio"
	c.hold(t, user, "KO", money.Share, money.Dollar)
	c.hold(t, user, "AAPL", money.Share, money.Dollar)
	w.set(t, "KO", "70")
	c.get(t, path).wantError(t, http.StatusBadGateway, "upstream_error", object{"assetSymbol": "AAPL"})
	w.set(t, "AAPL", "250")
	c.get(t, path).wantStatus(t, http.StatusOK).want(t, json.Number("320"), "value")
	w.prices.table.Delete(w.asset(t, "KO"))
	c.get(t, path).wantError(t, http.StatusBadGateway, "upstream_error", object{"assetSymbol": "KO"})
	c.get(t, "/v1/users/"+user).wantStatus(t, http.StatusOK)
	c.get(t, "/v1/users/"+unknownID+"/portfolio").wantStatus(t, http.StatusNotFound)
}

// Decisions, catalog: an asset removed from the catalog accepts no new awards; holdings
// of it stay and are valued.
func TestPortfolioAfterDelisting(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	user := c.newUser(t)
	c.hold(t, user, "KO", money.Share, money.Dollar)
	w.set(t, "KO", "2")
	before := c.get(t, "/v1/users/"+user+"/portfolio").wantStatus(t, http.StatusOK)
	check(t, w.store.SetEnabled(t.Context(), "KO", false))
	w.clock.advance(second)
	c.post(t, "/v1/rewards", award(user, "assetSymbol", `"KO"`)).wantStatus(t, http.StatusUnprocessableEntity)
	wantBody(t, c.get(t, "/v1/users/"+user+"/portfolio").wantStatus(t, http.StatusOK), string(before.body))
}

// Decisions, portfolio: a holding has the present symbol, at most a second after a rename.
func TestPortfolioAfterARename(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	user := c.newUser(t)
	path := "/v1/users/" + user + "/portfolio"
	for _, symbol := range []string{"KO", "NVDA"} {
		c.hold(t, user, symbol, money.Share, money.Dollar)
		w.set(t, symbol, "2")
	}
	holdings := `{"value":4,"costBasis":2,"change":"+100.00%%","holdings":[` +
		`{"asset":%q,"quantity":1,"value":2,"costBasis":1,"change":"+100.00%%"},` +
		`{"asset":%q,"quantity":1,"value":2,"costBasis":1,"change":"+100.00%%"}]}`
	wantBody(t, c.get(t, path), fmt.Sprintf(holdings, "KO", "NVDA"))
	_, err := w.store.SyncAssets(t.Context(), func(ours []rewards.Asset) (s rewards.AssetSync, err error) {
		for _, a := range ours {
			if before := a; a.Symbol == "KO" {
				a.Symbol = "ZERO"
				s.Changes = append(s.Changes, rewards.AssetChange{Before: before, After: a})
			}
		}
		return s, nil
	})
	check(t, err)
	w.clock.advance(second)
	wantBody(t, c.get(t, path), fmt.Sprintf(holdings, "NVDA", "ZERO"))
}
