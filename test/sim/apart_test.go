package sim

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
)

var apartSeeds = flag.Int("apart", 1, "how many seeds simulate an app with and without other apps")

// company is what the other apps do at the same time.
type company string

const (
	alone     company = "alone"      // nothing
	busy      company = "busy"       // the same, with the same keys and names, in the same orders
	suspended company = "suspended"  // one is suspended halfway, with recorded rewards
	atLimits  company = "at limits"  // requests at and above every limit, and orders of the largest size
	inTrouble company = "in trouble" // the broker rejects orders of their stocks, or reports nonsense about them
)

// life is the requests of app 0 and their answers.
type life struct {
	*world

	random   *rand.Rand
	numbers  map[string]int // replace ids, in order of occurrence
	lines    []string
	holdings []holding
	bodies   []string // of recorded rewards
	rewards  []string // ids
	awards   map[string]int64
	planned  int // orders
}

// holding has the numbers of a portfolio that rounding in shared orders may change.
type holding struct {
	name            string
	quantity, value json.Number
	change          string
	awards          int64 // each may change the quantity by a billionth
}

var (
	ids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	cursors = regexp.MustCompile(`cursor=[A-Za-z0-9_-]+`)
	filled  = regexp.MustCompile(`("executedAt":"[^".]*)\.\d+Z`) // the brokerage fills in a random part of a second
)

// An app gets the same answers with and without other apps: the same statuses, bodies, prices
// and times (of a fill, to the second). Ids differ, and quantities by a billionth of a share
// for each award. Nobody gives less than a dollar of the app's stocks, since other apps would
// fill such a pool sooner.
func TestAppsDoNotInterfere(t *testing.T) {
	t.Parallel()
	for n := range *apartSeeds {
		seed := *seed + uint64(n)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			want := live(t, seed, alone)
			for _, c := range []company{busy, suspended, atLimits, inTrouble} {
				t.Run(string(c), func(t *testing.T) { compareLives(t, want, live(t, seed, c)) })
			}
			t.Logf("%d answers, five times", len(want.lines))
		})
	}
}

// live simulates twenty minutes of trading; the app sends requests every half minute.
func live(t *testing.T, seed uint64, c company) *life {
	t.Helper()
	var l *life
	synctest.Test(t, func(t *testing.T) {
		l = &life{
			world: openWorld(t, seed), random: rand.New(rand.NewPCG(seed, 1)),
			numbers: map[string]int{}, awards: map[string]int64{},
		}
		others := rand.New(rand.NewPCG(seed, 2))
		if c == inTrouble {
			l.afflict("reject symbol=BRK.B chance=50%")
			l.afflict("unknown-status symbol=PENNY chance=50%")
		}
		for round := range 40 {
			first := others.IntN(2) == 0 && c != atLimits
			if first {
				l.others(others, c, round)
			}
			for range 1 + l.random.IntN(4) {
				l.act(round)
			}
			if !first {
				l.others(others, c, round)
			}
			l.pass(30*time.Second, time.Second)
		}
		l.look()
		l.planned = len(l.orders())
	})
	return l
}

func (l *life) ask(method, path, body string) string {
	answer := l.serve(0, method, path, body)
	text := l.canonical(answer.Body.String())
	l.lines = append(l.lines, fmt.Sprintf("%s %s %s -> %d %s %s", method, l.canonical(path), l.canonical(body),
		answer.Code, l.canonical(answer.Header().Get("Link")), text))
	var got struct{ Reward struct{ ID string } }
	if method == "POST" && answer.Code == 201 && json.Unmarshal(answer.Body.Bytes(), &got) == nil && got.Reward.ID != "" {
		l.rewards, l.bodies = append(l.rewards, got.Reward.ID), append(l.bodies, body)
	}
	next, _, _ := strings.Cut(strings.TrimPrefix(answer.Header().Get("Link"), "<"), ">")
	return next
}

// canonical replaces ids by numbers, and removes cursors and fractions of a second.
func (l *life) canonical(text string) string {
	text = filled.ReplaceAllString(cursors.ReplaceAllString(text, "cursor=C"), "$1")
	return ids.ReplaceAllStringFunc(text, func(id string) string {
		n, known := l.numbers[id]
		if !known {
			n = len(l.numbers)
			l.numbers[id] = n
		}
		return fmt.Sprint("#", n)
	})
}

func (l *life) act(round int) {
	r := l.random
	user := l.users[0][r.IntN(usersPerApp)]
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	symbol := pick("AAPL", "KO", "NVDA", "HALT")
	giving := func(user, key, symbol string) string {
		return fmt.Sprintf(`{"userId":%q,"idempotencyKey":%q,"amountUsd":%s,"assetSymbol":%q}`, user, key,
			pick("1", "5.250001", "100", "4321.987654", "2.34"), symbol)
	}
	key := fmt.Sprintf("reward-%04d-%d", round, len(l.lines))
	switch n := r.IntN(20); {
	case n < 8:
		l.awards[user+" "+symbol]++
		l.ask("POST", "/v1/rewards", giving(user, key, symbol))
	case n < 9 && len(l.bodies) > 0:
		l.ask("POST", "/v1/rewards", l.bodies[r.IntN(len(l.bodies))])
	case n < 10 && len(l.bodies) > 0:
		l.ask("POST", "/v1/rewards", strings.Replace(l.bodies[r.IntN(len(l.bodies))], `"amountUsd":`, `"amountUsd":1`, 1))
	case n < 11:
		l.ask("POST", "/v1/rewards", giving(pick(user, "01890000-0000-7000-8000-000000000000"), key, "NONE"))
	case n < 12:
		l.ask("POST", "/v1/users", fmt.Sprintf(`{"externalId":"user-%d","email":"%d@example.org"}`, r.IntN(2*usersPerApp), r.IntN(9)))
	case n < 14 && len(l.rewards) > 0:
		l.ask("GET", "/v1/rewards/"+l.rewards[r.IntN(len(l.rewards))], "")
	case n < 16:
		l.ask("GET", "/v1/users?"+pick("limit=2", "email=3@EXAMPLE.org", "externalId=user-7"), "")
	case n < 18:
		l.portfolio(user)
	default:
		path := pick("/v1/rewards?limit=3", "/v1/rewards?limit=2&status=executed", "/v1/rewards?limit=1&userId="+user)
		for range 3 {
			if path != "" {
				path = l.ask("GET", path, "")
			}
		}
	}
}

func (l *life) look() {
	for _, user := range l.users[0] {
		l.portfolio(user)
	}
	for path := "/v1/rewards?limit=50"; path != ""; {
		path = l.ask("GET", path, "")
	}
	l.ask("GET", "/v1/users", "")
	l.ask("GET", "/v1/assets", "")
}

// portfolio reads a user's portfolio; quantities and values, which may differ, go to holdings.
func (l *life) portfolio(user string) {
	answer := l.serve(0, "GET", "/v1/users/"+user+"/portfolio", "")
	type worth struct {
		Asset                      string
		Quantity, Value, CostBasis json.Number
		Change                     *string
	}
	var got struct {
		worth
		Holdings []worth
	}
	l.check(json.Unmarshal(answer.Body.Bytes(), &got))
	line := fmt.Sprintf("portfolio %s -> %d cost %s", l.canonical(user), answer.Code, got.CostBasis)
	for _, h := range got.Holdings {
		line += fmt.Sprintf(", %s for %s", h.Asset, h.CostBasis)
		l.holdings = append(l.holdings, holding{
			fmt.Sprintf("%s of %s at line %d", h.Asset, l.canonical(user), len(l.lines)), h.Quantity, h.Value, *h.Change, l.awards[user+" "+h.Asset],
		})
	}
	l.lines = append(l.lines, line)
}

func (l *life) others(r *rand.Rand, c company, round int) {
	const middle = 15
	if c == alone {
		return
	}
	if c == suspended && round == middle {
		_, err := l.store.SetSuspended(l.t.Context(), l.apps[1].Name, true)
		l.check(err)
	}
	for app := 1; app < apps; app++ {
		for n := range 1 + r.IntN(4) {
			user := l.users[app][r.IntN(usersPerApp)]
			symbol, amount := symbols()[r.IntN(len(symbols()))], []string{"0.01", "1", "3.333333", "250", "77777.777777"}[r.IntN(5)]
			if c == inTrouble {
				symbol = []string{"BRK.B", "PENNY", "HALT", "AAPL"}[r.IntN(4)]
			}
			if amount == "0.01" { // its pool waits for others
				symbol = []string{"BRK.B", "PENNY"}[r.IntN(2)]
			}
			if c == atLimits {
				symbol, amount = []string{"AAPL", "KO"}[r.IntN(2)], "1000000"
				l.request(app, "POST", "/v1/users", `{"externalId":"`+strings.Repeat("x", 64<<10)+`"}`)
				l.request(app, "GET", "/v1/rewards?limit=200", "")
			}
			l.request(app, "POST", "/v1/rewards", fmt.Sprintf(
				`{"userId":%q,"idempotencyKey":"reward-%04d-%d","amountUsd":%s,"assetSymbol":%q}`, user, round, n, amount, symbol))
			l.request(app, "POST", "/v1/users", fmt.Sprintf(`{"externalId":"user-%d","email":"%d@example.org"}`, usersPerApp+r.IntN(usersPerApp), r.IntN(9)))
			l.request(app, "GET", "/v1/users/"+user+"/portfolio", "")
		}
	}
}

// compareLives checks that two lives are the same, except for rounding.
func compareLives(t *testing.T, want, got *life) {
	t.Helper()
	if diff := cmp.Diff(want.lines, got.lines); diff != "" {
		t.Errorf("the app got other answers (-alone +with others):\n%s", diff)
	}
	if len(want.holdings) != len(got.holdings) {
		t.Fatalf("%d holdings, alone %d", len(got.holdings), len(want.holdings))
	}
	moved := 0
	for i, h := range got.holdings {
		w := want.holdings[i]
		if h.name != w.name || h.awards != w.awards || difference(t, h.quantity, w.quantity, money.ParseShares) > money.Shares(h.awards) {
			t.Errorf("%s: %s shares by %d awards, alone %s", h.name, h.quantity, h.awards, w.quantity)
		}
		// A billionth of a share at no more than $1,000 is a millionth of a dollar.
		if difference(t, h.value, w.value, money.ParseUSD) > money.USD(h.awards) || h.value == w.value && h.change != w.change {
			t.Errorf("%s: worth %s (%s), alone %s (%s)", h.name, h.value, h.change, w.value, w.change)
		}
		if h.quantity != w.quantity {
			moved++
		}
	}
	t.Logf("%d answers, %d holdings, %d of them moved by a billionth; %d orders, alone %d", len(got.lines), len(got.holdings), moved, got.planned, want.planned)
}

func difference[Q ~int64](t *testing.T, a, b json.Number, read func(string) (Q, error)) Q {
	t.Helper()
	x, err := read(a.String())
	y, err2 := read(b.String())
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return max(x-y, y-x)
}
