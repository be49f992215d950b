package fulfillment_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/rewards"
)

// sync brings the catalog up to the brokerage's list, with the stocks renamed so.
func (w *world) sync(renamed map[string]string) {
	w.t.Helper()
	theirs, err := w.client.Assets(w.t.Context())
	w.check(err)
	for i, b := range theirs {
		if symbol, ok := renamed[b.Symbol]; ok {
			theirs[i].Symbol = symbol
		}
	}
	_, err = w.store.SyncAssets(w.t.Context(), func(ours []rewards.Asset) (rewards.AssetSync, error) {
		return rewards.SyncAssets(ours, theirs, rewards.SyncFilter{}), nil
	})
	w.check(err)
}

// An order that was sent under the old symbol is told of under the new one, before
// the sync and after it: it is the same stock, and is booked.
func TestTheBrokerTellsAnOrderUnderTheNewSymbol(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.sync(nil)
		w.tell(map[string]any{"status": "accepted", "filled_qty": "0", "filled_avg_price": nil})
		r := w.give("AAPL", 5_000_000)
		w.run(5 * time.Second)
		w.tell(map[string]any{"status": "accepted", "filled_qty": "0", "filled_avg_price": nil, "symbol": "APL"})
		w.run(5 * time.Second)
		if live := w.live(); len(live) != 1 || live[0].State != rewards.OrderOpen {
			t.Errorf("live orders %+v, want one that is open", live)
		}
		w.sync(map[string]string{"AAPL": "APL"})
		w.tell(map[string]any{"symbol": "APL"})
		w.run(5 * time.Second)
		if got := w.want(r, rewards.Executed); got.Symbol != "AAPL" {
			t.Errorf("the reward is of %s, want the symbol as it was given", got.Symbol)
		}
	})
}

// The symbol of an order belongs to another stock by the time that the broker takes
// it: what was bought is not booked as the old stock.
func TestAnOrderForTheStockThatTookTheSymbolIsQuarantined(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.sync(nil)
		w.tell(map[string]any{"asset_id": paper.AssetID("another company")})
		r := w.give("AAPL", 5_000_000)
		w.run(5 * time.Second)
		w.want(r, rewards.Executing)
		w.quarantined()
	})
}

// Rewards that wait while the stock is renamed are bought under the new symbol.
func TestRewardsThatWaitAreBoughtUnderTheNewSymbol(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.sync(nil)
		w.check(w.store.SetPaused(t.Context(), "a rename"))
		r := w.give("AAPL", 5_000_000)
		w.run(5 * time.Second)
		w.sync(map[string]string{"AAPL": "KO", "KO": "AAPL"})
		var sent []string
		w.wire.fault = func(r *http.Request, carry func() (*http.Response, error)) (*http.Response, error) {
			if isSubmit(r) {
				sent = append(sent, symbolOf(t, r))
			}
			return carry()
		}
		w.wire.rewrite = func(order map[string]any) { order["asset_id"] = paper.AssetID("AAPL") }
		w.check(w.store.SetPaused(t.Context(), ""))
		w.run(time.Second)
		if len(sent) != 1 || sent[0] != "KO" {
			t.Errorf("sent %q, want one order of KO", sent)
		}
		w.want(r, rewards.Executed)
	})
}

// symbolOf is the symbol that a request to buy names.
func symbolOf(t *testing.T, r *http.Request) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var order struct{ Symbol string }
	if err := json.Unmarshal(body, &order); err != nil {
		t.Error(err)
	}
	return order.Symbol
}
