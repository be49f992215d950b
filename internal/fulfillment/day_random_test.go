package fulfillment_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

var (
	daySeed  = flag.Uint64("day-seed", 1, "first seed of the days with random corporate actions")
	daySeeds = flag.Uint64("day-seeds", 1, "number of seeds of the days with random corporate actions, of each kind of day")
)

// dayCase is a kind of day.
type dayCase struct {
	mode  string // auto: nobody is needed; review: an operator decides; outage: nobody looks; restart: again and again
	lieu  bool   // the broker pays for fractions in cash
	deeds int
}

// Some actions of one day depend on each other, and the broker does them in any order. Users get what that order makes
// of their shares, or an action is held and says why. An operator then applies what is held in the order of the broker.
func TestActionsOfRandomDays(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"auto", "review", "outage", "restart"} {
		for _, lieu := range []bool{false, true} {
			for deeds := 2; deeds <= 3; deeds++ {
				t.Run(fmt.Sprintf("%s of %d, cash in lieu %t", mode, deeds, lieu), func(t *testing.T) {
					t.Parallel()
					held := 0
					// They found a split before a merger whose stock had ended at the broker, and a merger that counted the
					// fraction of a split for which the broker had paid in cash.
					seeds := []uint64{4005, 4038}
					for seed := *daySeed; seed < *daySeed+*daySeeds; seed++ {
						seeds = append(seeds, seed)
					}
					for _, seed := range seeds {
						t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
							inDay(t, mode, func(w *world) {
								if randomDay(w, dayCase{mode, lieu, deeds}, seed).live() {
									held++
								}
							})
						})
					}
					t.Logf("of %d days %d were held", len(seeds), held)
				})
			}
		}
	}
}

// inDay runs a test in a world with the stocks of a day.
func inDay(t *testing.T, mode string, test func(*world)) {
	t.Helper()
	inWorld(t, test, func(w *world) { w.stocks, w.cfg.ReviewActions = []string{"XYZ"}, mode == "review" })
}

// Days whose actions are easily applied wrongly. The broker pays for fractions in cash.
func TestActionsOfDays(t *testing.T) {
	t.Parallel()
	const aapl, ko, xyz = 0, 1, 2
	reverse := func(of int, old int64) deed { return deed{kind: "reverse_split", source: of, old: old, new: 1} }
	split := func(of int, old, shares int64) deed {
		return deed{kind: "forward_split", source: of, old: old, new: shares}
	}
	dividend := func(of int, shares int64) deed {
		return deed{kind: "stock_dividend", source: of, old: 20, new: shares}
	}
	renaming := func(of int, old int64) deed { return deed{kind: "renaming_split", source: of, old: old, new: 1} }
	spinOff := func(of, to int, old int64) deed {
		return deed{kind: "spin_off", source: of, target: to, old: old, new: 1}
	}
	merger := func(of, to int, old, shares int64) deed {
		return deed{kind: "stock_merger", source: of, target: to, old: old, new: shares}
	}
	for name, c := range map[string]struct {
		mode    string
		dollars [3]int64
		deeds   []deed
	}{
		"what is given depends on a split":   {"outage", [3]int64{5722, 3821, 4531}, []deed{reverse(xyz, 9), reverse(ko, 8), spinOff(ko, xyz, 2)}},
		"a new symbol, then a merger":        {"auto", [3]int64{3829, 1750, 6489}, []deed{renaming(xyz, 4), spinOff(ko, aapl, 3), merger(xyz, aapl, 3, 1)}},
		"a split beside a held spin-off":     {"auto", [3]int64{6097, 3757, 3326}, []deed{spinOff(aapl, xyz, 5), split(aapl, 1, 5), dividend(xyz, 21)}},
		"a gift of less than one share":      {"auto", [3]int64{6791, 2388, 6927}, []deed{reverse(aapl, 7), spinOff(aapl, xyz, 5), split(aapl, 2, 6)}},
		"the same, applied by an operator":   {"review", [3]int64{530, 355, 506}, []deed{spinOff(aapl, xyz, 6), reverse(aapl, 4)}},
		"two gifts of one stock":             {"auto", [3]int64{7317, 2466, 4896}, []deed{spinOff(ko, aapl, 3), spinOff(xyz, aapl, 6), dividend(ko, 23)}},
		"a gift, then a split and merger":    {"auto", [3]int64{3798, 3978, 6180}, []deed{spinOff(xyz, ko, 5), reverse(aapl, 3), merger(aapl, ko, 4, 2)}},
		"a merger beside a held spin-off":    {"auto", [3]int64{497, 370, 416}, []deed{split(ko, 2, 3), spinOff(ko, aapl, 5), merger(xyz, aapl, 4, 4)}},
		"a merger paid in cash beside it":    {"auto", [3]int64{184, 632, 492}, []deed{merger(aapl, xyz, 4, 1), spinOff(ko, xyz, 5), renaming(ko, 2)}},
		"a gift paid in cash, then a merger": {"restart", [3]int64{479, 301, 300}, []deed{spinOff(ko, aapl, 4), merger(ko, xyz, 3, 2)}},
		"a spin-off in cash beside others":   {"auto", [3]int64{492, 554, 192}, []deed{merger(ko, aapl, 1, 3), spinOff(xyz, aapl, 12), split(xyz, 2, 3)}},
		"a spin-off and a dividend":          {"review", [3]int64{7100, 1098, 3401}, []deed{spinOff(aapl, ko, 3), dividend(aapl, 22)}},
		"nothing left, then a spin-off":      {"auto", [3]int64{1606, 6267, 5429}, []deed{reverse(aapl, 8), spinOff(aapl, xyz, 2)}},
		"a merger in cash, then a spin-off":  {"auto", [3]int64{244, 397, 486}, []deed{merger(aapl, ko, 2, 1), spinOff(ko, xyz, 6), reverse(ko, 2)}},
		"a gift in cash, then a spin-off":    {"outage", [3]int64{311, 387, 366}, []deed{spinOff(ko, aapl, 8), spinOff(aapl, xyz, 4), split(ko, 1, 3)}},
		"nothing left that is counted":       {"auto", [3]int64{368, 335, 623}, []deed{reverse(aapl, 6), spinOff(aapl, ko, 2), split(ko, 1, 2)}},
		"the same in an outage":              {"outage", [3]int64{298, 413, 241}, []deed{reverse(ko, 8), spinOff(ko, aapl, 8), split(aapl, 1, 2)}},
		"two mergers and a dividend":         {"auto", [3]int64{712, 300, 561}, []deed{merger(aapl, xyz, 2, 1), dividend(xyz, 22), merger(xyz, ko, 1, 1)}},
		"a spin-off, merger and dividend":    {"restart", [3]int64{5801, 5375, 2241}, []deed{spinOff(ko, aapl, 9), merger(aapl, xyz, 2, 1), dividend(xyz, 21)}},
		"no position has the new symbol":     {"outage", [3]int64{656, 593, 323}, []deed{merger(xyz, ko, 4, 3), reverse(ko, 3), renaming(ko, 5)}},
		"a new symbol of nothing":            {"auto", [3]int64{410, 261, 134}, []deed{spinOff(ko, aapl, 11), {kind: "name_change", source: aapl, old: 1, new: 1}, reverse(aapl, 3)}},
		"a merger after two held ones":       {"auto", [3]int64{698, 299, 723}, []deed{split(aapl, 1, 5), spinOff(aapl, xyz, 4), merger(xyz, aapl, 3, 1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inDay(t, c.mode, func(w *world) {
				newDay(w, dayCase{c.mode, true, len(c.deeds)}, rand.New(rand.NewPCG(1, 1)), [][]int64{c.dollars[:]}, c.deeds).live()
			})
		})
	}
}

// Days whose order the broker's positions show: nobody is needed.
func TestClearActionsOfDays(t *testing.T) {
	t.Parallel()
	const aapl, ko, xyz = 0, 1, 2
	for name, c := range map[string]struct {
		lieu    bool
		dollars [3]int64
		deeds   []deed
	}{
		"what is given depends on a merger": {false, [3]int64{751, 286, 304}, []deed{
			{kind: "stock_merger", source: ko, target: xyz, old: 3, new: 2},
			{kind: "stock_merger", source: xyz, target: aapl, old: 1, new: 1},
			{kind: "stock_dividend", source: aapl, old: 20, new: 21},
		}},
		"fractions of two splits in cash": {true, [3]int64{4256, 5007, 7715}, []deed{
			{kind: "forward_split", source: xyz, old: 2, new: 4},
			{kind: "stock_dividend", source: xyz, old: 20, new: 22},
		}},
		"fractions of a merger in cash": {true, [3]int64{667, 320, 492}, []deed{
			{kind: "forward_split", source: xyz, old: 1, new: 2},
			{kind: "stock_merger", source: aapl, target: xyz, old: 1, new: 2},
		}},
		"a merger beside a doubted position": {true, [3]int64{4738, 4942, 2852}, []deed{
			{kind: "reverse_split", source: ko, old: 3, new: 1},
			{kind: "spin_off", source: aapl, target: xyz, old: 2, new: 1},
			{kind: "stock_merger", source: xyz, target: ko, old: 4, new: 3},
		}},
		"a spin-off, then a new symbol": {false, [3]int64{3000, 1300, 300}, []deed{
			{kind: "spin_off", source: aapl, target: ko, old: 5, new: 1},
			{kind: "renaming_split", source: ko, old: 4, new: 1},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inDay(t, "auto", func(w *world) {
				r := rand.New(rand.NewPCG(1, 1))
				if newDay(w, dayCase{"auto", c.lieu, len(c.deeds)}, r, [][]int64{c.dollars[:]}, c.deeds).live() {
					w.t.Error("an action is held")
				}
			})
		})
	}
}

// The broker pays in cash for a gift of less than one share, and its activities do not show that. The house owes it.
func TestAGiftInCashWithoutActivities(t *testing.T) {
	t.Parallel()
	const aapl, xyz = 0, 2
	inDay(t, "review", func(w *world) {
		deeds := []deed{
			{kind: "spin_off", source: aapl, target: xyz, old: 6, new: 1}, {kind: "reverse_split", source: aapl, old: 4, new: 1},
		}
		r := rand.New(rand.NewPCG(1, 1))
		d := newDay(w, dayCase{"review", true, len(deeds)}, r, [][]int64{{530, 355, 506}}, deeds)
		w.faulty(ofActivities, says(200, `[]`))
		d.live()
	})
}

// day is one day of the model.
type day struct {
	*world
	dayCase

	random *rand.Rand
	deeds  []deed // in the order in which the broker does them
	assets []rewards.AssetID
	shares [][]int64   // by user and stock, what the model says
	basis  []money.USD // by user
}

// run runs steps, and reads prices before them, as the service does beside them.
func (d *day) run(long time.Duration) {
	d.t.Helper()
	d.check(d.market.Refresh(d.t.Context()))
	d.world.run(long)
}

// randomDay opens a day with random actions and holdings.
func randomDay(w *world, c dayCase, seed uint64) *day {
	r := rand.New(rand.NewPCG(seed, uint64(c.deeds)))
	least := []int64{100, 1000}[r.IntN(2)] // few shares fit more orders, when fractions are paid in cash
	dollars := make([][]int64, 2)
	for i := range dollars {
		for range dayStocks() {
			amount := int64(0)
			if i == 0 || r.IntN(4) > 0 {
				amount = least + r.Int64N(3*least)
			}
			dollars[i] = append(dollars[i], amount)
		}
	}
	return newDay(w, c, r, dollars, randomDeeds(r, c.deeds))
}

// newDay opens a day whose users have shares for dollars, by user and stock.
func newDay(w *world, c dayCase, r *rand.Rand, dollars [][]int64, deeds []deed) *day {
	d := &day{world: w, dayCase: c, random: r, deeds: deeds}
	w.check(w.store.SetDividends(w.t.Context(), "app", rewards.DividendsHouse)) // cash buys no shares
	for len(w.users) < len(dollars) {
		w.newUser(w.app)
	}
	for i, u := range w.users {
		for j, symbol := range dayStocks() {
			if dollars[i][j] > 0 {
				w.giveTo(u, symbol, money.USD(dollars[i][j])*usd)
			}
		}
	}
	w.run(10 * time.Second)
	for _, symbol := range dayStocks() {
		d.assets = append(d.assets, w.asset(symbol))
	}
	for _, u := range w.users {
		shares, basis := d.has(u)
		d.shares, d.basis = append(d.shares, shares), append(d.basis, basis)
	}
	return d
}

// has is what a user has of the stocks in billionths, and all that it cost.
func (d *day) has(u rewards.User) (shares []int64, basis money.USD) {
	d.t.Helper()
	list, err := d.store.Holdings(d.t.Context(), u.AppID, u.ID)
	d.check(err)
	shares = make([]int64, len(d.assets))
	for _, h := range list {
		basis += h.CostBasis
		if i := slices.Index(d.assets, h.AssetID); i >= 0 {
			shares[i] = int64(h.Quantity)
		}
	}
	return shares, basis
}

// live has the day happen, and an operator decide what is held. It returns whether something was, although nobody
// reviews.
func (d *day) live() (held bool) {
	d.t.Helper()
	d.begin()
	held = d.decided()
	d.resolve()
	d.verify()
	return held && d.mode != "review"
}

// pass lets the night and the morning pass.
func (d *day) pass() {
	at := func(date, hour, minute int, look func()) {
		d.check(d.brokerage.SetClock(d.t.Context(), time.Date(2000, 1, date, hour, minute, 0, 0, time.UTC), 1))
		d.check(d.market.Refresh(d.t.Context()))
		look()
	}
	again := func() {
		for range 6 {
			d.run(time.Duration(d.random.Int64N(int64(3 * time.Second))))
			d.restart()
		}
	}
	switch d.mode {
	case "outage":
		at(10, 15, 0, func() {})
	case "restart":
		at(6, 7, 30, again)
		at(6, 14, 31, again)
	default:
		at(6, 7, 29, func() { d.run(85 * time.Second) })
		at(6, 14, 31, func() {})
	}
	d.run(100 * time.Second)
}

// decided checks that each action is applied, or is held and says why. It returns whether one is held.
func (d *day) decided() (held bool) {
	d.t.Helper()
	for _, e := range d.deeds {
		a := d.action(e.id)
		d.t.Logf("by itself: %s is %s: %s", e, a.State, a.Note)
		switch {
		case a.State == rewards.ActionHeld && a.Note != "":
			held = true
		case a.State != rewards.ActionSwept:
			d.t.Errorf("%s is %s: %s", e, a.State, a.Note)
		}
	}
	return held
}

// resolve has an operator decide what is held, in the order of the broker and as the notes say.
func (d *day) resolve() {
	d.t.Helper()
	for range 2 * len(d.deeds) {
		for i, e := range d.deeds {
			a := d.action(e.id)
			if a.State != rewards.ActionHeld && a.State != rewards.ActionUndone || a.WaitsFor != "" {
				continue
			}
			for _, later := range d.deeds[i+1:] {
				if strings.Contains(a.Note, "the action "+later.id+" was applied already") {
					d.takeBack(later)
				}
			}
			d.approve(e.id)
			d.run(20 * time.Second)
			a = d.action(e.id)
			d.t.Logf("after its apply %s is %s: %s", e, a.State, a.Note)
		}
	}
	d.run(10 * time.Second)
}

// takeBack undoes an applied deed, after those that the refusal names.
func (d *day) takeBack(e deed) {
	d.t.Helper()
	if d.action(e.id).State != rewards.ActionSwept {
		return
	}
	_, err := d.operator("action undo").UndoAction(d.t.Context(), e.id)
	d.t.Logf("undo of %s: %v", e, err)
	for _, other := range d.deeds {
		if err != nil && other.id != e.id && strings.Contains(err.Error(), other.id) {
			d.takeBack(other)
			d.undo(e.id)
			break
		}
	}
	d.run(20 * time.Second)
}

// verify compares the books with the model and with the broker.
func (d *day) verify() {
	d.t.Helper()
	for _, e := range d.deeds {
		if a := d.action(e.id); a.State != rewards.ActionSwept {
			d.t.Errorf("at last %s is %s: %s", e, a.State, a.Note)
		}
	}
	const rounding = 100 // billionths: each action rounds down, and the next one multiplies that
	sums := make([]int64, len(d.assets))
	for i, u := range d.users {
		shares, basis := d.has(u)
		for j, got := range shares {
			sums[j] += got
			if want := d.shares[i][j]; got < want-rounding || got > want+rounding {
				d.t.Errorf("user %d has %d billionths of %s, want %d", i, got, dayStocks()[j], want)
			}
		}
		if basis != d.basis[i] {
			d.t.Errorf("the shares of user %d cost %s, want %s", i, basis, d.basis[i])
		}
	}
	positions, err := d.client.Positions(d.t.Context())
	d.check(err)
	for j, symbol := range dayStocks() {
		for _, p := range positions {
			if p.Symbol == symbol || p.Symbol == symbol+"X" {
				sums[j] -= int64(p.Qty)
			}
		}
		if difference := sums[j] + d.houseOf(d.assets[j]); difference != 0 && !d.doubted(d.assets[j]) {
			d.t.Errorf("users and house have %d billionths of %s more than the broker", difference, symbol)
		}
	}
}

// houseOf is what the house has of a stock.
func (d *day) houseOf(id rewards.AssetID) (shares int64) {
	d.t.Helper()
	d.check(d.engine.Read(d.t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error { return row.Scan(&shares) },
			`SELECT quantity FROM house_holdings WHERE asset_id = ?1`, int64(id))
	}))
	return shares
}
