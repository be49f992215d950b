package linear

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// opsOfReversals is the number of requests of a history about reversals. It is judged as one whole.
const opsOfReversals = 36

func TestReversalsOnSQLite(t *testing.T) {
	t.Parallel()
	playReversals(t, sqliteEngines(t)...)
}

// Three of each, as in three processes, over one PostgreSQL database.
func TestReversalsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	playReversals(t, postgresEngines(t, 3)...)
}

// playReversals checks that concurrent reversals of an award, while it is ordered and bought, equal a
// sequential history.
func playReversals(t *testing.T, engines ...store.Engine) {
	t.Helper()
	s := newSite(t, engines...)
	books, err := store.New(t.Context(), engines[0], time.Now, rand.Reader)
	check(t, err)
	lease, err := books.TakeLease(t.Context(), "the worker", time.Hour, false)
	check(t, err)
	assets, err := books.Assets(t.Context())
	check(t, err)
	seen := map[string]int{}
	expected := []string{"200", "201", "409", "409 failed", "422", "ordered", "canceled", "pending", "completed"}
	missing := func(kind string) bool { return seen[kind] == 0 }
	for done := 0; !t.Failed() && (done < *operations || slices.ContainsFunc(expected, missing)); done += opsOfReversals {
		b := &backRound{
			purseRound: &purseRound{
				round: &round{t: t, site: s, key: s.newApp(), began: time.Now(), people: map[string][]string{}},
			},
			books: books, lease: lease, asset: assets[0], kinds: seen,
		}
		b.user = b.firstUser()
		b.award()
		var worker sync.WaitGroup
		worker.Go(b.work)
		b.everybody(b.client)
		worker.Wait()
		b.everybody(b.client) // it is bought, or canceled
		b.judge(pledges(), b.history)
	}
	t.Logf("answers: %v", seen)
}

// backRound is one history about the reversals of an award.
type backRound struct {
	*purseRound

	books  *store.Store
	lease  rewards.Lease
	asset  rewards.Asset
	reward string
	backs  [backKeys]string // ids in answers
	kinds  map[string]int
}

// award records the award of the history.
func (b *backRound) award() {
	var got struct{ Reward struct{ ID string } }
	status := b.send(mathrand.New(mathrand.NewPCG(1, 2)), http.MethodPost, "/v1/rewards", fmt.Sprintf(
		`{"userId":%q,"idempotencyKey":"the-award","amountUsd":%d,"assetSymbol":"AAPL"}`, b.user, awardDollars), &got)
	if b.reward = got.Reward.ID; status != http.StatusCreated {
		b.t.Fatalf("the award: %d", status)
	}
}

func (b *backRound) client(id int) {
	random := mathrand.New(mathrand.NewPCG(uint64(id), uint64(time.Now().UnixNano())))
	for range opsOfReversals / clients / 2 {
		key := random.IntN(backKeys)
		switch random.IntN(6) {
		case 0:
			b.read(id, random)
		case 1:
			b.mu.Lock()
			reversal := b.backs[key]
			b.mu.Unlock()
			if reversal != "" {
				b.record(id, readBack{key}, func() outcome { return b.readBack(random, reversal) })
			}
		default:
			in := takeBack{key, 1 + random.IntN(2)}
			if random.IntN(12) == 0 {
				in.dollars = 0
			}
			b.record(id, in, func() outcome { return b.takeBack(random, in) })
		}
	}
}

// read reads the award's status.
func (b *backRound) read(client int, random *mathrand.Rand) {
	b.record(client, readAward{}, func() outcome {
		var got struct{ Reward reward }
		status := b.send(random, http.MethodGet, "/v1/rewards/"+b.reward, "", &got)
		return outcome{status: status, award: got.Reward.Status}
	})
}

// record makes a request and notes when it began and ended.
func (b *backRound) record(client int, input any, request func() outcome) {
	b.recordAny(client, input, func() any {
		o := request()
		b.mu.Lock()
		defer b.mu.Unlock()
		kind := fmt.Sprint(o.status)
		switch _, posted := input.(takeBack); {
		case o.failed:
			kind += " failed"
		case posted && o.status == http.StatusCreated && o.completed && o.quantity == 0:
			b.kinds["canceled"]++
		case posted && o.status == http.StatusCreated && o.completed:
			b.kinds["completed"]++
		case posted && o.status == http.StatusCreated:
			b.kinds["pending"]++
		case o.award == "executing" && o.status == 0:
			kind = "ordered"
		}
		b.kinds[kind]++
		return o
	})
}

// reversal is a reversal in an answer.
type reversal struct {
	ID, Status string
	AmountUSD  int         `json:"amountUsd"`
	Quantity   json.Number `json:"quantity"`
}

func (b *backRound) part(r reversal) part {
	quantity, err := money.ParseShares(r.Quantity.String())
	if err != nil {
		b.t.Error(err)
	}
	return part{r.ID, r.AmountUSD, int(quantity), r.Status == "completed"}
}

func (b *backRound) readBack(random *mathrand.Rand, id string) outcome {
	var got struct{ Reversal reversal }
	status := b.send(random, http.MethodGet, "/v1/reversals/"+id, "", &got)
	return outcome{status: status, part: b.part(got.Reversal)}
}

func (b *backRound) takeBack(random *mathrand.Rand, in takeBack) outcome {
	body := fmt.Sprintf(`{"idempotencyKey":"the-key-%d"}`, in.key)
	if in.dollars > 0 {
		body = fmt.Sprintf(`{"idempotencyKey":"the-key-%d","amountUsd":%d}`, in.key, in.dollars)
	}
	var got struct {
		Reversal reversal
		Error    struct {
			Details struct {
				Status  string
				LeftUsd int
			}
		}
	}
	status := b.send(random, http.MethodPost, "/v1/rewards/"+b.reward+"/reversals", body, &got)
	o := outcome{status: status, left: got.Error.Details.LeftUsd, failed: got.Error.Details.Status == "failed"}
	if status < http.StatusBadRequest {
		o.part = b.part(got.Reversal)
		b.mu.Lock()
		b.backs[in.key] = got.Reversal.ID
		b.mu.Unlock()
	}
	return o
}

// work orders the award and fills the order, while clients take it back.
func (b *backRound) work() {
	const worker = clients
	random := mathrand.New(mathrand.NewPCG(worker, uint64(time.Now().UnixNano())))
	pause := func() {
		for range random.IntN(4) {
			b.read(worker, random)
		}
	}
	pause()
	var planned rewards.Order
	b.record(worker, order{}, func() (o outcome) {
		var hold rewards.Hold
		var err error
		planned, hold, err = b.books.PlanOrder(b.t.Context(), b.lease, rewards.PlanRequest{
			Asset: b.asset, ClientOrderIDPrefix: "sr-test-",
			Limits: rewards.PlanLimits{MaxNotional: 100 * money.Dollar, DailyLeft: 1_000_000 * money.Dollar},
		})
		switch {
		case err != nil:
			b.t.Error(err)
		case hold == rewards.NoHold:
			o.award = "executing"
		}
		return o
	})
	if planned.ID.IsZero() {
		return
	}
	pause()
	b.record(worker, fill{}, func() (o outcome) {
		if err := b.fill(planned); err != nil {
			b.t.Error(err)
		}
		return o
	})
}

// fill sends a planned order and settles it with a fill.
func (b *backRound) fill(o rewards.Order) error {
	ctx, now := b.t.Context(), time.Now()
	o, err := b.books.BeginAttempt(ctx, b.lease, o, now, now.Add(time.Hour))
	if err != nil {
		return err
	}
	o.State, o.BrokerID, o.BrokerStatus, o.NextAttemptAt = rewards.OrderOpen, "broker-"+o.ID.String(), "new", time.Time{}
	if err := b.books.SaveOrder(ctx, b.lease, rewards.OrderSubmitted, o); err != nil {
		return err
	}
	const price = 200_000_000_000 // billionths of a dollar
	o.BrokerStatus, o.FilledQty, o.FilledAvgPrice, o.FilledAt = "filled", awardShares, price, now
	book := func(claims []rewards.Claim, house money.Shares) (rewards.Settlement, error) {
		return rewards.Settle(o, claims, house, now)
	}
	_, err = b.books.SettleOrders(ctx, b.lease, rewards.OrderEnd{From: rewards.OrderOpen, Order: o, Book: book})
	return err
}
