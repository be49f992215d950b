// Package storetest is the contract of an engine of package store. Each engine's test
// calls Run, which uses the engine only through a Store.
package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// Opener opens an empty engine, and closes it when the test ends.
type Opener func(t *testing.T) store.Engine

// Run runs the contract.
func Run(t *testing.T, open Opener) {
	t.Helper()
	RunSome(t, open, func(string) bool { return true })
}

// RunSome runs the tests of the contract whose names are chosen.
func RunSome(t *testing.T, open Opener, chosen func(name string) bool) {
	t.Helper()
	for _, tests := range []map[string]func(*testing.T, *World){
		contract(), leaseContract(), actionContract(), sweepContract(), eventContract(), budgetContract(),
		reversalContract(), webhookContract(), memberContract(), keyContract(), turnContract(),
	} {
		for name, test := range tests {
			if !chosen(name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, NewWorld(t, open(t)))
			})
		}
	}
}

// contract are the tests of everything but corporate actions.
func contract() map[string]func(*testing.T, *World) {
	return map[string]func(*testing.T, *World){
		"AppsAndKeys":            testAppsAndKeys,
		"KeyRotation":            testKeyRotation,
		"UsersAreUniqueInTheApp": testUsers,
		"UsersListed":            testUserPages,
		"UsersAtOnce":            testUsersAtOnce,
		"UserBatch":              testUserBatch,
		"UserPoison":             testUserPoison,
		"UserChanges":            testUserChanges,
		"UserErased":             testErase,
		"UserErasedMeanwhile":    testEraseDuringChanges,
		"RecordDecidesInOrder":   testVerdicts,
		"RecordBatchSemantics":   testBatch,
		"RecordPoisonRow":        testPoison,
		"RecordAtOnce":           testRecordAtOnce,
		"RewardsByEveryFilter":   testFilterCombinations,
		"RewardsByTime":          testFiltersByTime,
		"RewardsOfLongLists":     testLongListsOfUsers,
		"RewardsByKey":           testFilterByKey,
		"RewardsAtAGlance":       testGlance,
		"Arrivals":               testArrivals,
		"Tenancy":                testTenancy,
		"PlanFreezesMembers":     testPlan,
		"OrdersListed":           testOrderPages,
		"PlanHolds":              testPlanHolds,
		"Cancel":                 testCancel,
		"Waits":                  testWaits,
		"PlanTopUps":             testTopUps,
		"SettleBooks":            testSettle,
		"SettleSplits":           testSplit,
		"Activity":               testActivity,
		"ActivityPages":          testActivityPages,
		"History":                testHistory,
		"Standstills":            testStandstills,
		"SettleOnce":             testSettleOnce,
		"SettleAllOrNone":        testSettleAllOrNone,
		"SettleAtMostTheAward":   testSettleAtMostTheAward,
		"SettleOverflow":         testSettleOverflow,
		"RefuseFails":            testRefuse,
		"TransitionsGuarded":     testTransitions,
		"Resolution":             testResolution,
		"Adoption":               testAdoption,
		"Snapshot":               testSnapshot,
		"SnapshotInPages":        testSnapshotPages,
		"Fence":                  testFence,
		"SchemaFence":            testSchemaFence,
		"LeaderFollows":          testLeaderFollows,
		"Control":                testControl,
		"OlderFingerprints":      testOlderFingerprints,
		"OperatorLog":            testOperatorLog,
		"OperatorLogIsKept":      testOperatorLogIsKept,
		"OperatorLogBegins":      testOperatorLogBegins,
		"OperatorsAtOnce":        testOperatorsAtOnce,
		"Overview":               testOverview,
		"CheckWrites":            testCheckWrites,
		"UnknownErrors":          testUnknownErrors,
		"Conflicts":              testConflicts,
		"Assets":                 testAssets,
		"Sync":                   testSync,
		"RenamedOrders":          testRename,
		"AdoptRenamed":           testAdoptRenamed,
		"Quotes":                 testQuotes,
		"ReadsEndWithRequests":   testInterruption,
		"Pins":                   testPins,
		"AccountMode":            testAccountMode,
		"IDsGrowAcrossReopening": testReopen,
	}
}

// World is a store with a clock that the test advances, an app and a few users.
type World struct {
	*store.Operator
	engine store.Engine
	now    atomic.Int64 // microseconds
	finer  atomic.Int64 // nanoseconds of the time, which the store cuts off
	App    rewards.App
	Users  []rewards.User
	lease  rewards.Lease
	opened byte // how often
	keys   atomic.Int64
}

// start is the initial time of every world.
const start = 1_790_000_000_000_000 // 2026-09-21, in microseconds

// SegmentSize is the number of rewards in a segment, so that every test seals some.
const SegmentSize = 8

// NewWorld sets up a world on an engine, with the assets AAPL, KO and TSLA.
func NewWorld(t *testing.T, engine store.Engine) *World {
	t.Helper()
	w := &World{engine: engine}
	w.now.Store(start)
	w.reopen(t)
	assets := []rewards.Asset{
		{Symbol: "AAPL", Name: "Apple"}, {Symbol: "KO", Name: "Coca-Cola"}, {Symbol: "TSLA", Name: "Tesla"},
	}
	check(t, w.SeedAssets(t.Context(), assets))
	w.App = w.NewApp(t, "first")
	for i := range 3 {
		w.Users = append(w.Users, w.NewUser(t, w.App.ID, fmt.Sprint("user-", i)))
	}
	lease, err := w.TakeLease(t.Context(), "tester", time.Hour, false)
	check(t, err)
	w.lease = lease
	return w
}

// Now returns the world's time.
func (w *World) Now() time.Time {
	return time.UnixMicro(w.now.Load()).Add(time.Duration(w.finer.Load())).UTC()
}

// Advance advances the world's time.
func (w *World) Advance(d time.Duration) { w.now.Add(d.Microseconds()) }

// reopen makes a new store on the same engine, as a restart does.
func (w *World) reopen(t *testing.T) {
	t.Helper()
	w.opened++ // each process has its own randomness
	s, err := store.New(t.Context(), w.engine, w.Now, rand.NewChaCha8([32]byte{w.opened}))
	check(t, err)
	s.SealEvery(SegmentSize)
	w.Operator = s.As(rewards.Operator{Actor: "tester@storetest", Command: "test"})
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read returns what a method of the store reads.
func read[T any](t *testing.T, method func(context.Context) (T, error)) T {
	t.Helper()
	got, err := method(t.Context())
	check(t, err)
	return got
}

// failure returns only the error of a call.
func failure[T any](_ T, err error) error { return err }

// wantEqual reports how got differs from want.
func wantEqual[T any](t *testing.T, what string, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, append(options, fractions())...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// wantCode ends the test unless the error has the code.
func wantCode(t *testing.T, err error, want rewards.Code) {
	t.Helper()
	if err == nil || rewards.CodeOf(err) != want {
		t.Fatalf("got error %v, want one of code %d", err, want)
	}
}

// NewApp creates an app with a key.
func (w *World) NewApp(t *testing.T, name string) rewards.App {
	t.Helper()
	key := rewards.Key{Hash: rewards.HashKey("key of " + name)}
	app, _, err := w.CreateApp(t.Context(), name, key)
	check(t, err)
	return app
}

// NewUser creates a user with an external id.
func (w *World) NewUser(t *testing.T, app rewards.AppID, externalID string) rewards.User {
	t.Helper()
	u, err := w.CreateUser(t.Context(), rewards.User{AppID: app, ExternalID: externalID})
	check(t, err)
	return u
}

// Asset finds an asset by its symbol.
func (w *World) Asset(t *testing.T, symbol string) rewards.Asset {
	t.Helper()
	assets := read(t, w.Assets)
	for _, a := range assets {
		if a.Symbol == symbol {
			return a
		}
	}
	t.Fatalf("no asset %s", symbol)
	return rewards.Asset{}
}

// Request returns a valid award of AAPL to the first user, under a new key.
func (w *World) Request(t *testing.T, amount money.USD) rewards.NewReward {
	t.Helper()
	r := rewards.NewReward{
		AppID: w.App.ID, UserID: w.Users[0].ID, Amount: amount, Symbol: "AAPL",
		IdempotencyKey: fmt.Sprintf("key-%08d", w.keys.Add(1)), AssetID: w.Asset(t, "AAPL").ID,
	}
	r.Fingerprint = rewards.NewFingerprint(r, "")
	return r
}

// Give records a reward of AAPL.
func (w *World) Give(t *testing.T, amount money.USD) rewards.Reward {
	t.Helper()
	return w.record(t, w.Request(t, amount))
}

// record records an award and ends the test unless that creates a reward.
func (w *World) record(t *testing.T, r rewards.NewReward) rewards.Reward {
	t.Helper()
	outcomes, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
	check(t, err)
	if outcomes[0].Verdict != rewards.Created {
		t.Fatalf("verdict %d for %+v, want a new reward", outcomes[0].Verdict, r)
	}
	return outcomes[0].Reward
}

// Limits returns limits that never hold an order.
func Limits() rewards.PlanLimits {
	const plenty = 1 << 60
	return rewards.PlanLimits{MaxNotional: plenty, DailyLeft: plenty, HouseLeft: plenty, HousePerApp: plenty, TopUp: true}
}

// Plan plans an order of AAPL and ends the test if the pool is held.
func (w *World) Plan(t *testing.T) rewards.Order {
	t.Helper()
	o, hold, err := w.PlanOrder(t.Context(), w.lease, w.planRequest(t))
	check(t, err)
	if hold != rewards.NoHold {
		t.Fatalf("the pool is held: %d", hold)
	}
	return o
}

func (w *World) planRequest(t *testing.T) rewards.PlanRequest {
	t.Helper()
	return rewards.PlanRequest{Asset: w.Asset(t, "AAPL"), Limits: Limits(), ClientOrderIDPrefix: "sr-test-"}
}

// Open plans an order that the broker accepts.
func (w *World) Open(t *testing.T) rewards.Order {
	t.Helper()
	return w.Accept(t, w.Plan(t))
}

// Accept sends a planned order and stores that the broker accepted it.
func (w *World) Accept(t *testing.T, o rewards.Order) rewards.Order {
	t.Helper()
	if o.State == rewards.OrderPlanned {
		sent, err := w.BeginAttempt(t.Context(), w.lease, o, w.Now(), w.Now().Add(time.Hour))
		check(t, err)
		o = sent
	}
	o.State, o.BrokerID, o.BrokerStatus, o.NextAttemptAt = rewards.OrderOpen, "broker-"+o.ID.String(), "new", time.Time{}
	check(t, w.SaveOrder(t.Context(), w.lease, rewards.OrderSubmitted, o))
	return o
}

// Settle settles an order with a fill.
func (w *World) Settle(t *testing.T, o rewards.Order, status string, qty money.Shares, price money.Price) error {
	t.Helper()
	o.BrokerStatus, o.FilledQty, o.FilledAvgPrice, o.FilledAt = status, qty, price, w.Now()
	return w.settle(t, w.lease, rewards.OrderOpen, o)
}

// Fill stores an executed and a waiting reward, an alarm and a price.
func (w *World) Fill(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	check(t, failure(w.Installation(ctx)))
	w.Give(t, 5_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 25_000_000, dollar200))
	w.Give(t, 3_000_000)
	check(t, w.RaiseAlarm(ctx, "tested", "nothing is wrong"))
	check(t, w.SaveQuotes(ctx, []rewards.Quote{{AssetID: w.Asset(t, "AAPL").ID, Price: dollar200, ConfirmedAt: w.Now()}}))
}

// settle books the end of an order whose stored state is from.
func (w *World) settle(t *testing.T, l rewards.Lease, from rewards.OrderState, o rewards.Order) error {
	t.Helper()
	return failure(w.SettleOrders(t.Context(), l, rewards.OrderEnd{From: from, Order: o, Book: w.book(o)}))
}

func (w *World) book(o rewards.Order) rewards.Booker {
	return func(claims []rewards.Claim, house money.Shares) (rewards.Settlement, error) {
		return rewards.Settle(o, claims, house, w.Now())
	}
}

// reward reads the current state of a reward.
func (w *World) reward(t *testing.T, r rewards.Reward) rewards.Reward {
	t.Helper()
	got, err := w.Reward(t.Context(), r.AppID, r.ID)
	check(t, err)
	return got
}

// holding reads a user's holding of AAPL.
func (w *World) holding(t *testing.T, u rewards.User) rewards.Holding {
	t.Helper()
	list, err := w.Holdings(t.Context(), u.AppID, u.ID)
	check(t, err)
	aapl := w.Asset(t, "AAPL").ID
	for _, h := range list {
		if h.AssetID == aapl {
			return h
		}
	}
	return rewards.Holding{}
}

// all is a page for all items of a test.
func all[T any]() rewards.Page[T] { return rewards.Page[T]{Limit: 1000} }
