package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

// cutWorld is a store that reaches its database through a proxy, and a direct connection.
type cutWorld struct {
	*storetest.World
	proxy *pgtest.Proxy
	lease rewards.Lease
	asset rewards.Asset
	aside *pgx.Conn
	n     int
}

func newCutWorld(t *testing.T, c *pgtest.Cluster) *cutWorld {
	t.Helper()
	direct, proxy := database(t, c), pgtest.StartProxy(t, c)
	url := strings.Replace(direct, fmt.Sprint(c.Port), fmt.Sprint(proxy.Port), 1)
	w := &cutWorld{
		World: storetest.NewWorld(t, open(t, url, postgres.Options{Connections: 1})),
		proxy: proxy, aside: connect(t, direct),
	}
	lease, err := w.TakeLease(t.Context(), "tester", time.Hour, false)
	check(t, err)
	w.lease, w.asset = lease, w.Asset(t, "AAPL")
	return w
}

// sees checks the number that a query on the direct connection returns.
func (w *cutWorld) sees(t *testing.T, want int64, query string, args ...any) {
	t.Helper()
	var got int64
	if err := w.aside.QueryRow(t.Context(), query, args...).Scan(&got); err != nil || got != want {
		t.Errorf("%s %v: %d, %v; want %d", query, args, got, err, want)
	}
}

// tryAgain retries a call until it succeeds. Its errors must say that it can be retried. It
// reports whether a call failed.
func tryAgain(t *testing.T, call func() error) (cut bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		err := call()
		if err == nil {
			return cut
		}
		if rewards.CodeOf(err) != rewards.CodeUnavailable {
			t.Fatalf("got %v, want CodeUnavailable", err)
		}
		if cut = true; time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// lifecycle has the steps of a reward's life. Each prepares a case and returns the action during
// which the connection is cut, with its checks.
var lifecycle = map[string]func(*testing.T, *cutWorld) func(*testing.T){
	"RecordRewards": cutRecord, "RecordNewReward": cutRecordNew, "CreateUser": cutUser, "PlanOrder": cutPlan, "BeginAttempt": cutAttempt,
	"SettleOrders": cutSettle,
}

// Whichever message, in either direction, is the last to get through: a retry of the call gives
// the right outcome. Without -long every third message is.
func TestCutAtEveryMessage(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	for name, prepare := range lifecycle {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCutWorld(t, c)
			act := prepare(t, w)
			w.proxy.Arm(pgtest.Cut{})
			act(t)
			sent := map[pgtest.Side]int{
				pgtest.Client: w.proxy.Counted(pgtest.Client), pgtest.Server: w.proxy.Counted(pgtest.Server),
			}
			if sent[pgtest.Client] < 5 || sent[pgtest.Server] < 5 {
				t.Fatalf("only %v messages", sent)
			}
			cuts, places := 0, 0
			for from, messages := range sent {
				for n := 1; n <= messages; n++ {
					for _, after := range []bool{false, true} {
						if after && from == pgtest.Server && n < messages {
							continue // the same as before the next one
						}
						places++
						if places%3 > 0 && !*long {
							continue
						}
						cut := pgtest.Cut{From: from, N: n, After: after}
						act := prepare(t, w)
						w.proxy.Arm(cut)
						act(t)
						if t.Failed() {
							t.Fatalf("after %+v of %d", cut, messages)
						}
						w.heal(t)
						cuts++
					}
				}
			}
			t.Logf("%d cuts", cuts)
		})
	}
}

// A read whose connection is lost before the first row succeeds on another one.
func TestACutReadIsRunAgain(t *testing.T) {
	t.Parallel()
	w := newCutWorld(t, cluster(t))
	read := func(cut pgtest.Cut) {
		t.Helper()
		w.proxy.Arm(cut)
		if orders, err := w.LiveOrders(t.Context()); err != nil || len(orders) > 0 {
			t.Errorf("after %+v: %v, %v", cut, orders, err)
		}
	}
	read(pgtest.Cut{})
	for _, from := range []pgtest.Side{pgtest.Client, pgtest.Server} {
		read(pgtest.Cut{})
		messages := w.proxy.Counted(from)
		for n := 1; n <= messages; n++ {
			read(pgtest.Cut{From: from, N: n})
			w.heal(t)
		}
	}
}

// heal makes the pool notice that its connection was cut after the last answer.
func (w *cutWorld) heal(t *testing.T) {
	t.Helper()
	w.proxy.Pass()
	tryAgain(t, func() error {
		_, err := w.LiveOrders(t.Context())
		return err
	})
}

func cutRecord(t *testing.T, w *cutWorld) func(*testing.T) {
	t.Helper()
	old, r := w.Request(t, 1_000_000), w.Request(t, 2_500_000)
	_, err := w.RecordRewards(t.Context(), []rewards.NewReward{old})
	check(t, err)
	return func(t *testing.T) {
		t.Helper()
		var got []rewards.Outcome
		cut := tryAgain(t, func() (err error) {
			got, err = w.RecordRewards(t.Context(), []rewards.NewReward{r, old})
			return err
		})
		if got[1].Verdict != rewards.Replay || !cut && got[0].Verdict != rewards.Created {
			t.Errorf("verdicts %d and %d, cut: %t", got[0].Verdict, got[1].Verdict, cut)
		}
		for key, o := range map[string]rewards.Outcome{r.IdempotencyKey: got[0], old.IdempotencyKey: got[1]} {
			w.sees(t, 1, `select count(*) from rewards where idempotency_key = $1 and id = $2`, key, o.Reward.ID[:])
			w.sees(t, 1, `select count(*) from rewards where idempotency_key = $1`, key)
		}
	}
}

// cutRecordNew cuts an exchange that stores a reward and commits it. The outcome is then unknown, and
// the store finds it out. For a while afterwards the engine commits in a separate exchange.
func cutRecordNew(t *testing.T, w *cutWorld) func(*testing.T) {
	t.Helper()
	const rest = 10
	for range rest {
		w.Give(t, 1_000_000)
	}
	r := w.Request(t, 2_500_000)
	return func(t *testing.T) {
		t.Helper()
		got, err := w.RecordRewards(t.Context(), []rewards.NewReward{r})
		check(t, err)
		if got[0].Verdict != rewards.Created {
			t.Errorf("verdict %d, want a new reward", got[0].Verdict)
		}
		w.sees(t, 1, `select count(*) from rewards where idempotency_key = $1 and id = $2`, r.IdempotencyKey, got[0].Reward.ID[:])
	}
}

func cutUser(t *testing.T, w *cutWorld) func(*testing.T) {
	t.Helper()
	w.n++
	u := rewards.User{AppID: w.App.ID, ExternalID: fmt.Sprint("cut-", w.n), Email: fmt.Sprintf("cut-%d@example.com", w.n)}
	return func(t *testing.T) {
		t.Helper()
		var id rewards.UserID
		calls := 0
		tryAgain(t, func() error {
			calls++
			created, err := w.CreateUser(t.Context(), u)
			id = created.ID
			if e, ok := errors.AsType[*rewards.Error](err); ok && e.Code == rewards.CodeConflict && calls > 1 {
				details, _ := e.Details.(rewards.DuplicateDetails)
				id, err = details.UserID, nil
			}
			return err
		})
		w.sees(t, 1, `select count(*) from users where external_id = $1 and id = $2`, u.ExternalID, id[:])
		w.sees(t, 1, `select count(*) from users where external_id = $1`, u.ExternalID)
	}
}

// planned plans an order, as the worker does after an error: it reads the live orders first.
func (w *cutWorld) planned(t *testing.T) (o rewards.Order) {
	t.Helper()
	tryAgain(t, func() error {
		live, err := w.LiveOrders(t.Context())
		if err != nil || len(live) > 0 {
			o = append(live, o)[0]
			return err
		}
		var hold rewards.Hold
		o, hold, err = w.PlanOrder(t.Context(), w.lease, rewards.PlanRequest{
			Asset: w.asset, Limits: storetest.Limits(), ClientOrderIDPrefix: "sr-test-",
		})
		if err == nil && hold != rewards.NoHold { // a cut commit ended after the orders were read
			return rewards.Unavailable(fmt.Sprint("held: ", hold), nil)
		}
		return err
	})
	return o
}

// finish settles the order, so that the next case starts without one.
func (w *cutWorld) finish(t *testing.T, o rewards.Order) {
	t.Helper()
	check(t, w.settled(t, w.Accept(t, o)))
}

const dollar200 money.Price = 200_000_000_000

// settled settles an order of two rewards of $2.50 and $1.
func (w *cutWorld) settled(t *testing.T, o rewards.Order) error {
	t.Helper()
	return w.Settle(t, o, "filled", 17_500_001, dollar200)
}

func cutPlan(t *testing.T, w *cutWorld) func(*testing.T) {
	t.Helper()
	first, second := w.Give(t, 2_500_000), w.Give(t, 1_000_000)
	return func(t *testing.T) {
		t.Helper()
		o := w.planned(t)
		w.sees(t, 1, `select count(*) from orders where state < 6`)
		w.sees(t, 3_500_000, `select coalesce(sum(amount), 0) from order_rewards where order_id = $1`, o.ID[:])
		w.sees(t, 2, `select count(*) from order_rewards where reward_id in ($1, $2)`, first.ID[:], second.ID[:])
		w.sees(t, 2, `select count(*) from open_rewards where status = 2 and waiting = 0 and id in ($1, $2)`, first.ID[:], second.ID[:])
		w.heal(t)
		w.finish(t, o)
		w.sees(t, 0, `select (select coalesce(sum(notional), 0) from spending) - (select coalesce(sum(notional), 0) from orders)`)
	}
}

func cutAttempt(t *testing.T, w *cutWorld) func(*testing.T) {
	t.Helper()
	w.Give(t, 2_500_000)
	w.Give(t, 1_000_000)
	planned := w.Plan(t)
	return func(t *testing.T) {
		t.Helper()
		o := planned
		cut := tryAgain(t, func() error {
			next, err := w.BeginAttempt(t.Context(), w.lease, o, w.Now(), w.Now().Add(time.Hour))
			if err == nil {
				o = next
				return nil
			}
			if live, readErr := w.LiveOrders(t.Context()); readErr == nil {
				o = live[0] // as the worker reads it next
			}
			if errors.Is(err, rewards.ErrStale) { // a cut commit ended after the order was read
				return rewards.Unavailable("read again", err)
			}
			return err
		})
		if o.State != rewards.OrderSubmitted || o.Attempts < 1 || o.Attempts > 2 || !cut && o.Attempts != 1 {
			t.Errorf("cut: %t, the order is %+v", cut, o)
		}
		w.sees(t, int64(o.Attempts), `select attempts from orders where id = $1`, o.ID[:])
		w.heal(t)
		w.finish(t, o)
	}
}

func cutSettle(t *testing.T, w *cutWorld) func(*testing.T) {
	t.Helper()
	first := w.Give(t, 2_500_000)
	w.Give(t, 1_000_000)
	o := w.Open(t)
	return func(t *testing.T) {
		t.Helper()
		var held int64
		check(t, w.aside.QueryRow(t.Context(), `select coalesce(sum(quantity), 0) from holdings`).Scan(&held))
		failed := false
		tryAgain(t, func() error {
			err := w.settled(t, o)
			if errors.Is(err, rewards.ErrStale) && failed {
				return nil // a commit with an unknown outcome booked it
			}
			failed = failed || err != nil
			return err
		})
		w.sees(t, held+17_500_000, `select sum(quantity) from holdings`)
		w.sees(t, 2, `select count(*) from allocations where order_id = $1`, o.ID[:])
		w.sees(t, 17_500_000, `select sum(shares) from allocations where order_id = $1`, o.ID[:])
		w.sees(t, 1, `select house_shares from orders where id = $1 and state = 6`, o.ID[:])
		w.sees(t, 1, `select count(*) from allocations where reward_id = $1`, first.ID[:])
		w.sees(t, 0, `select count(*) from rewards where status <> 3`)
	}
}
