package fulfillment_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	shared "stockrewards/test/world"
)

// A brake keeps a reward recorded, with its alarm, until it is released.
func TestBrakes(t *testing.T) {
	t.Parallel()
	type variant struct {
		amount money.USD
		alarm  string
		says   string // the reward's timeline
		brake  func(w *world) (release func())
	}
	inWorlds(t, map[string]variant{
		"paused": {5 * usd, rewards.AlarmPaused, "the operator has paused ordering", func(w *world) func() {
			w.pause("lunch")
			return func() { w.pause("") }
		}},
		"app suspended": {5 * usd, "", "the app is suspended", func(w *world) func() {
			suspend := func(yes bool) {
				_, err := w.store.SetSuspended(w.t.Context(), "app", yes)
				w.check(err)
			}
			suspend(true)
			return func() { suspend(false) }
		}},
		"price in doubt": {5 * usd, rewards.AlarmPriceInDoubt + "AAPL", "the price of AAPL is in doubt until the operator has checked it", func(w *world) func() {
			w.check(w.store.DoubtAsset(w.t.Context(), w.asset("AAPL"), 1))
			other := w.give("KO", 5*usd)
			return func() {
				w.want(other, rewards.Executed)
				_, err := w.store.ConfirmAsset(w.t.Context(), "AAPL")
				w.check(err)
			}
		}},
		"hours unknown": {5 * usd, rewards.AlarmClockUnknown, "the broker has been unreachable since 2000-01-01 00:01 UTC", func(w *world) func() {
			off := w.faulty(ofClock, down)
			time.Sleep(time.Minute)
			return off
		}},
		"rate limit": {5 * usd, "", "it goes into the next order of AAPL, in turn with other stocks", func(w *world) func() {
			limit := w.limit()
			limit.full = true
			return func() { limit.full = false }
		}},
		"daily limit": {50 * usd, rewards.AlarmDailyLimit, "the limit of all orders today leaves no room for it; it waits for the next UTC day", func(w *world) func() {
			w.cfg.DailyLimit = 60 * usd
			w.restart()
			w.want(w.buy(), rewards.Executed)
			w.give("AAPL", 10*usd)
			w.run(3 * time.Second)
			return func() { time.Sleep(24 * time.Hour) }
		}},
		"house limit": {100_000, rewards.AlarmHouseLimit, "the pool is below the $1.00 that the broker wants, and the house adds no more today", func(w *world) func() {
			w.cfg.HouseDailyLimit = 500_000
			w.restart()
			return func() { w.give("AAPL", usd) }
		}},
		"small pool": {400_000, "", "the pool has $0.40 of the $1.00 that the broker wants, topped up at 20:00 New York", func(w *world) func() {
			w.cfg.SmallPoolWait = time.Hour
			w.restart()
			return func() {
				time.Sleep(59 * time.Minute)
				w.run(5 * time.Second)
				w.wantOrders(0)
				time.Sleep(time.Minute)
			}
		}},
		"small pool grows": {400_000, "", "the pool has $0.40 of the $1.00 that the broker wants, topped up at 20:00 New York", func(w *world) func() {
			w.cfg.SmallPoolWait = time.Hour
			w.restart()
			return func() { w.give("AAPL", 600_000) }
		}},
	}, func(w *world, test variant) {
		w.run(2 * time.Second)
		release := test.brake(w)
		r := w.wantAfter(10*time.Second, w.give("AAPL", test.amount), rewards.Recorded)
		if test.alarm != "" {
			w.wantAlarm(test.alarm, true)
		}
		w.wantWaiting(r, test.says)
		release()
		w.wantAfter(5*time.Second, r, rewards.Executed)
		w.wantAlarm("", false)
		if list := w.orders(); list[len(list)-1].Notional < usd {
			w.t.Errorf("the order is for %s, less than the broker's minimum", list[len(list)-1].Notional)
		}
		w.wantBalance()
	})
}

// limited is a broker with a rate limit that a test sets.
type limited struct {
	fulfillment.Broker

	full bool // there is no room
	late bool // a submit waits for room until it is too late
}

func (l *limited) Ready() bool { return !l.full && l.Broker.Ready() }

func (l *limited) Submit(ctx context.Context, r rewards.OrderRequest) (rewards.BrokerOrder, error) {
	if l.late {
		return rewards.BrokerOrder{}, &rewards.BrokerError{Kind: rewards.BrokerWait, Code: rewards.NotSent}
	}
	return l.Broker.Submit(ctx, r)
}

func (w *world) limit() *limited {
	w.t.Helper()
	l := &limited{Broker: newClient(w.wire)}
	w.restartWith(w.store, l)
	return l
}

// After an outage of all sends the orders are sent again. The look-ups before that leave room for it in the rate limit,
// and orders that the broker's list does not show leave room for others.
func TestLookUpsLeaveRoomToSend(t *testing.T) {
	t.Parallel()
	many := make([]string, 30)
	for i := range many {
		many[i] = fmt.Sprintf("S%02d", i)
	}
	inWorld(t, func(w *world) {
		w.restartWith(w.store, shared.PacedBroker(w.wire, 160))
		off := w.faulty(isSubmit, down)
		list := make([]rewards.Reward, len(many))
		for i, symbol := range many {
			list[i] = w.give(symbol, 5*usd)
		}
		w.run(25 * time.Second)
		off()
		w.run(45 * time.Second) // two requests for each order, and the polls
		w.wantAll(rewards.Executed, list...)
		unlisted := true
		w.wire.rewrite = func(o map[string]any) {
			if unlisted && o["symbol"] != "AAPL" {
				o["status"], o["filled_qty"], o["filled_avg_price"] = "accepted", "0", nil
			}
		}
		w.faulty(isList, says(200, `[]`))
		for i, symbol := range many[:15] {
			list[i] = w.give(symbol, 5*usd)
		}
		w.run(time.Minute)
		w.wantAfter(10*time.Second, w.give("AAPL", 5*usd), rewards.Executed)
		unlisted = false
		w.run(2 * time.Minute)
		w.wantAll(rewards.Executed, list...)
		w.wantBalanced(46)
	}, patient, func(w *world) { w.stocks = many })
}

func TestNothingIsSentWhileTheMarketIsClosed(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		r := w.give("AAPL", 5*usd) // synctest begins on a Saturday
		w.run(10 * time.Second)
		w.until("2000-01-03 09:29:00")
		w.wantAfter(50*time.Second, r, rewards.Recorded)
		w.wantOrders(0)
		w.wantWaiting(r, "the market is closed until Monday 09:30 New York")
		w.wantAfter(15*time.Second, r, rewards.Executed)
		w.wantTimeline(r, "recorded", "waited", "ordered", "sent", "answered", "filled", "executed")
		w.wantBalance()
	}, usHours)
}

// The first price of a stock is read before its first order.
func TestTheFirstPriceOfAStockIsInDoubt(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.faulty(ofPrices, says(200, `{"AAPL":{"latestTrade":{"t":"2000-01-01T00:00:00Z","p":2},"prevDailyBar":{"c":200}}}`))
		w.wantAfter(10*time.Second, w.give("AAPL", 5*usd), rewards.Recorded)
		w.wantAlarm(rewards.AlarmPriceInDoubt+"AAPL", true)
	})
}

// Without any price an order is placed: it is a market order.
func TestNoPriceAtAll(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.faulty(ofPrices, down)
		w.buy()
	})
}

func TestMoreSharesThanCanBeCountedAreNotOrdered(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		r := w.give("AAPL", 1_000_000*usd)
		w.check(w.store.SaveQuotes(w.t.Context(), []rewards.Quote{{AssetID: r.AssetID, Price: 100_000, ConfirmedAt: time.Now(), TradedAt: time.Now()}}))
		w.restart() // a share costs $0.0001
		w.wantAfter(10*time.Second, r, rewards.Recorded)
		w.wantAlarm(rewards.AlarmOrderQuantity+"AAPL", true)
	})
}

// giveOf records a reward of another app, and creates the app if it is missing.
func (w *world) giveOf(app, symbol string, amount money.USD) rewards.Reward {
	w.t.Helper()
	apps, err := w.store.Apps(w.t.Context())
	w.check(err)
	before, user := w.app, w.user
	defer func() { w.app, w.user = before, user }()
	w.app = rewards.App{}
	for _, a := range apps {
		if a.Name == app {
			w.app = a
		}
	}
	if w.app.Name == "" {
		w.app, _, err = w.store.CreateApp(w.t.Context(), app, rewards.Key{Hash: rewards.HashKey(app)})
		w.check(err)
	}
	w.keys++
	w.user, err = w.store.CreateUser(w.t.Context(), rewards.User{AppID: w.app.ID, ExternalID: fmt.Sprint(w.keys)})
	w.check(err)
	return w.give(symbol, amount)
}

// A reward larger than the rest of today's limit delays no other reward and is bought on the next
// day; one larger than the whole limit waits alone.
func TestALargeRewardHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		first := w.give("AAPL", 60*usd)
		w.run(3 * time.Second)
		never := w.giveOf("greedy", "AAPL", 101*usd)
		tomorrow := w.giveOf("greedy", "AAPL", 90*usd)
		small, other, same := w.give("AAPL", 5*usd), w.give("KO", 5*usd), w.giveOf("greedy", "AAPL", usd)
		w.run(5 * time.Second)
		w.wantAll(rewards.Executed, first, small, other, same)
		w.wantAll(rewards.Recorded, tomorrow, never)
		w.wantAlarm(rewards.AlarmDailyLimit, true)
		time.Sleep(24 * time.Hour)
		w.wantAfter(5*time.Second, tomorrow, rewards.Executed)
		w.wantAfter(5*time.Second, w.give("AAPL", usd), rewards.Executed)
		w.want(never, rewards.Recorded)
	}, func(w *world) { w.cfg.DailyLimit = 100 * usd })
}

// Tiny awards of one app use up what the house adds for that app only.
func TestAnAppUsesUpItsOwnHouseLimit(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		for range 4 {
			w.giveOf("greedy", "AAPL", 1)
			w.run(3 * time.Second)
		}
		fifth := w.giveOf("greedy", "AAPL", 1)
		w.wantAfter(3*time.Second, fifth, rewards.Recorded)
		w.wantAlarm(rewards.AlarmHouseAppLimit, true)
		w.wantAfter(3*time.Second, w.give("AAPL", 500_000), rewards.Executed)
		w.want(fifth, rewards.Recorded)
		w.wantAfter(3*time.Second, w.give("AAPL", 2*usd), rewards.Executed)
		if got := w.reward(fifth).Status; got == rewards.Recorded {
			w.t.Error("a pool that needs no help leaves the app out")
		}
	}, func(w *world) { w.cfg.HouseDailyLimit, w.cfg.HouseAppLimit = 10*usd, 4*usd })
}

// Nothing is ordered before the broker's orders were compared once. When a later comparison fails,
// an alarm is raised and ordering continues.
func TestOrderingWaitsForTheFirstComparison(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		off := w.faulty(isList, down)
		r := w.wantAfter(15*time.Second, w.give("AAPL", 5*usd), rewards.Recorded)
		w.wantAlarm(rewards.AlarmNotCompared, true)
		off()
		w.wantAfter(20*time.Second, r, rewards.Executed)
		w.wantAlarm(rewards.AlarmNotCompared, false)
		time.Sleep(time.Hour)
		off = w.faulty(isList, down)
		later := w.wantAfter(10*time.Second, w.give("AAPL", 5*usd), rewards.Executing) // sent, and cannot be polled
		w.wantAlarm(rewards.AlarmNotCompared, true)
		w.wantAlarm(rewards.AlarmOrdersUnknown, true)
		off()
		w.wantAfter(20*time.Second, later, rewards.Executed)
	})
}

// A store whose clock was ahead for a moment is bought for afterwards.
func TestAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.store = w.openStore(func() time.Time { return time.Now().Add(24 * time.Hour) })
		w.give("AAPL", 2*usd)
		w.store = w.openStore(time.Now)
		w.restart()
		w.buy()
		w.wantBalance()
	})
}
