package market_test

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// wantPriced checks when the broker last reported a price of AAPL.
func (w *world) wantPriced(at time.Time) {
	w.t.Helper()
	if got := w.PricedAt(w.aapl); !got.Equal(at) {
		w.t.Errorf("priced at %s, want %s", got, at)
	}
}

// The time of a price is that of the request, also of a price in doubt, and of one that another process stored. A trade
// in the future and a missing symbol are no price.
func TestWhenAPriceWasReported(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.wantPriced(time.Time{})
		w.quote(200*dollar, 199*dollar)
		w.feed.meanwhile = func() { time.Sleep(5 * time.Second) } // a slow broker
		last := time.Now()
		w.tick()
		w.wantPriced(last)
		w.feed.meanwhile = nil
		for _, lose := range []func(){
			func() { w.quoteAhead(200*dollar, 199*dollar, time.Hour) },
			func() { delete(w.feed.prices, "AAPL") },
			func() { w.feed.err = errors.New("outage") },
		} {
			lose()
			w.tick()
			w.wantPriced(last)
		}
		time.Sleep(time.Second)
		elsewhere := rewards.Quote{AssetID: w.aapl, Price: 200 * dollar, TradedAt: last, ConfirmedAt: time.Now()}
		w.check(w.store.SaveQuotes(w.t.Context(), []rewards.Quote{elsewhere}))
		w.tick()
		w.wantPriced(elsewhere.ConfirmedAt)
		w.feed.err = nil
		time.Sleep(time.Second)
		w.quote(dollar, 199*dollar) // in doubt
		w.tick()
		w.wantPriced(time.Now())
	})
}

// Only open market counts.
func TestHowLongTheMarketWasOpen(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		since := time.Now()
		w.feed.clock = rewards.MarketClock{
			Open: true, NextClose: since.Add(10 * time.Second), NextOpen: since.Add(time.Hour),
		}
		w.tick()
		time.Sleep(5 * time.Second)
		if got := w.OpenSince(since); got != 5*time.Second {
			t.Errorf("open for %s, want 5s", got)
		}
		time.Sleep(10 * time.Minute)
		if got := w.OpenSince(since); got != 10*time.Second {
			t.Errorf("open for %s, want 10s", got)
		}
	})
}
