package api_test

import (
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/broker/paper"
	"stockrewards/internal/fulfillment"
	"stockrewards/internal/market"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// exchange connects a world to a paper brokerage. Tests step its market and worker.
type exchange struct {
	market *market.Market
	worker *fulfillment.Worker
}

// open connects a world to a paper brokerage whose stocks cost $10 and where AAPL is not
// tradable. The client's server uses the brokerage's prices.
func (w *world) open(t *testing.T) (exchange, client) {
	t.Helper()
	ten := 10 * money.Price(money.Share)
	brokerage, err := paper.Open(t.Context(), ":memory:", paper.Options{Now: w.clock.now, Random: rand.Reader, Catalog: []paper.Asset{
		{Symbol: "AAPL", Name: "Apple Inc.", Exchange: "NASDAQ", Price: ten, NotTradable: true},
		{Symbol: "KO", Name: "Coca-Cola Company", Exchange: "NYSE", Price: ten},
		{Symbol: "NVDA", Name: "NVIDIA Corporation", Exchange: "NASDAQ", Price: ten},
	}})
	check(t, err)
	t.Cleanup(func() { check(t, brokerage.Close()) })
	broker := alpaca.New(alpaca.Options{
		TradingURL: "http://paper.invalid", DataURL: "http://paper.invalid", KeyID: "paper", SecretKey: "paper",
		Transport: brokerage.Transport(), RequestsPerMinute: 60_000,
	})
	log := slog.New(slog.NewJSONHandler(w.log, nil))
	x := exchange{market: market.New(broker, w.store, w.clock.now, log)}
	x.worker = fulfillment.New(w.store, broker, x.market, fulfillment.Config{
		Holder: "test", Exclusive: true, Prefix: "sr-test-", PollEvery: time.Second, LeaseTTL: 30 * time.Second,
		Brakes: rewards.Brakes{
			MaxNotional: rewards.LowestMaxNotional, DailyLimit: 1 << 60, HouseDailyLimit: 1 << 60, HouseAppLimit: 1 << 60,
		},
	}, w.clock.now, log)
	server := w.serve(rewards.NewService(w.store, w.intake, x.market, w.clock.now))
	t.Cleanup(server.Close)
	c := w.newApp(t)
	c.base = server.URL
	return x, c
}

// run lets time pass second by second, and steps the market and the worker in each.
func (w *world) run(t *testing.T, x exchange, d time.Duration) {
	t.Helper()
	for passed := time.Duration(0); passed < d; passed += second {
		w.clock.advance(second)
		_, err := x.market.Clock(t.Context())
		check(t, err)
		check(t, x.market.Refresh(t.Context()))
		x.worker.Step(t.Context())
	}
}

// Specification, section 3: an award is recorded at once and fulfilled later; then its
// status is executed and the stock is in the user's portfolio. Decisions, awards: the
// transitions, executedAt and failureReason.
func TestLifeOfRewards(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x, c := w.open(t)
	user := c.newUser(t)
	const empty = `{"value":0,"costBasis":0,"change":null,"holdings":[]}`
	amounts := []string{"10", "0.25", "33.333333"}
	ids := make([]string, len(amounts))
	for i, amount := range amounts {
		ids[i] = c.give(t, user, "assetSymbol", `"KO"`, "amountUsd", amount)
	}
	c.get(t, "/v1/rewards/"+ids[0]).want(t, "recorded", "reward", "status")
	wantBody(t, c.get(t, "/v1/users/"+user+"/portfolio").wantStatus(t, http.StatusOK), empty)
	seen := make(map[string]int) // the latest status of each reward, by its order
	order := map[string]int{"recorded": 1, "executing": 2, "executed": 3}
	for passed, done := 0, 0; done < len(ids) && passed < 60; passed++ {
		w.run(t, x, second)
		done = 0
		for _, id := range ids {
			status := c.get(t, "/v1/rewards/"+id).text(t, "reward", "status")
			if order[status] < seen[id] {
				t.Errorf("%s went back to %s", id, status)
			}
			seen[id] = order[status]
			if status == "executed" {
				done++
			}
		}
	}
	for _, id := range ids {
		a := c.get(t, "/v1/rewards/"+id).want(t, "executed", "reward", "status").want(t, nil, "reward", "failureReason")
		created, executed := wantTime(t, a.text(t, "reward", "createdAt")), wantTime(t, a.text(t, "reward", "executedAt"))
		if executed.Before(created) || executed.After(w.clock.now()) {
			t.Errorf("created at %v, executed at %v", created, executed)
		}
	}
	p := c.get(t, "/v1/users/"+user+"/portfolio").wantStatus(t, http.StatusOK)
	p.want(t, json.Number("43.583333"), "costBasis").want(t, json.Number("43.583333"), "holdings", 0, "costBasis")
	p.want(t, "KO", "holdings", 0, "asset").want(t, p.at(t, "value"), "holdings", 0, "value")
	if holdings, _ := p.at(t, "holdings").([]any); len(holdings) != 1 {
		t.Errorf("holdings are not aggregated by symbol: %s", p.body)
	}
	c.get(t, "/v1/rewards?status=executed").want(t, object{"rewards": []any{
		c.get(t, "/v1/rewards/"+ids[2]).at(t, "reward"), c.get(t, "/v1/rewards/"+ids[1]).at(t, "reward"),
		c.get(t, "/v1/rewards/"+ids[0]).at(t, "reward"),
	}})
}

// Decisions, awards: an award fails only on a definitive refusal with nothing bought; the
// reason is a stable code and a message.
func TestRewardThatCannotBeBought(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x, c := w.open(t)
	user := c.newUser(t)
	id := c.give(t, user, "assetSymbol", `"AAPL"`)
	w.run(t, x, 30*second)
	a := c.get(t, "/v1/rewards/"+id).want(t, "failed", "reward", "status").want(t, nil, "reward", "executedAt")
	if got := a.text(t, "reward", "failureReason"); len(got) < 20 || got[:20] != "asset_not_tradable: " {
		t.Errorf("failureReason is %q", got)
	}
	wantBody(t, c.get(t, "/v1/users/"+user+"/portfolio").wantStatus(t, http.StatusOK),
		`{"value":0,"costBasis":0,"change":null,"holdings":[]}`)
	c.get(t, "/v1/rewards?status=failed").want(t, []any{a.at(t, "reward")}, "rewards")
}

// Decisions, portfolio: 502 without a price, with one that the broker has not confirmed
// for 60 seconds of open market, and while the price is in doubt.
func TestPricesThatAreNotUsable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x, c := w.open(t)
	user := c.newUser(t)
	c.hold(t, user, "KO", money.Share, money.Dollar)
	w.exec(t, `UPDATE assets SET used = 1 WHERE symbol = 'KO'`)
	var got []int
	read := func() { got = append(got, c.get(t, "/v1/users/"+user+"/portfolio").status) }
	read()
	w.run(t, x, second)
	read()
	w.clock.advance(59 * second)
	read()
	w.clock.advance(2 * second)
	read()
	w.run(t, x, second)
	read()
	check(t, w.store.DoubtAsset(t.Context(), w.asset(t, "KO"), 1))
	w.run(t, x, second)
	read()
	_, err := w.store.ConfirmAsset(t.Context(), "KO")
	check(t, err)
	w.run(t, x, second)
	read()
	if diff := cmp.Diff([]int{502, 200, 200, 502, 200, 502, 200}, got); diff != "" {
		t.Errorf("no price, fresh, 59 s old, 61 s old, fresh, in doubt, confirmed (-want +got):\n%s", diff)
	}
}
