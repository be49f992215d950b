package sim

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store/sqlite"
)

var backups = flag.Int("backups", 2, "number of seeds in which backups are restored, beginning with -seed")

// A backup is restored, or a server takes over that lacks the last commits. Clients give again what they gave since, and
// the operator adopts the orders that our books lack. Meanwhile nothing is ordered. In the end every reward is
// executed once, what nobody waits for is outside of our books, and these are right.
func TestBackupsAreRestored(t *testing.T) {
	t.Parallel()
	for n := range *backups {
		seed := *seed + uint64(n)
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := &restoring{world: openWorld(t, seed), outside: map[string]money.Shares{}}
				for _, fault := range []string{
					"lost-answer on=submit", "cut-answer", "partial-then-canceled share=30", "partial-then-filled by=1m share=30",
					"cancel", "error status=500", "reject",
				} {
					w.afflict(fault + " chance=5%")
				}
				lost := 0
				for range 2 {
					w.live()
					backup := w.backUp()
					w.live()
					w.restore(backup)
					lost += len(w.lost)
					w.recover()
				}
				w.brokerage.RemoveFault(0)
				for hours := 0; hours < 30 && !w.done(); hours++ {
					w.pass(time.Hour, time.Minute)
					w.attend()
				}
				w.verifyEnd()
				if lost == 0 {
					t.Error("no order was lost")
				}
			})
		})
	}
}

// restoring is a world whose database goes back now and then.
type restoring struct {
	*world

	lost    []string                // the orders at the brokerage that our books lack
	ordered int                     // how many orders our books have
	outside map[string]money.Shares // bought by lost orders that nobody waited for
}

// backup is a copy of the database, with how many rewards were given before it.
type backup struct {
	file  string
	given int
}

// live gives rewards for some minutes.
func (w *restoring) live() {
	for range 5 + w.random.IntN(30) {
		for range w.random.IntN(4) {
			app := w.random.IntN(apps)
			list := symbols()
			w.give(app, w.users[app][w.random.IntN(usersPerApp)], list[w.random.IntN(len(list))],
				money.Dollar*money.USD(1+w.random.IntN(40))+money.USD(w.random.IntN(100))*money.Cent/10)
		}
		w.pass(time.Duration(1+w.random.IntN(20))*time.Second, time.Second)
	}
}

func (w *restoring) backUp() backup {
	file := filepath.Join(w.t.TempDir(), "backup.db")
	w.check(w.store.Backup(w.t.Context(), file))
	w.note("operator: a backup, with %d rewards", len(w.given))
	return backup{file, len(w.given)}
}

// restore starts another process over a backup.
func (w *restoring) restore(b backup) {
	before := w.orders()
	engine, err := sqlite.Open(w.t.Context(), b.file, sqlite.Options{Sole: true})
	w.check(err)
	w.t.Cleanup(func() { w.check(engine.Close()) })
	w.engine = &disk{Engine: engine}
	w.boot()
	w.lost = w.lost[:0]
	for _, o := range before {
		_, kept := w.order(o.ClientOrderID)
		if _, sent := w.record(o.ClientOrderID); sent && !kept {
			w.lost = append(w.lost, o.ClientOrderID)
		}
	}
	for _, g := range w.given[b.given:] {
		g.acknowledged, g.id = false, ""
	}
	w.ordered = len(w.orders())
	w.note("operator: the backup is restored; it lacks %d rewards and the orders %v", len(w.given)-b.given, w.lost)
}

// recover has the clients give again what they gave, in any order, and the operator adopt what is lost. What is given
// meanwhile waits.
func (w *restoring) recover() {
	const most = 30 * time.Minute
	for begun := time.Now(); time.Since(begun) < most; {
		again := slices.DeleteFunc(slices.Clone(w.given), func(g *given) bool { return g.acknowledged })
		if n := len(again); n > 0 && w.random.IntN(2) == 0 {
			w.send(again[w.random.IntN(n)])
		}
		w.tick(time.Second)
		if len(w.lost) > 0 && len(w.orders()) > w.ordered {
			w.logStory()
			w.t.Fatalf("an order is made while our books lack %v", w.lost)
		}
		if len(again) == 0 && w.random.IntN(4) == 0 {
			w.adoptOne()
		}
		if len(again)+len(w.lost) == 0 {
			return
		}
	}
	w.logStory()
	w.t.Fatalf("after %s our books lack %v", most, w.lost)
}

// done reports whether every reward is executed or has failed.
func (w *restoring) done() bool {
	return !slices.ContainsFunc(w.given, func(g *given) bool {
		status := w.look(g).Status
		return status == "recorded" || status == "executing"
	})
}

// adoptOne has the operator adopt a lost order that the service has noticed, or acknowledge it when nobody waits for it.
func (w *restoring) adoptOne() {
	open := w.openConflicts()
	if len(open) == 0 {
		return
	}
	c := open[0]
	if !slices.Contains(w.lost, c.ClientOrderID) {
		w.t.Errorf("a conflict about an order that is not lost: %+v", c)
	}
	b, err := w.operator.OrderByClientID(w.t.Context(), c.ClientOrderID)
	if err != nil {
		return // a fault
	}
	_, err = w.store.AdoptOrder(w.t.Context(), b, "restored")
	switch {
	case err == nil:
		w.note("operator: adopts %s of %s with %s", c.ClientOrderID, c.Symbol, b.Notional)
		w.ordered++
	case rewards.CodeOf(err) == rewards.CodeConflict && strings.Contains(err.Error(), "no waiting reward"):
		r, _ := w.record(c.ClientOrderID)
		if !ended(r) {
			return
		}
		w.note("operator: acknowledges %s of %s: %v", c.ClientOrderID, c.Symbol, err)
		w.check(w.store.AcknowledgeConflict(w.t.Context(), c.ClientOrderID, "restored"))
		w.outside[c.Symbol] += r.FilledQty
	default:
		w.check(err)
	}
	w.lost = slices.DeleteFunc(w.lost, func(id string) bool { return id == c.ClientOrderID })
}

// verifyEnd checks the clients' rewards, and our books against the brokerage's.
func (w *restoring) verifyEnd() {
	w.verifyClients()
	w.verifyOrders()
	w.audit()
	positions, err := w.operator.Positions(w.t.Context())
	w.check(err)
	ours := w.booked()
	for _, p := range positions {
		if ours[p.Symbol]+w.outside[p.Symbol] != p.Qty {
			w.t.Errorf("the brokerage holds %s of %s, we booked %s, outside are %s", p.Qty, p.Symbol, ours[p.Symbol], w.outside[p.Symbol])
		}
	}
	if w.t.Failed() {
		w.logStory()
	}
}
