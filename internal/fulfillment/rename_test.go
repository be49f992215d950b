package fulfillment_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/rewards"
)

// sync updates the catalog from the brokerage's list, with stocks renamed.
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

// An order that was sent under the old symbol and is reported under the new one, before and after
// the sync, is about the same stock and is booked.
func TestTheBrokerReportsAnOrderUnderTheNewSymbol(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		renamed := reported("accepted", "0")
		renamed["symbol"] = "APL"
		r := w.give("AAPL", 5*usd)
		w.reads(reading{reported("accepted", "0"), 3 * time.Second}, reading{renamed, 3 * time.Second})
		if live := w.live(); len(live) != 1 || live[0].State != rewards.OrderOpen {
			w.t.Errorf("live orders %+v, want one that is open", live)
		}
		w.sync(map[string]string{"AAPL": "APL"})
		w.reads(reading{order{"symbol": "APL"}, 3 * time.Second})
		if got := w.want(r, rewards.Executed); got.Symbol != "AAPL" {
			w.t.Errorf("the reward is of %s, want the symbol as given", got.Symbol)
		}
	})
}

// A dividend that is due is announced under the stock's new symbol: it is the same one, and nobody must decide.
func TestADividendUnderTheNewSymbol(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.investors()
		w.sync(nil)
		id := w.post(dividend + "}")
		w.until("2000-01-04 20:00:00")
		w.run(10 * time.Second)
		held := w.held("AAPL")
		w.sync(map[string]string{"AAPL": "APL"})
		w.faulty(ofActions, replacing(`"symbol":"AAPL"`, `"symbol":"APL"`))
		w.run(time.Minute)
		w.wantAction(id, rewards.ActionAnnounced)
		w.until("2000-01-10 02:30:00")
		w.run(time.Minute)
		w.wantAction(id, rewards.ActionSwept)
		w.wantShared(id, held)
	})
}

// When the order's symbol belongs to another stock by the time that the broker takes it, nothing is
// booked as the old stock.
func TestAnOrderForTheStockThatTookTheSymbolIsQuarantined(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.reports(order{"asset_id": exchange.AssetID("another company")})
		w.wantAfter(3*time.Second, w.give("AAPL", 5*usd), rewards.Executing)
		w.quarantined()
	})
}

// Rewards that wait while the stock is renamed are bought under the new symbol.
func TestRewardsThatWaitAreBoughtUnderTheNewSymbol(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.sync(nil)
		w.pause("a rename")
		r := w.give("AAPL", 5*usd)
		w.run(3 * time.Second)
		w.sync(map[string]string{"AAPL": "KO", "KO": "AAPL"})
		var sent []string
		w.faulty(isSubmit, func(r *http.Request, carry carrier) (*http.Response, error) {
			sent = append(sent, symbolOf(w.t, r))
			return carry()
		})
		w.wire.rewrite = func(o map[string]any) { o["asset_id"] = exchange.AssetID("AAPL") }
		w.pause("")
		w.run(3 * time.Second)
		if len(sent) != 1 || sent[0] != "KO" {
			w.t.Errorf("sent %q, want one order of KO", sent)
		}
		w.want(r, rewards.Executed)
	})
}

// symbolOf is the symbol of a request to buy.
func symbolOf(t *testing.T, r *http.Request) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var order struct{ Symbol string }
	if err := errors.Join(err, json.Unmarshal(body, &order)); err != nil {
		t.Error(err)
	}
	return order.Symbol
}
