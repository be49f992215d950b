package market_test

import (
	"errors"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// A clock far from ours is refused and changes neither hours nor prices. Once it is right it
// is trusted within seconds.
func TestAClockFarFromOursIsRefused(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]time.Duration{
		"ahead": 73 * 365 * 24 * time.Hour, "behind": -3 * time.Minute,
	}, func(w *world, ahead time.Duration) {
		w.quote(200*dollar, 199*dollar)
		w.tick()
		before, err := w.store.MarketHours(w.t.Context())
		w.check(err)
		w.feed.ahead = ahead
		w.feed.clock.NextClose = w.feed.clock.NextClose.Add(ahead)
		w.feed.clock.NextOpen = w.feed.clock.NextOpen.Add(ahead)
		time.Sleep(6 * time.Second)
		read := w.feed.clocks
		for range 4 {
			if c, err := w.Clock(w.t.Context()); !errors.Is(err, rewards.ErrClockRefused) || c.Open {
				w.t.Errorf("got %+v, %v; want it refused", c, err)
			}
			time.Sleep(time.Second)
		}
		if n := w.feed.clocks - read; n != 1 {
			w.t.Errorf("the refused clock was read %d times in four seconds, want once", n)
		}
		if after, err := w.store.MarketHours(w.t.Context()); err != nil || after != before {
			w.t.Errorf("the stored hours became %s (%v), were %s", after, err, before)
		}
		w.alwaysOpen()
		w.feed.ahead = 0
		time.Sleep(2 * time.Second)
		if c, err := w.Clock(w.t.Context()); err != nil || !c.Open {
			w.t.Errorf("the right clock: %+v, %v", c, err)
		}
	})
}

// A broker that goes on saying that the market is open until now is asked once a second, and its hours count for
// two minutes. Then they are refused.
func TestHoursThatHavePassed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		closes := time.Now().Add(10 * time.Second)
		w.feed.clock = rewards.MarketClock{Open: true, NextClose: closes, NextOpen: closes.Add(17 * time.Hour)}
		_, err := w.Clock(w.t.Context())
		w.check(err)
		time.Sleep(time.Until(closes) - time.Second/2)
		_, err = w.Clock(w.t.Context())
		w.check(err)
		time.Sleep(time.Second / 2) // which is younger than a second, but from before the close
		read := w.feed.clocks
		if _, err := w.Clock(w.t.Context()); err != nil || w.feed.clocks != read+1 {
			t.Errorf("at the close it is read %d times (%v), want once", w.feed.clocks-read, err)
		}
		read = w.feed.clocks - 1
		const seconds = 120
		for range 20 * seconds {
			_, err := w.Clock(w.t.Context())
			w.check(err)
			time.Sleep(time.Second / 20)
		}
		if n := w.feed.clocks - read; n != seconds {
			t.Errorf("the clock was read %d times in two minutes, want %d", n, seconds)
		}
		time.Sleep(time.Second)
		if c, err := w.Clock(w.t.Context()); !errors.Is(err, rewards.ErrClockRefused) || c.Open {
			t.Errorf("two minutes after the close: %+v, %v, want it refused", c, err)
		}
		w.feed.clock = rewards.MarketClock{NextOpen: closes.Add(17 * time.Hour), NextClose: closes.Add(24 * time.Hour)}
		time.Sleep(5 * time.Second)
		if c, err := w.Clock(w.t.Context()); err != nil || c.Open {
			t.Errorf("the right hours: %+v, %v", c, err)
		}
	})
}

// When our clock is set back, an older reading is not valid for longer.
func TestOurOwnClockSetBack(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		_, err := w.Clock(w.t.Context())
		w.check(err)
		read := w.feed.clocks
		w.behind = time.Minute
		_, err = w.Clock(w.t.Context())
		w.check(err)
		if w.feed.clocks != read+1 {
			w.t.Errorf("read %d times, want again", w.feed.clocks-read)
		}
	})
}

// A service that was down for a whole session does not take the price of the session before for one of the last.
func TestAPriceOfTheSessionBeforeLast(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		closes, opens := time.Now().Add(30*time.Second), time.Now().Add(65*time.Hour)
		w.feed.clock = rewards.MarketClock{Open: true, NextClose: closes, NextOpen: opens}
		w.quote(200*dollar, 199*dollar)
		w.run(20 * time.Second)
		w.want(200 * dollar)
		time.Sleep(time.Until(opens.Add(10 * time.Hour)))
		next := opens.Add(24 * time.Hour)
		w.feed.clock = rewards.MarketClock{NextOpen: next, NextClose: next.Add(6 * time.Hour)}
		w.restart()
		w.feed.prices = nil
		for _, at := range []time.Time{time.Now(), next.Add(-time.Minute)} {
			time.Sleep(time.Until(at))
			w.tick()
			if p, ok := w.Price(w.aapl, 0); ok {
				t.Errorf("at %s the price %s of the session before last counts", at, p)
			}
		}
	})
}
