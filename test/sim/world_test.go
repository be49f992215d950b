// Package sim runs the whole service in one process and in fake time, with faults of the store
// and the broker, and compares the result with the brokerage's books.
package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/api"
	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/broker/paper"
	"stockrewards/internal/fulfillment"
	"stockrewards/internal/intake"
	"stockrewards/internal/market"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	shared "stockrewards/test/world"
)

// world is a service with its brokerage, its operator and its clients, in a synctest bubble.
type world struct {
	t         *testing.T
	random    *rand.Rand
	source    io.Reader // of ids
	engine    *disk
	brokerage *paper.Brokerage
	operator  *alpaca.Client // the operator's own view of the account
	log       *slog.Logger

	// One process of the service.
	store   *store.Operator
	worker  *fulfillment.Worker
	market  *market.Market
	handler http.Handler

	keys      []string // an API key for each app
	users     [][]string
	apps      []rewards.App
	given     []*given
	firms     *companies           // to which corporate actions happen; nil: none
	symbols   map[string]string    // the companies' names, by symbols that they got later
	reversed  map[*given]money.USD // of clients' awards
	priced    time.Time            // when prices were asked for last
	nextKey   int
	sold      map[string]bool // orders of which the operator sold the excess
	sales     int
	decisions int               // of the operator
	refuses   bool              // faults may refuse valid orders
	story     []string          // logged when the test fails
	listen    func(line string) // gets each line of the story; may be nil
}

// given is a reward from its client's view.
type given struct {
	app          int
	user, key    string
	amount       money.USD
	symbol       string
	id           string
	acknowledged bool
	void         bool   // refused, not recorded
	fixed        string // its constant members in the first answer
	status       string // from the last answer
}

const (
	apps        = 3
	usersPerApp = 6
)

// symbols are the stocks that are given. The last one is not tradable.
func symbols() []string { return []string{"AAPL", "BRK.B", "KO", "NVDA", "PENNY", "HALT"} }

func catalog() []paper.Asset {
	dollars := func(n money.Price) money.Price { return n * 1_000_000_000 }
	return []paper.Asset{
		{Symbol: "AAPL", Name: "Apple", Exchange: "NASDAQ", Price: dollars(200)},
		{Symbol: "BRK.B", Name: "Berkshire", Exchange: "NYSE", Price: dollars(480)},
		{Symbol: "KO", Name: "Coca-Cola", Exchange: "NYSE", Price: dollars(70)},
		{Symbol: "NVDA", Name: "NVIDIA", Exchange: "NASDAQ", Price: dollars(180)},
		{Symbol: "PENNY", Name: "Penny", Exchange: "NASDAQ", Price: dollars(1) / 50},
		{Symbol: "HALT", Name: "Halted", Exchange: "NYSE", Price: dollars(10), NotTradable: true},
	}
}

// openWorld creates a world on a Monday at 10:00 in New York, with prices and hours read.
func openWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	time.Sleep(time.Until(time.Date(2026, 3, 16, 14, 0, 0, 0, time.UTC)))
	w := newWorld(t, seed, paper.USEquities, nil)
	w.pass(5*time.Second, time.Second)
	return w
}

// newWorld creates a world whose random choices follow from the seed.
func newWorld(t *testing.T, seed uint64, hours paper.Hours, firms *companies) *world {
	t.Helper()
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, seed)), source: rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}),
		log: slog.New(slog.DiscardHandler), sold: make(map[string]bool),
		firms: firms, symbols: make(map[string]string),
	}
	w.engine = &disk{Engine: shared.Engine(t)}
	var err error
	w.brokerage, err = paper.Open(t.Context(), ":memory:", paper.Options{
		Hours: hours, Catalog: append(catalog(), firms.catalog()...), Now: time.Now, Random: w.source, FaultSeed: seed, Control: true,
	})
	w.check(err)
	t.Cleanup(func() { w.check(w.brokerage.Close()) })
	w.operator = shared.Broker(w.brokerage.Transport())
	w.boot()
	w.populate()
	return w
}

// check fails on an error. Only check, ask and violate are helpers of the test: a failure shows
// the step that failed.
func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.logStory()
		w.t.Fatal(err)
	}
}

func (w *world) note(format string, args ...any) {
	line := time.Now().UTC().Format("Mon 2006-01-02 15:04:05.000 ") + fmt.Sprintf(format, args...)
	w.story = append(w.story, line)
	if w.listen != nil {
		w.listen(line)
	}
}

func (w *world) logStory() {
	w.t.Helper()
	const most = 60
	w.t.Logf("the story so far:\n%s", strings.Join(w.story[max(0, len(w.story)-most):], "\n"))
}

// boot starts the world's process.
func (w *world) boot() {
	w.store = shared.Operator(w.t, w.engine, time.Now, w.source)
	broker := shared.Broker(w.brokerage.Transport())
	w.market = market.New(broker, w.store, time.Now, w.log)
	w.check(w.market.Load(w.t.Context()))
	in, err := w.store.Installation(w.t.Context())
	w.check(err)
	brakes := shared.NoBrakes()
	brakes.SmallPoolWait = 10 * time.Minute
	w.worker = fulfillment.New(w.store, broker, w.market, fulfillment.Config{
		Holder: "the world's process", Exclusive: true, Prefix: "sr-" + in.ID + "-",
		Brakes: brakes, Window: time.Second, PollEvery: time.Second, LeaseTTL: 30 * time.Second,
	}, time.Now, w.log)
	recorder := intake.New(w.store, w.worker.Nudge)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); recorder.Run(ctx) }()
	w.t.Cleanup(func() { cancel(); <-done })
	w.handler = api.NewServer(api.Options{
		Service: rewards.NewService(w.store, recorder, w.market, time.Now), CursorKey: in.CursorKey, Log: w.log,
	}).Handler
}

func (w *world) populate() {
	var assets []rewards.Asset
	for _, a := range append(catalog(), w.firms.catalog()...) {
		assets = append(assets, rewards.Asset{Symbol: a.Symbol, Name: a.Name})
	}
	w.check(w.store.SeedAssets(w.t.Context(), assets))
	for i := range apps {
		secret, err := rewards.NewKeySecret(rewards.TestKeyPrefix, w.source)
		w.check(err)
		app, _, err := w.store.CreateApp(w.t.Context(), fmt.Sprint("app-", i), rewards.Key{Hash: rewards.HashKey(secret)})
		w.check(err)
		w.apps, w.keys, w.users = append(w.apps, app), append(w.keys, secret), append(w.users, nil)
		for u := range usersPerApp {
			var got struct{ User struct{ ID string } }
			w.ask(i, http.MethodPost, "/v1/users", fmt.Sprintf(`{"externalId":"user-%d"}`, u), 201, &got)
			w.users[i] = append(w.users[i], got.User.ID)
		}
	}
}

func (w *world) request(app int, method, path, body string) (status int, text []byte) {
	answer := w.serve(app, method, path, body)
	return answer.Code, answer.Body.Bytes()
}

func (w *world) serve(app int, method, path, body string) *httptest.ResponseRecorder {
	return serve(w.t.Context(), w.handler, w.keys[app], method, path, body)
}

// serve sends a request with a key to a handler.
func serve(ctx context.Context, handler http.Handler, key, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.Header.Set("X-Api-Key", key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer
}

// ask sends a request that must get the status, and decodes the answer.
func (w *world) ask(app int, method, path, body string, status int, into any) {
	w.t.Helper()
	got, text := w.request(app, method, path, body)
	if got != status {
		w.logStory()
		w.t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	w.check(json.Unmarshal(text, into))
}

func (w *world) give(app int, user, symbol string, amount money.USD) *given {
	w.nextKey++
	g := &given{app: app, user: user, key: fmt.Sprintf("key-%06d", w.nextKey), amount: amount, symbol: symbol}
	w.given = append(w.given, g)
	w.send(g)
	return g
}

// send sends a reward, for the first time or again, and checks the answer.
func (w *world) send(g *given) {
	status, text := w.request(g.app, http.MethodPost, "/v1/rewards", bodyOf(g))
	if status == http.StatusServiceUnavailable {
		w.note("%s: 503", g.key)
		return // it may be recorded: the client retries
	}
	var got struct {
		Reward           struct{ ID string }
		IdempotentReplay bool
	}
	if err := json.Unmarshal(text, &got); err != nil || status != 201 && status != 200 {
		w.logStory()
		w.t.Fatalf("give: %d %s", status, text)
	}
	if g.acknowledged && (status != 200 || got.Reward.ID != g.id || !got.IdempotentReplay) {
		w.t.Errorf("the reward %s of the key %s was acknowledged as %s before", got.Reward.ID, g.key, g.id)
	}
	g.id, g.acknowledged = got.Reward.ID, true
}

type reward struct {
	ID, Status, AssetSymbol, UserID string
	AmountUSD                       json.Number `json:"amountUsd"`
	FailureReason                   *string
}

func (w *world) look(g *given) reward {
	var got struct{ Reward reward }
	w.ask(g.app, http.MethodGet, "/v1/rewards/"+g.id, "", 200, &got)
	return got.Reward
}

// pricesEvery is how often prices are read; they are valid for a minute.
const pricesEvery = 15 * time.Second

// tick does everything that is due, then advances the time.
func (w *world) tick(pass time.Duration) {
	ctx := w.t.Context()
	if time.Since(w.priced) >= pricesEvery {
		w.priced = time.Now()
		_, _ = w.market.Clock(ctx) // it is retried
		_ = w.market.Refresh(ctx)
	}
	w.worker.Step(ctx)
	_, _ = w.store.SealSegment(ctx) // it is retried, as is the next step
	_, _ = w.store.MergeFilters(ctx)
	time.Sleep(pass)
}

func (w *world) pass(d, step time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		w.tick(min(step, time.Until(end)))
	}
}
