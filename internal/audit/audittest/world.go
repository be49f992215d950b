// Package audittest has what the tests of the audit share: stores on both engines, a
// history with every kind of row, and copies of it that a test can damage.
package audittest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// World writes a store through package store. Its clock moves with each step, and a
// failed step ends the test.
type World struct {
	*store.Operator
	Where   string // the path of the SQLite file, or the URL of the PostgreSQL database
	Engine  store.Engine
	Now     time.Time
	Lease   rewards.Lease
	Catalog map[string]rewards.Asset
	IDs     map[string][16]byte // of what was written, by the names that History uses
	tb      testing.TB
}

// sealEvery is the number of rewards in a segment, so that a history has several.
const sealEvery = 7

// NewWorld returns a store without rewards: a catalog and a lease.
func NewWorld(tb testing.TB, in Place) *World {
	tb.Helper()
	where := in(tb)
	w := &World{
		tb: tb, Where: where, Engine: OpenEngine(tb, where), Catalog: make(map[string]rewards.Asset), IDs: make(map[string][16]byte),
		Now: time.Date(2026, 3, 2, 15, 0, 0, 123_456_000, time.UTC),
	}
	s, err := store.New(tb.Context(), w.Engine, func() time.Time { return w.Now },
		rand.NewChaCha8([32]byte{1}))
	w.Check(err)
	s.SealEvery(sealEvery)
	w.Operator = s.As(rewards.Operator{Actor: "tester@audittest", Command: "test"})
	tb.Cleanup(func() { w.Check(w.Close()) })
	var seed []rewards.Asset
	for _, symbol := range []string{"AAPL", "BRK.A", "KO", "MSFT", "NVDA", "TSLA", "XOM"} {
		seed = append(seed, rewards.Asset{Symbol: symbol, Name: symbol + " Inc."})
	}
	w.Check(w.SeedAssets(tb.Context(), seed))
	_, err = w.Installation(tb.Context())
	w.Check(err)
	stored, err := w.Assets(tb.Context())
	w.Check(err)
	for _, a := range stored {
		w.Catalog[a.Symbol] = a
	}
	w.Lease, err = w.TakeLease(tb.Context(), "test", time.Hour, true)
	w.Check(err)
	return w
}

// Check ends the test when err is not nil.
func (w *World) Check(err error) {
	w.tb.Helper()
	Check(w.tb, err)
}

// App creates an app and its key.
func (w *World) App(name string) rewards.App {
	a, k, err := w.CreateApp(w.tb.Context(), name, rewards.Key{Hash: rewards.HashKey(name)})
	w.Check(err)
	w.IDs[name], w.IDs[name+"-key"] = a.ID, k.ID
	return a
}

// User creates a user of an app.
func (w *World) User(app rewards.App, name, email, externalID string) rewards.User {
	u, err := w.CreateUser(w.tb.Context(), rewards.User{AppID: app.ID, Email: email, ExternalID: externalID})
	w.Check(err)
	w.IDs[name] = u.ID
	return u
}

// Give records a reward as the API does. The name is its idempotency key.
func (w *World) Give(name string, u rewards.User, symbol string, amount money.USD, source, metadata string) {
	w.Now = w.Now.Add(1500 * time.Microsecond)
	r := rewards.NewReward{
		AppID: u.AppID, UserID: u.ID, IdempotencyKey: name, Amount: amount,
		Symbol: symbol, Source: source, Metadata: metadata, AssetID: w.Catalog[symbol].ID,
	}
	canonical := jsontext.Value(metadata)
	if metadata != "" {
		w.Check(canonical.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)))
	}
	r.Fingerprint = rewards.NewFingerprint(r, string(canonical))
	outcomes, err := w.RecordRewards(w.tb.Context(), []rewards.NewReward{r})
	w.Check(err)
	if outcomes[0].Verdict != rewards.Created {
		w.tb.Fatalf("verdict of %s: got %d, want created", name, outcomes[0].Verdict)
	}
	w.IDs[name] = outcomes[0].Reward.ID
}

// Plan plans an order for the pool of a symbol.
func (w *World) Plan(name, symbol string) rewards.Order { return w.planWith(name, symbol, w.limits()) }

func (w *World) limits() rewards.PlanLimits {
	return rewards.PlanLimits{
		MaxNotional: rewards.LowestMaxNotional, DailyLeft: 1 << 60,
		HouseLeft: 1 << 60, HousePerApp: 1 << 60, TopUp: true,
	}
}

func (w *World) planWith(name, symbol string, l rewards.PlanLimits) rewards.Order {
	w.Now = w.Now.Add(time.Second)
	o, hold, err := w.PlanOrder(w.tb.Context(), w.Lease, rewards.PlanRequest{
		Asset: w.Catalog[symbol], ClientOrderIDPrefix: "sr-test-", Limits: l,
	})
	w.Check(err)
	if hold != rewards.NoHold {
		w.tb.Fatalf("hold of %s: got %d, want an order", symbol, hold)
	}
	w.IDs[name] = o.ID
	return o
}

// Send counts the first attempt to submit an order.
func (w *World) Send(o rewards.Order) rewards.Order {
	w.Now = w.Now.Add(time.Second)
	o, err := w.BeginAttempt(w.tb.Context(), w.Lease, o, w.Now.Add(time.Second), w.Now.Add(time.Hour))
	w.Check(err)
	return o
}

// Merge merges a state of the broker into an order, as package fulfillment does.
func (w *World) Merge(o rewards.Order, status string, qty money.Shares, price money.Price) rewards.Order {
	w.Now = w.Now.Add(time.Second)
	b := rewards.BrokerOrder{
		ID: "b-" + o.ClientOrderID, ClientOrderID: o.ClientOrderID, Symbol: o.Symbol, Side: "buy", Status: status,
		Notional: o.Notional, FilledQty: qty, FilledAvgPrice: price,
	}
	if qty > 0 {
		b.FilledAt = w.Now.Add(-100 * time.Millisecond)
	}
	merged, err := o.Merge(b, w.Now)
	w.Check(err)
	merged.Reason = ""
	w.Check(w.SaveOrder(w.tb.Context(), w.Lease, o.State, merged))
	return merged
}

// Settle settles an order.
func (w *World) Settle(o rewards.Order) {
	w.Now = w.Now.Add(31 * time.Second)
	w.settle(rewards.OrderEnd{From: o.State, Order: o, Book: w.book(o)})
}

func (w *World) settle(end rewards.OrderEnd) {
	_, err := w.SettleOrders(w.tb.Context(), w.Lease, end)
	w.Check(err)
}

func (w *World) book(o rewards.Order) rewards.Booker {
	return func(claims []rewards.Claim, house money.Shares) (rewards.Settlement, error) {
		return rewards.Settle(o, claims, house, w.Now)
	}
}

// Fill plans, sends, fills and settles an order for the pool of a symbol.
func (w *World) Fill(name, symbol string, price money.Price) {
	w.settleFilled(w.Plan(name, symbol), price)
}

func (w *World) settleFilled(o rewards.Order, price money.Price) {
	qty, err := money.SharesFor(o.Notional, price)
	w.Check(err)
	o = w.Merge(w.Send(o), "filled", qty, price)
	w.Settle(o)
}

// Refuse settles an order that the broker refused.
func (w *World) Refuse(o rewards.Order, reason string) {
	o.Reason = reason
	refuse := func(claims []rewards.Claim, _ money.Shares) (rewards.Settlement, error) {
		return rewards.Refuse(claims, reason)
	}
	w.settle(rewards.OrderEnd{From: o.State, Order: o, Book: refuse})
}

// Quarantine quarantines an order.
func (w *World) Quarantine(o rewards.Order, reason string) rewards.Order {
	from := o.State
	o.State, o.Reason = rewards.OrderQuarantined, reason
	w.Check(w.SaveOrder(w.tb.Context(), w.Lease, from, o))
	return o
}

// Resolve resolves an order as an operator does, and settles it.
func (w *World) Resolve(o rewards.Order, qty money.Shares, price money.Price) {
	w.Now = w.Now.Add(time.Minute)
	w.Check(w.ResolveOrder(w.tb.Context(), o.ID, rewards.Resolution{FilledQty: qty, Price: price, Reason: "the broker's desk"}))
	resolved, err := w.Order(w.tb.Context(), o.ID)
	w.Check(err)
	w.Settle(resolved)
}

// decisions makes an operator's other decisions: it suspends and limits apps, revokes and rotates
// keys, disables an asset, pauses and resumes. A corporate action is announced before.
func (w *World) decisions() {
	at := w.Now
	w.Announce("split-of-brk", rewards.Terms{Type: "forward_split", Symbol: "BRK.A", OldRate: "1", NewRate: "2"})
	w.Now = at // the action is not due
	suspended := w.App("suspended")
	_, err := w.EraseUser(w.tb.Context(), w.User(suspended, "gone", "gone@example.com", "gone").ID)
	w.Check(err)
	_, err = w.SetSuspended(w.tb.Context(), "suspended", true)
	w.Check(err)
	_, err = w.SetLimits(w.tb.Context(), "second", func(l rewards.Limits) rewards.Limits {
		l.RequestsPerSecond = 1000
		return l
	})
	w.Check(err)
	for _, name := range []string{"revoked-key", "expiring-key"} {
		k, err := w.CreateKey(w.tb.Context(), "first", rewards.Key{Hash: rewards.HashKey(name), Label: name})
		w.Check(err)
		w.IDs[name] = k.ID
	}
	w.Check(w.RevokeKey(w.tb.Context(), w.IDs["revoked-key"]))
	rotated := rewards.Key{Hash: rewards.HashKey("rotated")}
	_, err = w.RotateKey(w.tb.Context(), w.IDs["expiring-key"], rotated, w.Now.Add(time.Hour))
	w.Check(err)
	for _, b := range []rewards.Budget{
		{Name: "total", Per: rewards.PerApp, Period: rewards.PeriodTotal},
		{Name: "gone", Per: rewards.PerApp, Period: rewards.PeriodDay},
		{Name: "users", Per: rewards.PerUser, Period: rewards.PeriodMonth},
	} {
		b.Limit = 1_000_000 * dollar
		_, err = w.SetBudget(w.tb.Context(), "first", b)
		w.Check(err)
	}
	_, err = w.RemoveBudget(w.tb.Context(), "first", "gone")
	w.Check(err)
	w.Check(w.SetEnabled(w.tb.Context(), "XOM", false))
	w.Check(w.SetPaused(w.tb.Context(), "looking at prices"))
	w.Check(w.SetPaused(w.tb.Context(), ""))
}
