package fulfillment_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/broker/paper"
	"stockrewards/internal/fulfillment"
	"stockrewards/internal/market"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
)

// world is the whole of fulfilment over a paper brokerage, inside a bubble of fake
// time: a real store, the real client and protocol, and a wire that can fail.
type world struct {
	t         *testing.T
	engine    store.Engine
	random    io.Reader
	store     *store.Operator
	brokerage *paper.Brokerage
	client    *alpaca.Client // undisturbed, for looking at the brokerage's books
	wire      *wire
	market    *market.Market
	worker    *fulfillment.Worker
	cfg       fulfillment.Config
	app       rewards.App
	user      rewards.User
	keys      int
	hours     paper.Hours
	afterOpen []func()
	told      *any // the client order id that tell is about
}

// inWorld runs a test in a new world.
func inWorld(t *testing.T, test func(t *testing.T, w *world), options ...func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t}
		for _, option := range options {
			option(w)
		}
		w.open()
		test(t, w)
	})
}

// openStore opens the books as a restarted process does, in the hands of an operator.
func (w *world) openStore(now func() time.Time) *store.Operator {
	w.t.Helper()
	s, err := store.New(w.t.Context(), w.engine, now, w.random)
	w.check(err)
	return s.As(rewards.Operator{Actor: "tester@test", Command: "test"})
}

func (w *world) open() {
	w.t.Helper()
	w.random = rand.NewChaCha8([32]byte{7})
	engine, err := sqlite.Open(w.t.Context(), sqlite.Memory, sqlite.Options{})
	w.check(err)
	w.engine = engine
	w.store = w.openStore(time.Now)
	w.t.Cleanup(func() { w.check(engine.Close()) })
	dollars := func(n money.Price) money.Price { return n * 1_000_000_000 }
	w.brokerage, err = paper.Open(w.t.Context(), ":memory:", paper.Options{
		Hours: w.hours, Now: time.Now, Random: w.random, Control: true,
		Catalog: []paper.Asset{
			{Symbol: "AAPL", Name: "Apple", Exchange: "NASDAQ", Price: dollars(200)},
			{Symbol: "KO", Name: "Coca-Cola", Exchange: "NYSE", Price: dollars(70)},
			{Symbol: "HALT", Name: "Halted", Exchange: "NYSE", Price: dollars(10), NotTradable: true},
		},
	})
	w.check(err)
	w.t.Cleanup(func() { w.check(w.brokerage.Close()) })
	w.wire = &wire{next: w.brokerage.Transport()}
	w.client = w.newClient(w.brokerage.Transport())
	w.cfg = fulfillment.Config{
		Exclusive: true, Prefix: "sr-test-", Window: time.Second, PollEvery: 100 * time.Millisecond,
		MaxNotional: rewards.LowestMaxNotional, DailyLimit: 1 << 60, HouseDailyLimit: 1 << 60, HouseAppLimit: 1 << 60, LeaseTTL: 30 * time.Second,
	}
	w.check(w.store.SeedAssets(w.t.Context(), []rewards.Asset{{Symbol: "AAPL"}, {Symbol: "KO"}, {Symbol: "HALT"}}))
	w.app, _, err = w.store.CreateApp(w.t.Context(), "app", rewards.Key{})
	w.check(err)
	w.user, err = w.store.CreateUser(w.t.Context(), rewards.User{AppID: w.app.ID, ExternalID: "user"})
	w.check(err)
	w.restart(nil, nil)
	for _, f := range w.afterOpen {
		f()
	}
}

// start runs the worker's own loop in the background.
func (w *world) start() (stop func(), done <-chan struct{}) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		w.worker.Run(ctx)
		close(ended)
	}()
	return cancel, ended
}

func (w *world) newClient(transport http.RoundTripper) *alpaca.Client {
	return alpaca.New(alpaca.Options{
		TradingURL: "http://broker.test", DataURL: "http://broker.test", KeyID: "k", SecretKey: "s",
		Transport: transport, RequestsPerMinute: 60_000,
	})
}

// restart makes the worker anew on the same books, as a new process does; wrap
// functions may put something between it and them.
func (w *world) restart(
	wrapStore func(fulfillment.Store) fulfillment.Store, wrapBroker func(fulfillment.Broker) fulfillment.Broker,
) {
	w.keys++
	w.cfg.Holder = fmt.Sprint("process-", w.keys)
	client := w.newClient(w.wire)
	var s fulfillment.Store = w.store
	var b fulfillment.Broker = client
	if wrapStore != nil {
		s = wrapStore(s)
	}
	if wrapBroker != nil {
		b = wrapBroker(b)
	}
	quiet := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	w.market = market.New(client, w.store, time.Now, quiet)
	w.check(w.market.Load(w.t.Context()))
	w.worker = fulfillment.New(s, b, w.market, w.cfg, time.Now, quiet)
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// give records a reward.
func (w *world) give(symbol string, amount money.USD) rewards.Reward {
	w.t.Helper()
	w.keys++
	r := rewards.NewReward{
		AppID: w.app.ID, UserID: w.user.ID, Amount: amount, Symbol: symbol, IdempotencyKey: fmt.Sprint("key-", w.keys),
	}
	assets, err := w.store.Assets(w.t.Context())
	w.check(err)
	for _, a := range assets {
		if a.Symbol == symbol {
			r.AssetID = a.ID
		}
	}
	outcomes, err := w.store.RecordRewards(w.t.Context(), []rewards.NewReward{r})
	w.check(err)
	return outcomes[0].Reward
}

// run lets fulfilment work for a while. Over hours it looks only now and then, but
// each time until it has come to rest.
func (w *world) run(d time.Duration) {
	w.t.Helper()
	const fine = 5 * time.Minute
	coarse := time.Duration(0)
	if d > fine {
		coarse = min(d/100, 5*time.Minute)
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		wait := w.worker.Step(w.t.Context())
		if wait >= 100*time.Millisecond && time.Until(end) > fine/2 {
			wait = max(wait, coarse)
		}
		time.Sleep(min(max(wait, 20*time.Millisecond), time.Until(end)))
	}
}

// finish lets fulfilment work until the rewards are final, at most for a while.
func (w *world) finish(given []rewards.Reward, most time.Duration) {
	w.t.Helper()
	for end := time.Now().Add(most); time.Now().Before(end); w.run(500 * time.Millisecond) {
		open := false
		for _, r := range given {
			open = open || w.reward(r).Open()
		}
		if !open {
			return
		}
	}
}

// reward reads a reward again.
func (w *world) reward(r rewards.Reward) rewards.Reward {
	w.t.Helper()
	got, err := w.store.Reward(w.t.Context(), r.AppID, r.ID)
	w.check(err)
	return got
}

// want fails unless the reward is in the state.
func (w *world) want(r rewards.Reward, status rewards.Status) rewards.Reward {
	w.t.Helper()
	got := w.reward(r)
	if got.Status != status {
		w.t.Errorf("reward of %s %s is %s (%s), want %s", r.Amount, r.Symbol, got.Status, got.FailureReason, status)
	}
	return got
}

// live is the orders that are not final.
func (w *world) live() []rewards.Order {
	w.t.Helper()
	orders, err := w.store.LiveOrders(w.t.Context())
	w.check(err)
	return orders
}

// quarantined finds the one quarantined order.
func (w *world) quarantined() rewards.Order {
	w.t.Helper()
	for _, o := range w.live() {
		if o.State == rewards.OrderQuarantined {
			return o
		}
	}
	w.t.Fatalf("no order is quarantined; live: %+v", w.live())
	return rewards.Order{}
}

// alarmed tells whether an alarm of that name (or beginning) stands.
func (w *world) alarmed(name string) bool {
	w.t.Helper()
	alarms, err := w.store.Alarms(w.t.Context())
	w.check(err)
	for _, a := range alarms {
		if strings.HasPrefix(a.Name, name) {
			return true
		}
	}
	return false
}

// orders is what the brokerage has.
func (w *world) orders() []rewards.BrokerOrder {
	w.t.Helper()
	list, err := w.client.Orders(w.t.Context(), time.Time{})
	w.check(err)
	return list
}

// witness compares the brokerage's positions with the holdings and the house.
func (w *world) witness() {
	w.t.Helper()
	positions, err := w.client.Positions(w.t.Context())
	w.check(err)
	theirs := map[string]money.Shares{}
	for _, p := range positions {
		theirs[p.Symbol] = p.Qty
	}
	ours := map[string]money.Shares{}
	holdings, err := w.store.Holdings(w.t.Context(), w.app.ID, w.user.ID)
	w.check(err)
	for _, h := range holdings {
		ours[h.Symbol] += h.Quantity
	}
	orders, err := w.store.Orders(w.t.Context(), 0, rewards.Page[rewards.Order]{Limit: 10_000})
	w.check(err)
	for _, o := range orders {
		if o.HouseShares > 0 {
			ours[o.Symbol] += o.HouseShares
		}
	}
	for symbol, qty := range theirs {
		if ours[symbol] != qty {
			w.t.Errorf("the brokerage holds %s of %s, we booked %s", qty, symbol, ours[symbol])
		}
		delete(ours, symbol)
	}
	for symbol, qty := range ours {
		w.t.Errorf("we booked %s of %s, the brokerage holds none", qty, symbol)
	}
}

// wire carries requests to the brokerage, and fails as a test says.
type wire struct {
	next http.RoundTripper
	// fault sees a request before it is carried; nil carries it. It answers in place
	// of the brokerage, after carrying the request or not.
	fault func(r *http.Request, carry func() (*http.Response, error)) (*http.Response, error)
	// rewrite changes every order that the brokerage tells of.
	rewrite func(order map[string]any)
	// clock changes what the brokerage tells of its clock.
	clock func(clock map[string]any)
}

var errCut = errors.New("the connection was cut")

func (x *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	carry := func() (*http.Response, error) {
		response, err := x.next.RoundTrip(r)
		change := x.rewrite
		switch {
		case r.URL.Path == "/v2/clock":
			change = x.clock
		case !strings.Contains(r.URL.Path, "/v2/orders"):
			change = nil
		}
		if err != nil || change == nil || response.StatusCode != http.StatusOK {
			return response, err
		}
		return response, rewriteBody(response, change)
	}
	if x.fault == nil {
		return carry()
	}
	return x.fault(r, carry)
}

func rewriteBody(response *http.Response, change func(map[string]any)) error {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	switch v := value.(type) {
	case map[string]any:
		change(v)
	case []any:
		for _, o := range v {
			order, ok := o.(map[string]any)
			if !ok {
				return errCut
			}
			change(order)
		}
	}
	body, err = json.Marshal(value)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("Content-Length")
	return err
}

// isSubmit tells whether a request sends an order.
func isSubmit(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/v2/orders" }

// answerWith is an answer of the broker.
func answerWith(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}
