package api_test

import (
	"net/http"
	"testing"
)

// Specification, sections 2.4 and 4.8; decisions, catalog: sorted by symbol, only
// assets that can be awarded now.
func TestCatalog(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	const all = `{"assets":[{"symbol":"AAPL","name":"Apple Inc."},{"symbol":"BRK.B","name":"Berkshire Hathaway Inc."},` +
		`{"symbol":"KO","name":"Coca-Cola Company"},{"symbol":"NVDA","name":"NVIDIA Corporation"},{"symbol":"ÄÖ","name":"Not ASCII"}]}`
	wantBody(t, c.get(t, "/v1/assets").wantStatus(t, http.StatusOK), all)
	wantBody(t, c.get(t, "/v1/assets?limit=1&cursor=x").wantStatus(t, http.StatusOK), all) // without pages
	user := c.newUser(t)
	set := func(symbol string, enabled bool) {
		t.Helper()
		check(t, w.store.SetEnabled(t.Context(), symbol, enabled))
		w.clock.advance(second)
	}
	for _, symbol := range []string{"AAPL", "NVDA", "ÄÖ", "BRK.B"} {
		set(symbol, false)
	}
	wantBody(t, c.get(t, "/v1/assets").wantStatus(t, http.StatusOK), `{"assets":[{"symbol":"KO","name":"Coca-Cola Company"}]}`)
	for _, given := range []string{"AAPL", "aapl"} {
		c.post(t, "/v1/rewards", award(user, "assetSymbol", quote(given))).
			wantError(t, http.StatusUnprocessableEntity, "unprocessable_entity", object{"assetSymbol": "AAPL"})
	}
	c.give(t, user, "assetSymbol", `"KO"`)
	set("KO", false)
	wantBody(t, c.get(t, "/v1/assets").wantStatus(t, http.StatusOK), `{"assets":[]}`)
	set("AAPL", true)
	wantBody(t, c.get(t, "/v1/assets").wantStatus(t, http.StatusOK), `{"assets":[{"symbol":"AAPL","name":"Apple Inc."}]}`)
	c.give(t, user)
}
