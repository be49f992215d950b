package market_test

import (
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// A trade in the future is ignored and never stored. The known price is usable until it is a
// minute old, and the next valid trade counts.
func TestATradeOfTheFutureIsIgnored(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]time.Duration{"2099": 73 * 365 * 24 * time.Hour, "six seconds": 6 * time.Second}, func(w *world, ahead time.Duration) {
		w.quote(200*dollar, 199*dollar)
		w.run(20 * time.Second)
		for range 20 {
			w.quoteAhead(120*dollar, 199*dollar, ahead)
			w.wantNext(200 * dollar)
			time.Sleep(time.Second)
		}
		if q := w.stored(); q.Price != 200*dollar || q.TradedAt.After(time.Now()) {
			w.t.Errorf("stored: %+v", q)
		}
		w.quote(198*dollar, 199*dollar)
		w.wantNext(198 * dollar)
	})
}

// A trade a few seconds ahead is accepted, because the clocks of hosts differ.
func TestATradeALittleAheadIsAccepted(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.quoteAhead(200*dollar, 199*dollar, 4*time.Second)
		w.wantNext(200 * dollar)
	})
}

// A stored price with a trade time in the future is replaced by the next trade.
func TestAStoredTradeOfTheFutureIsReplaced(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.check(w.store.SaveQuotes(w.t.Context(), []rewards.Quote{{
			AssetID: w.aapl, Price: 120 * dollar, TradedAt: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), ConfirmedAt: time.Now(),
		}}))
		w.restart()
		w.quote(200*dollar, 199*dollar)
		w.wantAfter(20*time.Second, 200*dollar)
		if q := w.stored(); q.Price != 200*dollar || q.TradedAt.After(time.Now()) {
			w.t.Errorf("stored: %+v", q)
		}
	})
}

// While the broker's clock is refused, trades are judged by ours.
func TestARefusedClockDoesNotJudgeTrades(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.feed.ahead = 73 * 365 * 24 * time.Hour
		w.quoteAhead(200*dollar, 199*dollar, w.feed.ahead)
		w.wantNext(0)
		w.quote(200*dollar, 199*dollar)
		w.wantNext(200 * dollar)
	})
}

// A simulated clock may run fast; trades up to its time are accepted.
func TestAFastSimulatedClock(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.feed.clock.Simulated = true
		started := time.Now()
		for i := range 60 {
			w.feed.ahead = 1000 * time.Since(started)
			w.quoteAhead(money.Price(200+i)*dollar, 199*dollar, w.feed.ahead)
			w.wantNext(money.Price(200+i) * dollar)
			time.Sleep(time.Second)
		}
	})
}

// Without a previous close the last price is the reference.
func TestAJumpWithoutAPreviousClose(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.quote(200*dollar, 0) // the first price has no reference
		w.wantNext(200 * dollar)
		w.quote(150*dollar, 0)
		w.wantNext(150 * dollar)
		w.quote(dollar, 0)
		w.wantNext(0)
		if doubts := w.Doubts(); len(doubts) != 1 || doubts[0] != "AAPL" {
			w.t.Errorf("in doubt: %v", doubts)
		}
	})
}

// A price that was confirmed while our clock was ahead has an unknown age.
func TestAPriceConfirmedInTheFutureIsNotUsable(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.check(w.store.SaveQuotes(w.t.Context(), []rewards.Quote{{
			AssetID: w.aapl, Price: 200 * dollar, TradedAt: time.Now(), ConfirmedAt: time.Now().Add(24 * time.Hour),
		}}))
		w.restart()
		w.want(0)
		w.quote(201*dollar, 199*dollar)
		w.tick()
		w.wantNext(201 * dollar)
	})
}
