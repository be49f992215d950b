package api_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// entry is an entry of a user's activity. It cannot be read with members that the interface lacks.
type entry struct {
	ID                string
	Type              string
	At                time.Time
	AssetSymbol       string
	Quantity          json.Number
	CostBasis         json.Number
	PriceUsd          *json.Number
	RewardID          *string
	ReversalID        *string
	CorporateActionID *string
}

// activity reads a user's activity in pages.
func (c client) activity(t *testing.T, user string, limit int) (all []entry) {
	t.Helper()
	for page := fmt.Sprintf("/v1/users/%s/activity?limit=%d", user, limit); page != ""; {
		a := c.get(t, page).wantStatus(t, http.StatusOK)
		var body struct{ Activity []entry }
		check(t, json.Unmarshal(a.body, &body))
		all = append(all, body.Activity...)
		page = a.next(t)
	}
	return all
}

// wantSums checks that the activity adds up to what the portfolio shows.
func (c client) wantSums(t *testing.T, user string) {
	t.Helper()
	sums, held := make(map[string]*big.Rat), make(map[string]*big.Rat)
	add := func(to map[string]*big.Rat, name string, n json.Number) {
		r, ok := new(big.Rat).SetString(string(n))
		if !ok {
			t.Fatalf("%q is no number", n)
		}
		if to[name] == nil {
			to[name] = new(big.Rat)
		}
		to[name].Add(to[name], r)
	}
	var p struct {
		Holdings []struct {
			Asset               string
			Quantity, CostBasis json.Number
		}
	}
	check(t, json.Unmarshal(c.get(t, "/v1/users/"+user+"/portfolio").wantStatus(t, http.StatusOK).body, &p))
	for _, h := range p.Holdings {
		add(held, h.Asset+" quantity", h.Quantity)
		add(held, h.Asset+" costBasis", h.CostBasis)
	}
	for _, e := range c.activity(t, user, 200) {
		add(sums, e.AssetSymbol+" quantity", e.Quantity)
		add(sums, e.AssetSymbol+" costBasis", e.CostBasis)
	}
	for name, sum := range sums {
		add(held, name, "0")
		if held[name].Cmp(sum) != 0 {
			t.Errorf("the activity of %s adds up to %s, the portfolio has %s", name, sum.RatString(), held[name].RatString())
		}
	}
	if len(held) > len(sums) {
		t.Errorf("the portfolio has %v, the activity %v", held, sums)
	}
}

// Additions, section 6: the bought part of an award is an entry with its price, corporate actions
// change quantity and cost basis, and all add up to the portfolio. An undo adds the opposite.
func TestActivity(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x, c := w.open(t)
	user := c.newUser(t)
	wantBody(t, c.get(t, "/v1/users/"+user+"/activity").wantStatus(t, http.StatusOK), `{"activity":[]}`)
	award := c.give(t, user, "assetSymbol", `"KO"`, "amountUsd", "25")
	w.run(t, x, 5*second)
	other := c.give(t, user, "assetSymbol", `"NVDA"`, "amountUsd", "3.5")
	w.run(t, x, 5*second)
	c.wantSums(t, user)
	bought := func(reward, symbol, cost string, got entry) entry {
		shares, price := got.Quantity, *got.PriceUsd // of the paper brokerage; the sums have proven the shares
		if paid := number(t, shares) * number(t, price); math.Abs(paid-number(t, json.Number(cost))) > 1e-6 {
			t.Errorf("%s shares at %s, paid %s", shares, price, cost)
		}
		return entry{
			Type: "award", AssetSymbol: symbol, Quantity: shares, CostBasis: json.Number(cost), PriceUsd: &price, RewardID: &reward,
		}
	}
	got := c.activity(t, user, 200)
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	want := []entry{bought(other, "NVDA", "3.5", got[0]), bought(award, "KO", "25", got[1])}
	want = c.wantEntries(t, user, want)
	w.clock.advance(31 * second) // the worker's lease ends

	split := rewards.Action{Terms: rewards.Terms{Type: "forward_split", Symbol: "KO", OldRate: "1", NewRate: "3"}, State: rewards.ActionAnnounced}
	split.ID = w.announce(t, split)
	w.applyBooked(t, split, "")
	changed := func(a rewards.Action, symbol string, quantity, cost json.Number) entry {
		return entry{Type: string(a.Type), AssetSymbol: symbol, Quantity: quantity, CostBasis: cost, CorporateActionID: &a.ID}
	}
	want = c.wantEntries(t, user, append([]entry{changed(split, "KO", twice(t, got[1].Quantity), "0")}, want...))
	c.wantSums(t, user)

	a, err := w.store.UndoAction(t.Context(), split.ID)
	check(t, err)
	want = c.wantEntries(t, user, append([]entry{changed(a, "KO", "-"+twice(t, got[1].Quantity), "0")}, want...))
	w.sweep(t)
	want = c.wantEntries(t, user, want)
	worthless := rewards.Action{Terms: rewards.Terms{Type: "worthless_removal", Symbol: "NVDA"}, State: rewards.ActionAnnounced}
	worthless.ID = w.announce(t, worthless)
	w.applyBooked(t, worthless, "")
	c.wantEntries(t, user, append([]entry{changed(worthless, "NVDA", "-"+got[0].Quantity, "-3.5")}, want...))
}

// applyBooked applies an action to a stock with booked shares, and sweeps.
func (w *world) applyBooked(t *testing.T, a rewards.Action, target string) {
	t.Helper()
	var booked money.Shares
	list, err := w.store.Booked(t.Context())
	check(t, err)
	for _, p := range list {
		if p.Symbol == a.Symbol {
			booked = p.Quantity
		}
	}
	w.applyTo(t, a, target, booked)
}

// wantEntries compares a user's activity, whole and in pages, but for its times and ids: times fall,
// and the ids of want stay. It returns the activity.
func (c client) wantEntries(t *testing.T, user string, want []entry) []entry {
	t.Helper()
	got := c.activity(t, user, 200)
	seen := make(map[string]bool)
	for i := range got {
		if i > 0 && got[i].At.After(got[i-1].At) || seen[got[i].ID] {
			t.Errorf("entry %d is newer than the one before, or has its id: %+v", i, got)
		}
		seen[got[i].ID] = true
		if i < len(want) && want[i].ID == "" {
			want[i].ID, want[i].At = got[i].ID, got[i].At
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for limit := 1; limit <= len(want); limit++ {
		if diff := cmp.Diff(want, c.activity(t, user, limit)); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
	return got
}

// bought books recorded awards of $10 in AAPL as bought by one order.
func (c client) bought(t *testing.T, user string, awards ...string) {
	t.Helper()
	order, id := rewards.FirstID[rewards.Order](c.world.clock.now()), parseID[rewards.User](t, user)
	at := c.world.clock.now().UnixMicro()
	c.world.exec(t, `INSERT INTO orders (id, client_order_id, asset_id, symbol, notional, house, members_hash, state, attempts,
		first_attempt_at, filled_qty, filled_avg_price, settled_at) VALUES (?1, 'owned', ?2, 'AAPL', 20000000, 0, ?4, 6, 1,
		?3, 2000000000, 10000000000, ?3)`, order[:], int64(c.world.asset(t, "AAPL")), at, make([]byte, 32))
	for _, award := range awards {
		reward := parseID[rewards.Reward](t, award)
		c.world.exec(t, `INSERT INTO past_allocations (app_id, reward_id, order_id, amount, shares, user_id, at, cost)
			VALUES (?1, ?2, ?3, 10000000, 1000000000, ?4, ?5, 10000000)`, c.app.ID[:], reward[:], order[:], id[:], at)
	}
}

func number(t *testing.T, n json.Number) float64 {
	t.Helper()
	f, err := n.Float64()
	check(t, err)
	return f
}

// twice returns two times a quantity.
func twice(t *testing.T, n json.Number) json.Number {
	t.Helper()
	q, err := money.ParseShares(string(n))
	check(t, err)
	return json.Number((2 * q).String())
}
