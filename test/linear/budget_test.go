package linear

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// The size of a history about a budget. It is judged as one whole.
const (
	budgetKeys  = 12
	budgetLimit = 20 // dollars
	opsOfBudget = 72
)

// spend is a request for an award of some dollars, cancel an operator's cancellation, and usage
// is GET /v1/budgets.
type (
	spend  struct{ key, dollars int }
	cancel struct{ key int }
	usage  struct{}
)

// spent is the answer: of a 422 what is left, of a usage what is used.
type spent struct{ status, dollars int }

// purse is the state of a budget: what is used, and each key's award. A canceled one is negative.
type purse struct {
	used  int
	taken [budgetKeys]int
}

func (p purse) step(input, output any) (bool, purse) {
	o, _ := output.(spent)
	switch in := input.(type) {
	case usage:
		return o.dollars == p.used, p
	case cancel:
		amount := p.taken[in.key]
		if amount <= 0 {
			return o.status != http.StatusOK, p
		}
		p.used -= amount
		p.taken[in.key] = -amount
		return o.status == http.StatusOK, p
	case spend:
		switch has := p.taken[in.key]; {
		case has == in.dollars || -has == in.dollars:
			return o.status == http.StatusOK, p
		case has != 0:
			return o.status == http.StatusConflict, p
		case p.used+in.dollars > budgetLimit:
			return o.status == http.StatusUnprocessableEntity && o.dollars == budgetLimit-p.used, p
		}
		p.used += in.dollars
		p.taken[in.key] = in.dollars
		return o.status == http.StatusCreated, p
	}
	return false, p
}

// purses is the model of one budget.
func purses() porcupine.Model {
	return modelOf(func(any) string { return "" }, purse.step)
}

// The checker itself: histories with one bug each.
func TestCheckerOfBudgets(t *testing.T) {
	t.Parallel()
	created, full := spent{status: 201}, func(left int) spent { return spent{422, left} }
	for name, c := range map[string]struct {
		want    porcupine.CheckResult
		history []porcupine.Operation
	}{
		"a dollar too much": {porcupine.Illegal, []porcupine.Operation{at(1, 3, spend{1, 11}, created), at(2, 4, spend{2, 10}, created)}},
		"refused though it fits": {porcupine.Illegal, []porcupine.Operation{
			at(1, 2, spend{1, 11}, created), at(3, 4, spend{2, 9}, full(9)),
		}},
		"another rest": {porcupine.Illegal, []porcupine.Operation{at(1, 2, spend{1, 11}, created), at(3, 4, spend{2, 10}, full(8))}},
		"a refusal takes the key": {porcupine.Illegal, []porcupine.Operation{
			at(1, 2, spend{1, 21}, full(20)), at(3, 4, spend{1, 5}, spent{status: 409}),
		}},
		"a replay counts": {porcupine.Illegal, []porcupine.Operation{
			at(1, 2, spend{1, 5}, created), at(3, 4, spend{1, 5}, spent{status: 200}), at(5, 6, usage{}, spent{dollars: 10}),
		}},
		"nothing given back": {porcupine.Illegal, []porcupine.Operation{
			at(1, 2, spend{1, 5}, created), at(3, 4, cancel{1}, spent{status: 200}), at(5, 6, usage{}, spent{dollars: 5}),
		}},
		"at once": {porcupine.Ok, []porcupine.Operation{
			at(1, 9, spend{1, 11}, full(9)), at(1, 9, spend{2, 11}, created), at(1, 9, cancel{2}, spent{status: 200}),
			at(10, 11, spend{1, 20}, created), at(12, 13, usage{}, spent{dollars: 20}),
		}},
	} {
		if got := porcupine.CheckOperationsTimeout(purses(), c.history, patience); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestBudgetsOnSQLite(t *testing.T) {
	t.Parallel()
	playBudgets(t, sqliteEngines(t)...)
}

// Three of each, as in three processes, over one PostgreSQL database.
func TestBudgetsOnPostgreSQL(t *testing.T) {
	t.Parallel()
	playBudgets(t, postgresEngines(t, 3)...)
}

// playBudgets checks that concurrent awards of an app with a budget, with cancellations between
// them, equal a sequential history.
func playBudgets(t *testing.T, engines ...store.Engine) {
	t.Helper()
	s := newSite(t, engines...)
	books, err := store.New(t.Context(), engines[0], time.Now, rand.Reader)
	check(t, err)
	seen := map[int]int{}
	for done := 0; !t.Failed() && done < *operations; done += opsOfBudget {
		secret, err := rewards.NewKeySecret(rewards.TestKeyPrefix, rand.Reader)
		check(t, err)
		tester := books.As(rewards.Operator{Actor: "tester@test", Command: "test"})
		name := fmt.Sprint("app ", time.Now().UnixNano())
		_, _, err = tester.CreateApp(t.Context(), name, rewards.Key{Hash: rewards.HashKey(secret)}, rewards.Budget{
			Name: "b", Per: rewards.PerApp, Period: rewards.PeriodTotal, Limit: budgetLimit * money.Dollar,
		})
		check(t, err)
		p := &purseRound{
			round: &round{t: t, site: s, key: secret, began: time.Now(), people: map[string][]string{}}, tester: tester, seen: seen,
		}
		p.user = p.firstUser()
		p.everybody(p.client)
		p.judge(purses(), p.history)
	}
	t.Logf("answers: %v", seen)
	for _, status := range []int{200, 201, 409, 422} {
		if seen[status] == 0 {
			t.Errorf("no answer %d", status)
		}
	}
}

// purseRound is one history about a budget.
type purseRound struct {
	*round

	tester  *store.Operator
	mu      sync.Mutex
	ids     [budgetKeys]rewards.RewardID
	history []porcupine.Operation
	seen    map[int]int
}

func (p *purseRound) client(id int) {
	random := mathrand.New(mathrand.NewPCG(uint64(id), uint64(time.Now().UnixNano())))
	for range opsOfBudget / clients {
		key := random.IntN(budgetKeys)
		switch random.IntN(6) {
		case 0:
			p.record(id, usage{}, func() spent { return p.usage(random) })
		case 1:
			p.mu.Lock()
			reward := p.ids[key]
			p.mu.Unlock()
			if !reward.IsZero() {
				p.record(id, cancel{key}, func() spent { return p.cancel(reward) })
			}
		default:
			in := spend{key, 1 + random.IntN(9)}
			p.record(id, in, func() spent { return p.spend(random, in) })
		}
	}
}

// record makes a request and notes when it began and ended.
func (p *purseRound) record(client int, input any, request func() spent) {
	p.recordAny(client, input, func() any {
		out := request()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.seen[out.status]++
		return out
	})
}

func (p *purseRound) recordAny(client int, input any, request func() any) {
	o := porcupine.Operation{ClientId: client, Input: input, Call: int64(time.Since(p.began))}
	o.Output = request()
	o.Return = int64(time.Since(p.began))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.history = append(p.history, o)
}

func (p *purseRound) cancel(id rewards.RewardID) spent {
	_, _, err := p.tester.ReverseReward(context.WithoutCancel(p.t.Context()), id, 0, "a mistake")
	switch {
	case err == nil:
		return spent{status: http.StatusOK}
	case rewards.CodeOf(err) == rewards.CodeConflict:
		return spent{status: http.StatusConflict}
	}
	p.t.Error(err)
	return spent{}
}

// send sends a request to one of the processes and decodes the answer.
func (p *purseRound) send(random *mathrand.Rand, method, path, body string, into any) int {
	door := p.site.doors[random.IntN(len(p.site.doors))]
	request, err := http.NewRequestWithContext(p.t.Context(), method, door+path, strings.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return 0
	}
	request.Header.Set("x-api-key", p.key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Error(err)
		return 0
	}
	defer func() { _ = answer.Body.Close() }()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		p.t.Error(err)
	}
	return answer.StatusCode
}

func (p *purseRound) usage(random *mathrand.Rand) spent {
	var got struct{ Budgets []struct{ UsedUsd int } }
	status := p.send(random, http.MethodGet, "/v1/budgets", "", &got)
	if status != http.StatusOK || len(got.Budgets) != 1 {
		p.t.Errorf("%d: %+v", status, got)
		return spent{}
	}
	return spent{status, got.Budgets[0].UsedUsd}
}

func (p *purseRound) spend(random *mathrand.Rand, in spend) spent {
	var got struct {
		Reward struct{ ID string }
		Error  struct{ Details struct{ LeftUsd int } }
	}
	status := p.send(random, http.MethodPost, "/v1/rewards", fmt.Sprintf(
		`{"userId":%q,"idempotencyKey":"the-key-%d","amountUsd":%d,"assetSymbol":"AAPL"}`, p.user, in.key, in.dollars), &got)
	if id, err := rewards.ParseID[rewards.Reward](got.Reward.ID); err == nil {
		p.mu.Lock()
		p.ids[in.key] = id
		p.mu.Unlock()
	}
	return spent{status, got.Error.Details.LeftUsd}
}
