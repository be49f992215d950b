package audit_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// world is books written by the real store, with a clock that the test moves.
type world struct {
	*store.Store
	t      *testing.T
	where  string // the path of the file, or the URL of the database
	now    time.Time
	lease  rewards.Lease
	assets map[string]rewards.Asset
	ids    map[string][16]byte // of what was written, by a name of the test's
}

func newWorld(t *testing.T, in place) *world {
	t.Helper()
	w := &world{
		t: t, where: in(t), assets: make(map[string]rewards.Asset),
		ids: make(map[string][16]byte),
		now: time.Date(2026, 3, 2, 15, 0, 0, 123_456_000, time.UTC),
	}
	var err error
	w.Store, err = store.New(t.Context(), openEngine(t, w.where), func() time.Time { return w.now }, rand.NewChaCha8([32]byte{1}))
	w.check(err)
	t.Cleanup(func() { w.check(w.Close()) })
	var seed []rewards.Asset
	for _, symbol := range []string{"AAPL", "BRK.A", "KO", "MSFT", "NVDA", "TSLA", "XOM"} {
		seed = append(seed, rewards.Asset{Symbol: symbol, Name: symbol + " Inc."})
	}
	w.check(w.SeedAssets(t.Context(), seed))
	stored, err := w.Assets(t.Context())
	w.check(err)
	for _, a := range stored {
		w.assets[a.Symbol] = a
	}
	w.lease, err = w.TakeLease(t.Context(), "test", time.Hour, true)
	w.check(err)
	return w
}

func (w *world) check(err error) {
	w.t.Helper()
	check(w.t, err)
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func (w *world) app(name string) rewards.App {
	w.t.Helper()
	a, k, err := w.CreateApp(w.t.Context(), name, rewards.Key{Hash: rewards.HashKey(name)})
	w.check(err)
	w.ids[name], w.ids[name+"-key"] = a.ID, k.ID
	return a
}

func (w *world) user(app rewards.App, name, email, externalID string) rewards.User {
	w.t.Helper()
	u, err := w.CreateUser(w.t.Context(), rewards.User{AppID: app.ID, Email: email, ExternalID: externalID})
	w.check(err)
	w.ids[name] = u.ID
	return u
}

// give records a reward as the interface does. Its name is its idempotency key.
func (w *world) give(name string, u rewards.User, symbol string, amount money.USD, source, metadata string) {
	w.t.Helper()
	w.now = w.now.Add(1500 * time.Microsecond)
	r := rewards.NewReward{
		AppID: u.AppID, UserID: u.ID, IdempotencyKey: name, Amount: amount,
		Symbol: symbol, Source: source, Metadata: metadata, AssetID: w.assets[symbol].ID,
	}
	canonical := jsontext.Value(metadata)
	if metadata != "" {
		w.check(canonical.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)))
	}
	r.Fingerprint = rewards.NewFingerprint(r, string(canonical))
	outcomes, err := w.RecordRewards(w.t.Context(), []rewards.NewReward{r})
	w.check(err)
	if outcomes[0].Verdict != rewards.Created {
		w.t.Fatalf("verdict %d, want created", outcomes[0].Verdict)
	}
	w.ids[name] = outcomes[0].Reward.ID
}

// plan makes an order of what waits for the symbol.
func (w *world) plan(name, symbol string) rewards.Order {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	o, hold, err := w.PlanOrder(w.t.Context(), w.lease, rewards.PlanRequest{
		Asset: w.assets[symbol], ClientOrderIDPrefix: "sr-test-", Limits: rewards.PlanLimits{
			MaxNotional: rewards.LeastMaxNotional, DailyLeft: 1 << 60, HouseLeft: 1 << 60, TopUp: true,
		},
	})
	w.check(err)
	if hold != rewards.NoHold {
		w.t.Fatalf("hold %d of %s, want an order", hold, symbol)
	}
	w.ids[name] = o.ID
	return o
}

// send counts the first attempt.
func (w *world) send(o rewards.Order) rewards.Order {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	o, err := w.BeginAttempt(w.t.Context(), w.lease, o, w.now.Add(time.Second), w.now.Add(time.Hour))
	w.check(err)
	return o
}

// merge takes the broker's word, as package fulfillment does.
func (w *world) merge(o rewards.Order, status string, qty money.Shares, price money.Price) rewards.Order {
	w.t.Helper()
	w.now = w.now.Add(time.Second)
	b := rewards.BrokerOrder{
		ID: "b-" + o.ClientOrderID, ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Side: "buy", Status: status,
		Notional: o.Notional, FilledQty: qty, FilledAvgPrice: price,
	}
	if qty > 0 {
		b.FilledAt = w.now.Add(-100 * time.Millisecond)
	}
	merged, err := o.Merge(b, w.now)
	w.check(err)
	merged.Reason = ""
	w.check(w.SaveOrder(w.t.Context(), w.lease, o.State, merged))
	return merged
}

// settle books the end of an order.
func (w *world) settle(o rewards.Order) {
	w.t.Helper()
	w.now = w.now.Add(31 * time.Second)
	w.check(w.SettleOrder(w.t.Context(), w.lease, o.State, o,
		func(claims []rewards.Claim) (rewards.Settlement, error) { return rewards.Settle(o, claims, w.now) }))
}

// fill plans, sends, fills and books what waits for the symbol.
func (w *world) fill(name, symbol string, price money.Price) {
	w.t.Helper()
	o := w.plan(name, symbol)
	qty, err := money.SharesFor(o.Notional, price)
	w.check(err)
	o = w.merge(w.send(o), "filled", qty, price)
	w.settle(o)
}

func (w *world) refuse(o rewards.Order, reason string) {
	w.t.Helper()
	o.Reason = reason
	w.check(w.SettleOrder(w.t.Context(), w.lease, o.State, o,
		func(claims []rewards.Claim) (rewards.Settlement, error) { return rewards.Refuse(claims, reason) }))
}

// quarantine stops an order for an operator.
func (w *world) quarantine(o rewards.Order, reason string) rewards.Order {
	w.t.Helper()
	from := o.State
	o.State, o.Reason = rewards.OrderQuarantined, reason
	w.check(w.SaveOrder(w.t.Context(), w.lease, from, o))
	return o
}

// resolve books an operator's decision.
func (w *world) resolve(o rewards.Order, qty money.Shares, price money.Price) {
	w.t.Helper()
	w.now = w.now.Add(time.Minute)
	w.check(w.ResolveOrder(w.t.Context(), o.ID, rewards.Resolution{FilledQty: qty, Price: price, Reason: "the broker's desk"}))
	resolved, err := w.Order(w.t.Context(), o.ID)
	w.check(err)
	w.settle(resolved)
}
