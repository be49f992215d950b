package market_test

import (
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// A trade of the future is ignored and never stored: the price that is known holds until
// it is a minute old, and the next good trade counts.
func TestATradeOfTheFutureIsIgnored(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"2099": 73 * 365 * 24 * time.Hour, "six seconds": 6 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.tell(200*dollar, 199*dollar)
				w.run(20 * time.Second)
				for range 20 {
					w.tellOf(120*dollar, 199*dollar, ahead)
					w.tick()
					w.want(200 * dollar)
					time.Sleep(time.Second)
				}
				if q := w.stored(); q.Price != 200*dollar || q.TradedAt.After(time.Now()) {
					w.t.Errorf("stored: %+v", q)
				}
				w.tell(198*dollar, 199*dollar)
				w.tick()
				w.want(198 * dollar)
			})
		})
	}
}

// Trades only of the future leave the price to grow old.
func TestOnlyTradesOfTheFutureLeaveNoPrice(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.tell(200*dollar, 199*dollar)
		w.tick()
		for range 70 {
			w.tellOf(200*dollar, 199*dollar, time.Hour)
			w.tick()
			time.Sleep(time.Second)
		}
		w.want(0)
	})
}

// A trade a few seconds ahead is that of a clock of another host.
func TestATradeALittleAheadIsBelieved(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.tellOf(200*dollar, 199*dollar, 4*time.Second)
		w.tick()
		w.want(200 * dollar)
	})
}

// A price that is stored with a trade time of the future is replaced by the next trade.
func TestAStoredTradeOfTheFutureIsReplaced(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.check(w.store.SaveQuotes(w.t.Context(), []rewards.Quote{{
			AssetID: w.aapl, Price: 120 * dollar, TradedAt: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), ConfirmedAt: time.Now(),
		}}))
		w.restart()
		w.tell(200*dollar, 199*dollar)
		w.run(20 * time.Second)
		w.want(200 * dollar)
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
		w.tellOf(200*dollar, 199*dollar, w.feed.ahead)
		w.tick()
		w.want(0)
		w.tell(200*dollar, 199*dollar)
		w.tick()
		w.want(200 * dollar)
	})
}

// A clock that was set on purpose may run fast: the trades that it has seen are believed.
func TestAFastClockSetOnPurpose(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.feed.clock.Simulated = true
		started := time.Now()
		for i := range 60 {
			w.feed.ahead = 1000 * time.Since(started)
			w.tellOf(money.Price(200+i)*dollar, 199*dollar, w.feed.ahead)
			w.tick()
			w.want(money.Price(200+i) * dollar)
			time.Sleep(time.Second)
		}
	})
}

// Without a previous close our own last price is the reference.
func TestAJumpWithoutAPreviousClose(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.tell(200*dollar, 0) // the first one: nothing is known
		w.tick()
		w.want(200 * dollar)
		w.tell(150*dollar, 0)
		w.tick()
		w.want(150 * dollar)
		w.tell(dollar, 0)
		w.tick()
		w.want(0)
		if doubts := w.Doubts(); len(doubts) != 1 || doubts[0] != "AAPL" {
			w.t.Errorf("in doubt: %v", doubts)
		}
	})
}

// A price that was confirmed while our own clock was ahead is of unknown age.
func TestAPriceConfirmedInTheFutureIsNotOffered(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.check(w.store.SaveQuotes(w.t.Context(), []rewards.Quote{{
			AssetID: w.aapl, Price: 200 * dollar, TradedAt: time.Now(), ConfirmedAt: time.Now().Add(24 * time.Hour),
		}}))
		w.restart()
		w.want(0)
		w.tell(201*dollar, 199*dollar)
		w.tick()
		w.tick()
		w.want(201 * dollar)
	})
}
