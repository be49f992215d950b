package market_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/market"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	shared "stockrewards/test/world"
)

// feed is a broker whose prices and hours a test sets; those of the paper brokerage never
// fail or jump.
type feed struct {
	err    error
	prices map[string]rewards.BrokerPrice
	clock  rewards.MarketClock // Now is replaced by the present plus ahead
	ahead  time.Duration
	asked  int // requests for prices
	clocks int // readings of the clock

	meanwhile func() // happens while the prices are asked for; nil: nothing
}

func (f *feed) LatestPrices(_ context.Context, symbols []string) (map[string]rewards.BrokerPrice, error) {
	f.asked++
	if f.meanwhile != nil {
		f.meanwhile()
	}
	if f.err != nil {
		return nil, f.err
	}
	found := map[string]rewards.BrokerPrice{}
	for _, symbol := range symbols {
		if s, ok := f.prices[symbol]; ok {
			found[symbol] = s
		}
	}
	return found, nil
}

func (f *feed) Clock(context.Context) (rewards.MarketClock, error) {
	f.clocks++
	c := f.clock
	c.Now = time.Now().Add(f.ahead)
	return c, f.err
}

// world is a market with a feed and a real store that has a reward of AAPL.
type world struct {
	*market.Market
	t     *testing.T
	feed  *feed
	store *store.Operator
	aapl  rewards.AssetID

	behind time.Duration // how far our own clock is behind the real time
}

// now is our own clock.
func (w *world) now() time.Time { return time.Now().Add(-w.behind) }

const dollar money.Price = 1_000_000_000

func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, feed: &feed{prices: map[string]rewards.BrokerPrice{}}}
		w.store = shared.Operator(t, shared.Engine(t), time.Now, rand.NewChaCha8([32]byte{3}))
		w.check(w.store.SeedAssets(t.Context(), []rewards.Asset{{Symbol: "AAPL"}, {Symbol: "KO"}}))
		app, _, err := w.store.CreateApp(t.Context(), "app", rewards.Key{})
		w.check(err)
		user, err := w.store.CreateUser(t.Context(), rewards.User{AppID: app.ID, ExternalID: "u"})
		w.check(err)
		assets, err := w.store.Assets(t.Context())
		w.check(err)
		w.aapl = assets[0].ID
		_, err = w.store.RecordRewards(t.Context(), []rewards.NewReward{{
			AppID: app.ID, UserID: user.ID, IdempotencyKey: "key", Amount: 1, AssetID: w.aapl, Symbol: "AAPL",
		}})
		w.check(err)
		w.alwaysOpen()
		w.restart()
		test(w)
	})
}

// inWorlds runs a test for each case in its own world.
func inWorlds[Case any](t *testing.T, cases map[string]Case, test func(w *world, c Case)) {
	t.Helper()
	shared.Each(t, cases, func(t *testing.T, c Case) { inWorld(t, func(w *world) { test(w, c) }) })
}

func (w *world) check(err error) {
	w.t.Helper()
	shared.Check(w.t, err)
}

// restart creates the market again with the same store.
func (w *world) restart() {
	w.t.Helper()
	w.Market = market.New(w.feed, w.store, w.now, slog.New(slog.DiscardHandler))
	w.check(w.Load(w.t.Context()))
}

func (w *world) alwaysOpen() {
	w.feed.clock = rewards.MarketClock{Open: true, NextClose: time.Now().Add(1000 * time.Hour), NextOpen: time.Now().Add(1000 * time.Hour)}
}

// quote sets the price and the previous close of AAPL.
func (w *world) quote(price, previous money.Price) {
	w.feed.prices["AAPL"] = rewards.BrokerPrice{Symbol: "AAPL", Price: price, PreviousClose: previous, TradedAt: time.Now()}
}

// quoteAhead sets the price from a trade that is ahead of the present.
func (w *world) quoteAhead(price, previous money.Price, ahead time.Duration) {
	w.quote(price, previous)
	s := w.feed.prices["AAPL"]
	s.TradedAt = s.TradedAt.Add(ahead)
	w.feed.prices["AAPL"] = s
}

// stored returns the stored quote of AAPL.
func (w *world) stored() rewards.Quote {
	w.t.Helper()
	_, quotes, err := w.store.QuotedAssets(w.t.Context())
	w.check(err)
	return quotes[0]
}

// tick does what the service does every second. Errors are allowed.
func (w *world) tick() {
	_, _ = w.Clock(w.t.Context())
	_ = w.Refresh(w.t.Context())
}

// run ticks for a while.
func (w *world) run(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
		w.tick()
	}
}

// want checks the usable price of AAPL; zero means that there is no usable price.
func (w *world) want(price money.Price) {
	w.t.Helper()
	got, ok := w.Price(w.aapl, 0)
	if got != price || ok != (price != 0) {
		w.t.Errorf("price %s, usable %t; want %s", got, ok, price)
	}
}

// wantNext ticks and checks the usable price.
func (w *world) wantNext(price money.Price) {
	w.t.Helper()
	w.tick()
	w.want(price)
}

// wantAfter ticks for a while and checks the usable price.
func (w *world) wantAfter(d time.Duration, price money.Price) {
	w.t.Helper()
	w.run(d)
	w.want(price)
}

// A price is usable for a minute of open market after its last confirmation.
func TestAPriceIsUsableForAMinute(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]func(w *world){
		"outage":         func(w *world) { w.feed.err = errors.New("outage") },
		"missing symbol": func(w *world) { delete(w.feed.prices, "AAPL") },
		"only trades in the future": func(w *world) {
			w.quoteAhead(200*dollar, 199*dollar, time.Hour)
		},
	}, func(w *world, lose func(w *world)) {
		w.wantNext(0) // no price was ever reported
		w.quote(200*dollar, 199*dollar)
		w.run(2 * time.Minute) // confirmed every second, without a trade
		w.want(200 * dollar)
		lose(w)
		w.wantAfter(50*time.Second, 200*dollar)
		w.wantAfter(20*time.Second, 0)
		w.feed.err = nil
		w.quote(201*dollar, 199*dollar)
		w.wantNext(201 * dollar)
	})
}

// The last price is usable at night, even through an outage and a restart: only open market
// counts.
func TestAtNightTheLastPriceIsUsable(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		closes := time.Now().Add(2 * time.Minute)
		opens := closes.Add(17 * time.Hour)
		w.feed.clock = rewards.MarketClock{Open: true, NextClose: closes, NextOpen: opens}
		w.quote(200*dollar, 199*dollar)
		w.run(time.Until(closes))
		w.feed.clock = rewards.MarketClock{NextOpen: opens, NextClose: opens.Add(7 * time.Hour)}
		w.run(time.Minute)
		w.feed.err = errors.New("outage")
		time.Sleep(16 * time.Hour)
		w.restart()
		w.wantNext(200 * dollar)
		time.Sleep(time.Until(opens.Add(50 * time.Second)))
		w.want(200 * dollar)
		time.Sleep(20 * time.Second)
		w.want(0)
	})
}

// A price that was shown is stored: a restart during an outage does not go back to an older one.
func TestARestartKeepsTheNewestPrice(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		for _, price := range []money.Price{200 * dollar, 201 * dollar, 202 * dollar} {
			w.quote(price, 199*dollar)
			w.wantNext(price)
		}
		w.feed.err = errors.New("outage")
		w.restart()
		w.want(202 * dollar)
		w.feed.err = nil
		time.Sleep(50 * time.Second)
		w.wantNext(202 * dollar) // confirmed, not changed
		w.feed.err = errors.New("outage")
		time.Sleep(20 * time.Second)
		w.restart()
		w.want(202 * dollar)
	})
}

func TestAJumpIsInDoubtUntilAnOperatorConfirms(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.quote(200*dollar, 199*dollar)
		w.run(20 * time.Second)
		w.quote(60*dollar, 199*dollar)
		w.wantNext(0)
		w.quote(200*dollar, 199*dollar) // a normal price does not end the doubt
		w.wantNext(0)
		w.restart()
		w.wantNext(0)
		_, err := w.store.ConfirmAsset(w.t.Context(), "AAPL")
		w.check(err)
		w.quote(61*dollar, 199*dollar) // near the confirmed price
		w.wantNext(61 * dollar)
		w.quote(10*dollar, 199*dollar) // near neither
		w.wantNext(0)
	})
}

func TestARejectedPriceIsNotAcceptedLater(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		reject := func() {
			_, err := w.store.RejectAsset(w.t.Context(), "AAPL")
			w.check(err)
		}
		w.quote(60*dollar, 199*dollar)
		w.wantNext(0)
		reject()
		w.wantNext(0) // it is still reported
		reject()
		w.quote(200*dollar, 199*dollar)
		w.wantNext(200 * dollar)
		w.quote(60*dollar, 199*dollar)
		w.wantNext(0)
	})
}

func TestTheNewestTradeWins(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.quote(200*dollar, 199*dollar)
		w.tick()
		late := w.feed.prices["AAPL"]
		late.Price, late.TradedAt = 190*dollar, late.TradedAt.Add(-time.Minute)
		w.feed.prices["AAPL"] = late
		time.Sleep(time.Second)
		w.wantNext(200 * dollar)
	})
}

func TestOnlyNeededPricesAreRequested(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.feed.prices["KO"] = rewards.BrokerPrice{Symbol: "KO", Price: 70 * dollar, TradedAt: time.Now()}
		w.quote(200*dollar, 0)
		w.run(10 * time.Second)
		if w.feed.asked != 10 {
			t.Errorf("%d requests in ten ticks, want one each", w.feed.asked)
		}
		if oldest, unusable := w.PriceAge(); oldest > time.Second || unusable != 0 {
			t.Errorf("age %s, %d unusable", oldest, unusable)
		}
	})
}

func TestClockIsReadAgainWhenTheMarketOpens(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		opens := time.Now().Add(5 * time.Second)
		w.feed.clock = rewards.MarketClock{NextOpen: opens, NextClose: opens.Add(time.Hour)}
		if c, err := w.Clock(w.t.Context()); err != nil || c.Open {
			t.Errorf("got %+v, %v", c, err)
		}
		time.Sleep(4 * time.Second)
		w.feed.clock = rewards.MarketClock{Open: true, NextClose: opens.Add(time.Hour), NextOpen: opens.Add(24 * time.Hour)}
		if c, err := w.Clock(w.t.Context()); err != nil || c.Open || !c.Now.Equal(time.Now()) {
			t.Errorf("before the opening: %+v, %v; want the reading of four seconds ago", c, err)
		}
		time.Sleep(time.Second)
		if c, err := w.Clock(w.t.Context()); err != nil || !c.Open {
			t.Errorf("at the opening: %+v, %v", c, err)
		}
	})
}

// A price that grew old during the day is not usable at night.
func TestTheCloseDoesNotMakeAnOldPriceUsable(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		closes := time.Now().Add(5 * time.Minute)
		opens := closes.Add(17 * time.Hour)
		w.feed.clock = rewards.MarketClock{Open: true, NextClose: closes, NextOpen: opens}
		w.quote(200*dollar, 199*dollar)
		w.run(10 * time.Second)
		delete(w.feed.prices, "AAPL")
		w.wantAfter(time.Until(closes), 0)
		w.feed.clock = rewards.MarketClock{NextOpen: opens, NextClose: opens.Add(7 * time.Hour)}
		w.wantAfter(time.Minute, 0)
		time.Sleep(time.Until(opens))
		w.feed.clock = rewards.MarketClock{Open: true, NextClose: opens.Add(7 * time.Hour), NextOpen: opens.Add(24 * time.Hour)}
		w.wantAfter(2*time.Second, 0)
	})
}
