package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/reader"
	"stockrewards/internal/ledger"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	shared "stockrewards/test/world"
)

// verify checks at the end what clients got, our books, and our books against the brokerage's.
func (w *world) verify() {
	w.verifyClients()
	w.verifyPositions()
	w.verifyOrders()
	w.audit()
	if w.t.Failed() {
		w.logStory()
	}
}

// verifyClients checks that every acknowledged reward exists once, as it was given, and is
// final.
func (w *world) verifyClients() {
	spent := map[string]money.USD{} // by user and symbol
	count := make([]int, apps)
	for _, g := range w.given {
		r := w.look(g)
		if r.ID != g.id || r.UserID != g.user || r.AssetSymbol != g.symbol || r.AmountUSD.String() != g.amount.String() {
			w.t.Errorf("given %+v, kept %+v", g, r)
		}
		switch {
		case w.stranded(g):
		case r.Status == "executed":
			spent[g.user+" "+w.stock(g.symbol)] += g.amount - w.reversed[g]
		case r.Status == "failed" && r.FailureReason != nil && w.canceled(g, *r.FailureReason):
		case r.Status != "failed" || r.FailureReason == nil:
			w.t.Errorf("%s of %s is %s in the end", g.key, g.symbol, r.Status)
		case w.ended(g.symbol) && strings.HasPrefix(*r.FailureReason, "asset_not_tradable:"):
		case g.symbol == "HALT" != strings.HasPrefix(*r.FailureReason, "asset_not_tradable:"):
			if !strings.HasPrefix(*r.FailureReason, "order_rejected:") && !w.refused(*r.FailureReason) {
				w.t.Errorf("%s of %s failed: %s", g.key, g.symbol, *r.FailureReason)
			}
		}
		count[g.app]++
	}
	for app := range apps {
		if w.firms != nil {
			count[app] += len(w.firms.awards[app])
		}
		w.verifyList(app, count[app])
		if w.firms != nil {
			continue // the model has the holdings
		}
		for _, user := range w.users[app] {
			w.verifyHoldings(app, user, spent)
		}
	}
}

// canceled reports whether a reward failed because its client took all of it back.
func (w *world) canceled(g *given, reason string) bool {
	return strings.HasPrefix(reason, "canceled:") && w.reversed[g] == g.amount
}

// refused reports whether a reward failed because the broker's faults refused its order.
func (w *world) refused(reason string) bool {
	return w.refuses && strings.HasPrefix(reason, "order_refused:")
}

func (w *world) verifyList(app, want int) {
	n := 0
	for next := "/v1/rewards?limit=100"; next != ""; {
		answer := w.serve(app, "GET", next, "")
		var page struct{ Rewards []reward }
		w.check(json.Unmarshal(answer.Body.Bytes(), &page))
		n += len(page.Rewards)
		next, _, _ = strings.Cut(strings.TrimPrefix(answer.Header().Get("Link"), "<"), ">")
	}
	if n != want {
		w.t.Errorf("app %d has %d rewards, %d were given", app, n, want)
	}
}

// verifyHoldings checks that each holding's cost basis is the sum of the executed rewards.
func (w *world) verifyHoldings(app int, user string, spent map[string]money.USD) {
	for stock, h := range w.holdings(app, user) {
		if cost := spent[user+" "+stock]; cost != h.CostBasis || h.Quantity <= 0 && (cost != 0 || w.reversed == nil) {
			w.t.Errorf("%s holds %s of %s for %s, executed were %s", user, h.Quantity, stock, h.CostBasis, cost)
		}
		delete(spent, user+" "+stock)
	}
	for _, symbol := range symbols() {
		if cost := spent[user+" "+symbol]; cost != 0 {
			w.t.Errorf("%s holds no %s, executed were %s", user, symbol, cost)
		}
	}
}

// holdings are a user's holdings by stock.
func (w *world) holdings(app int, user string) map[string]rewards.Holding {
	id, err := rewards.ParseID[rewards.User](user)
	w.check(err)
	list, err := w.store.Holdings(w.t.Context(), w.apps[app].ID, id)
	w.check(err)
	assets, err := w.store.Assets(w.t.Context())
	w.check(err)
	byStock := make(map[string]rewards.Holding)
	for _, h := range list {
		i := slices.IndexFunc(assets, func(a rewards.Asset) bool { return a.ID == h.AssetID })
		byStock[w.stock(assets[i].Symbol)] = h
	}
	return byStock
}

// booked is the shares of users and of the house in our books, by stock.
func (w *world) booked() map[string]money.Shares {
	sum := map[string]money.Shares{}
	for app := range apps {
		for _, user := range w.users[app] {
			for stock, h := range w.holdings(app, user) {
				sum[stock] += h.Quantity
			}
		}
	}
	assets, err := w.store.Assets(w.t.Context())
	w.check(err)
	for _, a := range assets {
		sum[w.stock(a.Symbol)] += w.house(a.ID)
	}
	return sum
}

// house is the house's shares of a stock in our books.
func (w *world) house(id rewards.AssetID) (shares money.Shares) {
	w.check(w.engine.Read(w.t.Context(), func(ctx context.Context, tx store.Tx) error {
		return tx.Query(ctx, func(row store.Row) error { return row.Scan((*int64)(&shares)) },
			`SELECT quantity FROM house_holdings WHERE asset_id = ?1`, int64(id))
	}))
	return shares
}

func (w *world) orders() []rewards.Order {
	const most = 1_000_000
	list, err := w.store.Orders(w.t.Context(), 0, rewards.Page[rewards.Order]{Limit: most})
	w.check(err)
	return list
}

// verifyPositions compares our books with the brokerage's, in shares of each stock.
func (w *world) verifyPositions() {
	positions, err := w.operator.Positions(w.t.Context())
	w.check(err)
	ours := w.booked()
	for _, p := range positions {
		stock := w.stock(p.Symbol)
		if ours[stock] != p.Qty {
			w.t.Errorf("the brokerage holds %s of %s, we booked %s", p.Qty, p.Symbol, ours[stock])
		}
		delete(ours, stock)
	}
	for symbol, qty := range ours {
		if qty != 0 {
			w.t.Errorf("the brokerage holds no %s, we booked %s", symbol, qty)
		}
	}
}

// verifyOrders checks that all orders ended, and compares each with the
// brokerage's books.
func (w *world) verifyOrders() {
	excused := map[string]bool{}
	for _, c := range w.conflicts() {
		excused[c.ClientOrderID] = !c.AcknowledgedAt.IsZero()
	}
	for _, o := range w.orders() {
		r, found := w.record(o.ClientOrderID)
		switch {
		case !o.State.Final() && w.ended(o.Symbol):
		case !o.State.Final():
			w.t.Errorf("order %s of %s is %s in the end: %s", o.ClientOrderID, o.Symbol, o.State, o.Reason)
		case strings.HasPrefix(r.Fault, "shrinking-fill") && w.ended(o.Symbol): // nobody can sell the excess
		case o.Corrected != r.FilledQty && !excused[o.ClientOrderID] && !w.sold[o.ClientOrderID]:
			w.t.Errorf("order %s: we booked %s, the brokerage %s (found %v)", o.ClientOrderID, o.Corrected, r.FilledQty, found)
		}
	}
}

func (w *world) audit() {
	file := filepath.Join(w.t.TempDir(), "copy.db")
	w.check(w.store.Backup(w.t.Context(), file))
	books, err := reader.OpenSQLite(w.t.Context(), file)
	w.check(err)
	report, err := audit.Run(w.t.Context(), books, audit.Options{})
	w.check(err)
	if _, violations := report.Violated(); violations != 0 {
		w.t.Errorf("the audit finds %d violations:\n%s", violations, fmt.Sprintf("%+v", report))
	}
	w.check(books.Close())
}

// hledger exports our books with the brokerage's positions and has hledger check them.
func (l *lab) hledger() {
	time.Sleep(time.Millisecond) // an order that ended at this moment counts as under way
	asked := time.Now()
	positions, err := l.operator.Positions(l.t.Context())
	l.check(err)
	for i, p := range positions {
		positions[i].Symbol = l.symbol(p.Symbol)
	}
	var journal bytes.Buffer
	l.check(l.store.ReadLedger(l.t.Context(), func(ctx context.Context, books store.LedgerReader) error {
		report, err := ledger.Write(ctx, &journal, books, &ledger.Positions{List: positions, Asked: asked})
		if busy := slices.DeleteFunc(report.NotCompared, l.ended); len(busy) > 0 {
			l.t.Errorf("orders of %v are under way in the end", busy)
		}
		return err
	}))
	file := filepath.Join(l.t.TempDir(), "books.journal")
	l.check(os.WriteFile(file, journal.Bytes(), 0o600))
	if out, err := shared.Hledger(l.t, file, "check", "--strict"); err != nil {
		l.t.Errorf("hledger: %v\n%s", err, out)
	}
	if n := bytes.Count(journal.Bytes(), []byte(" = ")); n < 10 {
		l.t.Errorf("the journal asserts %d balances:\n%s", n, journal.Bytes())
	}
}
