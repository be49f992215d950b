package audit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// TestReversalsOverTheYears audits random lives of two users, with purchases, reversals, corporate actions and
// their undos.
func TestReversalsOverTheYears(t *testing.T) {
	t.Parallel()
	redone := 0
	for seed := range uint64(4) {
		w := audittest.NewWorld(t, audittest.NewFile)
		app := w.App("app")
		l := &lives{World: w, t: t, random: rand.New(rand.NewPCG(seed, 17)), left: make(map[string]money.USD)}
		for _, name := range []string{"ann", "bob"} {
			l.users = append(l.users, w.User(app, name, "", name))
		}
		const steps = 40
		for range steps {
			l.step()
		}
		redone += l.redone
		if r := run(t, w.Where); !r.OK() {
			t.Errorf("seed %d: the audit fails:\n%s", seed, text(t, r))
		}
	}
	if redone < 3 {
		t.Errorf("%d undos were taken back: change the seeds", redone)
	}
}

// lives are the random lives of users.
type lives struct {
	*audittest.World

	t      *testing.T
	random *rand.Rand
	users  []rewards.User
	awards []string
	left   map[string]money.USD // of the awards
	done   []string             // actions that can be undone, oldest first
	count  int
	redone int // undos that were taken back
}

func (l *lives) name(what string) string {
	l.count++
	return fmt.Sprint(what, "-", l.count)
}

// step buys, takes back, changes units or undoes that.
func (l *lives) step() {
	l.Now = l.Now.Add(time.Hour)
	switch n := l.random.IntN(10); {
	case n < 3 || len(l.awards) == 0:
		l.buy()
	case n < 6:
		award := l.awards[l.random.IntN(len(l.awards))]
		if amount := min(money.USD(1+l.random.Int64N(2_500_000)), l.left[award]); amount > 0 {
			l.Back(l.name("back"), "app", award, amount)
			l.left[award] -= amount
		}
	case n < 8:
		l.change()
	case len(l.done) > 0:
		id := l.done[len(l.done)-1]
		l.done = l.done[:len(l.done)-1]
		if _, err := l.UndoAction(l.t.Context(), id); rewards.CodeOf(err) != rewards.CodeConflict {
			l.Check(err)
			l.SweepOpen()
			l.redo(id)
			l.Agree()
		}
	}
}

// redo takes an undo back, sometimes, maybe after something else happened.
func (l *lives) redo(id string) {
	switch l.random.IntN(3) {
	case 0:
		return
	case 1:
		l.Agree()
		l.step()
	}
	if l.Redo(id) {
		l.done = append(l.done, id)
		l.redone++
	}
}

// buy gives both users an award of a stock and fills their order, sometimes with a second one.
func (l *lives) buy() {
	symbol := []string{"AAPL", "KO"}[l.random.IntN(2)]
	for _, u := range l.users {
		name, amount := l.name("award"), money.USD(1_000_000+l.random.Int64N(3_000_000))
		l.Give(name, u, symbol, amount, "", "")
		l.awards, l.left[name] = append(l.awards, name), amount
	}
	price := money.Price(10_000_000_000 + l.random.Int64N(300_000_000_000))
	if l.random.IntN(3) == 0 {
		o := l.Send(l.Plan(l.name("order"), symbol))
		qty, err := money.SharesFor(o.Notional/3, price)
		l.Check(err)
		l.Settle(l.Merge(o, "canceled", qty, price))
	}
	l.Fill(l.name("order"), symbol, price)
}

// change applies a corporate action.
func (l *lives) change() {
	symbol, other := "AAPL", "KO"
	if l.random.IntN(2) == 0 {
		symbol, other = other, symbol
	}
	id := l.name("action")
	switch n := l.random.IntN(12); {
	case n < 3:
		l.Act(id, rewards.Terms{Type: "forward_split", Symbol: symbol, OldRate: "2", NewRate: "3"}, "", "0", 0)
	case n < 5:
		l.Act(id, rewards.Terms{Type: "reverse_split", Symbol: symbol, OldRate: "3", NewRate: "1"}, "", "0", 0)
	case n < 7:
		l.Act(id, rewards.Terms{Type: "stock_dividend", Symbol: symbol, Rate: "0.07"}, "", "0", 0)
	case n < 9:
		l.Act(id, rewards.Terms{
			Type: "spin_off", Symbol: symbol, NewSymbol: "TSLA", OldRate: "7", NewRate: "2",
		}, "TSLA", "3/11", 0)
	case n < 10:
		l.Act(id, rewards.Terms{
			Type: "spin_off", Symbol: symbol, NewSymbol: other, OldRate: "3", NewRate: "1",
		}, other, "3/11", 0)
	case n < 11:
		l.Act(id, rewards.Terms{
			Type: "stock_merger", Symbol: symbol, NewSymbol: other, OldRate: "4", NewRate: "3",
		}, other, "0", 0)
	default:
		l.Act(id, rewards.Terms{Type: "worthless_removal", Symbol: symbol}, "", "0", 0)
	}
	l.done = append(l.done, id)
}

// What another action gave between an undo and its taking back stays with the award.
func TestAGiftBeforeAnUndoIsTakenBack(t *testing.T) {
	t.Parallel()
	w := audittest.NewWorld(t, audittest.NewFile)
	w.Give("g", w.User(w.App("app"), "ann", "", "ann"), "AAPL", 2*money.Dollar, "", "")
	w.Fill("o", "AAPL", 200*audittest.PerUSD)
	spin := rewards.Terms{Type: "spin_off", Symbol: "AAPL", NewSymbol: "KO", OldRate: "1", NewRate: "2"}
	w.Act("spin", spin, "KO", "3/11", 0)
	w.Act("split", rewards.Terms{Type: "forward_split", Symbol: "KO", OldRate: "1", NewRate: "3"}, "", "0", 0)
	w.Back("quarter", "app", "g", money.Dollar/2)
	_, err := w.UndoAction(t.Context(), "split")
	w.Check(err)
	w.SweepOpen()
	w.Agree()
	w.Act("spin again", spin, "KO", "3/11", 0)
	w.Back("another", "app", "g", money.Dollar/2)
	if !w.Redo("split") {
		t.Error("the undo is not taken back")
	}
	w.Agree()
	w.Back("the rest", "app", "g", money.Dollar)
	if r := run(t, w.Where); !r.OK() {
		t.Error(text(t, r))
	}
}
