package fulfillment_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// ofPrices matches the requests for prices.
func ofPrices(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v2/stocks/") }

// A stored price that is old does not judge a fill before the stock was asked for again.
func TestAnOldPriceDoesNotJudgeAFill(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.check(w.market.Refresh(t.Context()))
		w.give("AAPL", 5_000_000)
		assets, _, err := w.store.QuotedAssets(t.Context())
		w.check(err)
		w.check(w.store.SaveQuotes(t.Context(), []rewards.Quote{{
			AssetID: assets[0].ID, Price: 20 * 1_000_000_000, TradedAt: time.Now().Add(-48 * time.Hour),
			ConfirmedAt: time.Now().Add(-48 * time.Hour),
		}}))
		w.restart(nil, nil)
		r := w.give("AAPL", 5_000_000)
		w.run(5 * time.Second)
		w.want(r, rewards.Executed)
		w.witness()
	})
}

// A fill far from the level of before, but near the one that an operator confirmed, is
// booked: the price jumped while the order was under way.
func TestAFillNearAConfirmedLevelIsBooked(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(map[string]any{"status": "new", "filled_qty": "0", "filled_avg_price": nil})
		r := w.give("AAPL", 5_000_000)
		w.run(5 * time.Second)
		assets, _, err := w.store.QuotedAssets(t.Context())
		w.check(err)
		const jumped = 100 * 1_000_000_000
		w.check(w.store.DoubtAsset(t.Context(), assets[0].ID, jumped))
		w.failing(ofPrices)
		_, err = w.store.ConfirmAsset(t.Context(), "AAPL")
		w.check(err)
		w.restart(nil, nil)
		w.tell(map[string]any{"status": "filled", "filled_qty": "0.05", "filled_avg_price": "100"})
		w.run(5 * time.Second)
		w.want(r, rewards.Executed)
	})
}

// What was believed of a fill is not judged again by the prices of later: a stock may go
// far in a day.
func TestABelievedFillStaysBelieved(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.tell(map[string]any{"status": "partially_filled", "filled_qty": "0.01", "filled_avg_price": "200"})
		r := w.give("AAPL", 5_000_000)
		w.run(5 * time.Second)
		assets, quotes, err := w.store.QuotedAssets(t.Context())
		w.check(err)
		w.failing(ofPrices)
		quotes[0].AssetID, quotes[0].Price, quotes[0].ConfirmedAt = assets[0].ID, 90*1_000_000_000, time.Now()
		w.check(w.store.SaveQuotes(t.Context(), quotes))
		w.restart(nil, nil)
		w.tell(map[string]any{"status": "canceled", "filled_qty": "0.01", "filled_avg_price": "200"})
		w.run(40 * time.Second)
		if got := w.reward(r); got.Booked != 2*money.Dollar {
			t.Errorf("%s booked, want the part that was believed", got.Booked)
		}
	})
}
