package fulfillment_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
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
	shared "stockrewards/test/world"
)

const usd = money.Dollar

var besideAll = flag.Bool("beside", false, "book beside the steps in every test, as over PostgreSQL")

// world is fulfillment over a paper brokerage in fake time: a real store, the real client and
// protocol, and a wire that can fail.
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
	users     []rewards.User // all, the first is user
	keys      int
	hours     paper.Hours
	stocks    []string // besides the usual ones

	reportedID string // the client order id of the order that reports changes
}

// inWorld runs a test in a new world; options change it before it opens.
func inWorld(t *testing.T, test func(w *world), options ...func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, cfg: fulfillment.Config{
			Exclusive: true, Prefix: "sr-test-", Window: time.Second, PollEvery: time.Second,
			Brakes: shared.NoBrakes(), LeaseTTL: 30 * time.Second, BookBeside: *besideAll,
		}}
		for _, option := range options {
			option(w)
		}
		w.open()
		test(w)
	})
}

// inWorlds runs a test for each case in its own world.
func inWorlds[Case any](t *testing.T, cases map[string]Case, test func(w *world, c Case), options ...func(*world)) {
	t.Helper()
	shared.Each(t, cases, func(t *testing.T, c Case) { inWorld(t, func(w *world) { test(w, c) }, options...) })
}

// usHours closes the market as New York does; it never closes by default.
func usHours(w *world) { w.hours = paper.USEquities }

// patient lets steps go on without the answers to sends.
func patient(w *world) { w.cfg.Patience = 200 * time.Millisecond }

// openStore opens the store as a restarted process does, for an operator.
func (w *world) openStore(now func() time.Time) *store.Operator {
	return shared.Operator(w.t, w.engine, now, w.random)
}

func (w *world) open() {
	w.t.Helper()
	w.random = rand.NewChaCha8([32]byte{7})
	w.engine = shared.Engine(w.t)
	w.store = w.openStore(time.Now)
	const perUSD = 1_000_000_000
	catalog := []paper.Asset{
		{Symbol: "AAPL", Name: "Apple", Exchange: "NASDAQ", Price: 200 * perUSD},
		{Symbol: "KO", Name: "Coca-Cola", Exchange: "NYSE", Price: 70 * perUSD},
		{Symbol: "HALT", Name: "Halted", Exchange: "NYSE", Price: 10 * perUSD, NotTradable: true},
	}
	assets := []rewards.Asset{{Symbol: "AAPL"}, {Symbol: "KO"}, {Symbol: "HALT"}}
	for _, symbol := range w.stocks {
		catalog = append(catalog, paper.Asset{Symbol: symbol, Name: symbol, Exchange: "NYSE", Price: 50 * perUSD})
		assets = append(assets, rewards.Asset{Symbol: symbol})
	}
	var err error
	w.brokerage, err = paper.Open(w.t.Context(), ":memory:", paper.Options{
		Hours: w.hours, Now: time.Now, Random: w.random, Control: true, Catalog: catalog,
	})
	w.check(err)
	w.t.Cleanup(func() { w.check(w.brokerage.Close()) })
	w.wire = &wire{next: w.brokerage.Transport()}
	w.client = newClient(w.brokerage.Transport())
	w.check(w.store.SeedAssets(w.t.Context(), assets))
	w.app, _, err = w.store.CreateApp(w.t.Context(), "app", rewards.Key{})
	w.check(err)
	w.user = w.newUser(w.app)
	w.restart()
}

var newClient = shared.Broker

// restart makes a new worker on the same store, as a new process does.
func (w *world) restart() {
	w.t.Helper()
	w.restartWith(w.store, newClient(w.wire))
}

// restartWith makes a new worker that sees another store and broker.
func (w *world) restartWith(s fulfillment.Store, b fulfillment.Broker) {
	w.t.Helper()
	w.keys++
	w.cfg.Holder = fmt.Sprint("process-", w.keys)
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	w.market = market.New(newClient(w.wire), w.store, time.Now, log)
	w.check(w.market.Load(w.t.Context()))
	w.worker = fulfillment.New(s, b, w.market, w.cfg, time.Now, log)
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

func (w *world) check(err error) {
	w.t.Helper()
	shared.Check(w.t, err)
}

// asset finds a stock of the catalog.
func (w *world) asset(symbol string) rewards.AssetID {
	w.t.Helper()
	assets, err := w.store.Assets(w.t.Context())
	w.check(err)
	for _, a := range assets {
		if a.Symbol == symbol {
			return a.ID
		}
	}
	w.t.Fatalf("no asset %s", symbol)
	return 0
}

// newUser creates a user of an app.
func (w *world) newUser(app rewards.App) rewards.User {
	w.t.Helper()
	w.keys++
	u, err := w.store.CreateUser(w.t.Context(), rewards.User{AppID: app.ID, ExternalID: fmt.Sprint("user-", w.keys)})
	w.check(err)
	w.users = append(w.users, u)
	return u
}

// newReward is a reward to record.
func (w *world) newReward(symbol string, amount money.USD) rewards.NewReward {
	w.t.Helper()
	return w.newRewardOf(w.user, symbol, amount)
}

// newRewardOf is a reward of a user to record.
func (w *world) newRewardOf(u rewards.User, symbol string, amount money.USD) rewards.NewReward {
	w.t.Helper()
	w.keys++
	return rewards.NewReward{
		AppID: u.AppID, UserID: u.ID, Amount: amount, Symbol: symbol, AssetID: w.asset(symbol),
		IdempotencyKey: fmt.Sprint("key-", w.keys),
	}
}

// give records a reward.
func (w *world) give(symbol string, amount money.USD) rewards.Reward {
	w.t.Helper()
	return w.giveTo(w.user, symbol, amount)
}

// giveTo records a reward of a user.
func (w *world) giveTo(u rewards.User, symbol string, amount money.USD) rewards.Reward {
	w.t.Helper()
	outcomes, err := w.store.RecordRewards(w.t.Context(), []rewards.NewReward{w.newRewardOf(u, symbol, amount)})
	w.check(err)
	return outcomes[0].Reward
}

// holding is what a user has of a stock.
func (w *world) holding(u rewards.User, symbol string) rewards.Holding {
	w.t.Helper()
	list, err := w.store.Holdings(w.t.Context(), u.AppID, u.ID)
	w.check(err)
	for _, h := range list {
		if h.AssetID == w.asset(symbol) {
			return h
		}
	}
	return rewards.Holding{AssetID: w.asset(symbol)}
}

// house is what the house has of a stock; it is negative when shares are missing.
func (w *world) house(symbol string) (shares money.Shares) {
	w.t.Helper()
	asset := int64(w.asset(symbol))
	w.check(w.engine.Read(w.t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error { return row.Scan((*int64)(&shares)) },
			`SELECT quantity FROM house_holdings WHERE asset_id = ?1`, asset)
	}))
	return shares
}

// buy gives $5 of AAPL and lets it be executed.
func (w *world) buy() rewards.Reward {
	w.t.Helper()
	r := w.give("AAPL", 5*usd)
	return w.wantAfter(5*time.Second, r, rewards.Executed)
}

// pause pauses ordering; "" ends the pause.
func (w *world) pause(reason string) {
	w.t.Helper()
	w.check(w.store.SetPaused(w.t.Context(), reason))
}

// resolve decides about an order.
func (w *world) resolve(o rewards.Order, r rewards.Resolution) {
	w.t.Helper()
	r.Reason = "the broker's statement"
	w.check(w.store.ResolveOrder(w.t.Context(), o.ID, r))
}

// run steps the worker for a while. Over hours it steps only now and then, but each time until
// nothing is due.
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

// until sleeps to a moment in New York, such as "2000-01-04 19:59:50".
func (w *world) until(moment string) {
	w.t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	w.check(err)
	at, err := time.ParseInLocation(time.DateTime, moment, zone)
	w.check(err)
	time.Sleep(time.Until(at))
}

// reward reads a reward again.
func (w *world) reward(r rewards.Reward) rewards.Reward {
	w.t.Helper()
	got, err := w.store.Reward(w.t.Context(), r.AppID, r.ID)
	w.check(err)
	return got
}

// want checks the status of a reward.
func (w *world) want(r rewards.Reward, status rewards.Status) rewards.Reward {
	w.t.Helper()
	got := w.reward(r)
	if got.Status != status {
		w.t.Errorf("reward of %s %s is %s (%s), want %s", r.Amount, r.Symbol, got.Status, got.FailureReason, status)
	}
	return got
}

// wantAll checks the status of several rewards.
func (w *world) wantAll(status rewards.Status, list ...rewards.Reward) {
	w.t.Helper()
	for _, r := range list {
		w.want(r, status)
	}
}

// wantAfter runs the worker for a while and checks the status of a reward.
func (w *world) wantAfter(d time.Duration, r rewards.Reward, status rewards.Status) rewards.Reward {
	w.t.Helper()
	w.run(d)
	return w.want(r, status)
}

// wantFailed checks that a reward failed with a code.
func (w *world) wantFailed(r rewards.Reward, code string) {
	w.t.Helper()
	if got := w.want(r, rewards.Failed); !strings.HasPrefix(got.FailureReason, code+": ") {
		w.t.Errorf("failure reason %q, want %s", got.FailureReason, code)
	}
}

// live are the orders that are not final.
func (w *world) live() []rewards.Order {
	w.t.Helper()
	orders, err := w.store.LiveOrders(w.t.Context())
	w.check(err)
	return orders
}

// quarantined finds the quarantined order.
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

// wantAlarm checks whether an alarm whose name begins so is active; "" is any alarm.
func (w *world) wantAlarm(name string, want bool) {
	w.t.Helper()
	alarms, err := w.store.Alarms(w.t.Context())
	w.check(err)
	got := false
	for _, a := range alarms {
		got = got || strings.HasPrefix(a.Name, name)
	}
	if got != want {
		w.t.Errorf("alarm %s is active: %t; alarms: %+v", name, got, alarms)
	}
}

// orders are the brokerage's.
func (w *world) orders() []rewards.BrokerOrder {
	w.t.Helper()
	list, err := w.client.Orders(w.t.Context(), time.Time{}, nil)
	w.check(err)
	return list
}

func (w *world) wantOrders(want int) {
	w.t.Helper()
	if got := len(w.orders()); got != want {
		w.t.Errorf("the brokerage has %d orders, want %d", got, want)
	}
}

// wantBalanced checks the number of the brokerage's orders, and their balance.
func (w *world) wantBalanced(orders int) {
	w.t.Helper()
	w.wantOrders(orders)
	w.wantBalance()
}

// wantBalance compares the brokerage's positions with the holdings and the house.
func (w *world) wantBalance() {
	w.t.Helper()
	positions, err := w.client.Positions(w.t.Context())
	w.check(err)
	theirs := map[string]money.Shares{}
	for _, p := range positions {
		theirs[p.Symbol] += p.Qty
	}
	assets, err := w.store.Assets(w.t.Context())
	w.check(err)
	for _, a := range assets {
		difference := theirs[a.Symbol] - w.house(a.Symbol)
		for _, u := range w.users {
			difference -= w.holding(u, a.Symbol).Quantity
		}
		if difference != 0 {
			w.t.Errorf("the brokerage holds %s more of %s than we booked", difference, a.Symbol)
		}
	}
}
