package paper_test

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
)

// TestBooksBalance trades at random and checks now and then that the dollars
// and the shares that moved are all accounted for.
func TestBooksBalance(t *testing.T) {
	t.Parallel()
	const cash = 50_000 * money.Dollar
	rapid.Check(t, func(r *rapid.T) {
		hours := rapid.SampledFrom([]paper.Hours{paper.AlwaysOpen, paper.USEquities}).Draw(r, "hours")
		d := newDesk(t, paper.Options{Cash: cash, Hours: hours, Seed: rapid.Uint64().Draw(r, "seed")})
		for i := range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"order", "order", "order", "cancel", "wait"}).Draw(r, "step") {
			case "order":
				symbol := rapid.SampledFrom([]string{"AAPL", "F", "PENNY", "BRK.A"}).Draw(r, "symbol")
				side := rapid.SampledFrom([]string{"buy", "buy", "sell"}).Draw(r, "side")
				amount := fmt.Sprintf(`"notional":"%d.%02d"`, rapid.IntRange(1, 20_000).Draw(r, "dollars"), rapid.IntRange(0, 99).Draw(r, "cents"))
				if rapid.Bool().Draw(r, "by quantity") {
					amount = `"qty":` + money.Shares(rapid.Int64Range(1, 100_000_000_000).Draw(r, "shares")).String()
				}
				d.do(t, http.MethodPost, "/v2/orders", market(fmt.Sprint(i), symbol, side, amount))
			case "cancel":
				for _, o := range get[[]order](t, d, "/v2/orders?limit=1") {
					d.do(t, http.MethodDelete, "/v2/orders/"+o.ID, "")
				}
			case "wait":
				d.advance(time.Duration(rapid.Int64Range(0, int64(40*time.Hour)).Draw(r, "wait")))
			}
			d.advance(time.Duration(rapid.IntRange(0, 300).Draw(r, "moment")) * time.Millisecond)
			if i%4 == 0 {
				checkBalance(t, d, cash)
			}
		}
		checkBalance(t, d, cash)
	})
}

// checkBalance recomputes the account and the positions from the orders alone.
func checkBalance(t *testing.T, d *desk, cash money.USD) {
	t.Helper()
	holdings := make(map[string]money.Shares)
	left, heldAtLeast := cash, money.USD(0)
	for _, o := range get[[]order](t, d, "/v2/orders?status=all&limit=500&direction=asc") {
		open := o.Status == "accepted" || o.Status == "pending_new" || o.Status == "new"
		if open && o.Side == "buy" && o.Notional != nil {
			heldAtLeast += usd(t, *o.Notional)
		}
		if o.FilledQty == "0" {
			continue
		}
		qty := shares(t, o.FilledQty)
		value, err := money.Value(qty, price(t, *o.FilledAvgPrice), money.HalfAway)
		if err != nil {
			t.Fatal(err)
		}
		if o.Notional != nil && value > usd(t, *o.Notional) {
			t.Errorf("an order of %s was filled for %s", *o.Notional, value)
		}
		if o.Side == "sell" {
			qty, value = -qty, -value
		}
		left -= value
		holdings[o.Symbol] += qty
		if holdings[o.Symbol] < 0 {
			t.Errorf("more of %s was sold than bought", o.Symbol)
		}
		if holdings[o.Symbol] == 0 {
			delete(holdings, o.Symbol)
		}
	}
	a := get[account](t, d, "/v2/account")
	equity := usd(t, a.Cash)
	got := make(map[string]money.Shares)
	for _, p := range get[[]position](t, d, "/v2/positions") {
		got[p.Symbol] = shares(t, p.Qty)
		equity += usd(t, p.MarketValue)
		if usd(t, p.UnrealizedPL) != usd(t, p.MarketValue)-usd(t, p.CostBasis) {
			t.Errorf("position %+v", p)
		}
	}
	if diff := cmp.Diff(holdings, got); diff != "" {
		t.Errorf("positions (-sum of the fills +got):\n%s", diff)
	}
	if usd(t, a.Cash) != left || left < 0 || usd(t, a.Equity) != equity {
		t.Errorf("account %+v, want cash %s and equity %s", a, left, equity)
	}
	if power := usd(t, a.BuyingPower); power > left-heldAtLeast || power < 0 {
		t.Errorf("buying power %s of %s, with %s in open orders", power, left, heldAtLeast)
	}
}

// TestBooksAreKept closes and opens the books again.
func TestBooksAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "odd name?#%.db")
	w := &watch{at: monday()}
	openAt := func(o paper.Options) *desk {
		o.Now, o.Catalog = w.now, catalog()
		b, err := paper.Open(t.Context(), path, o)
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		return &desk{watch: w, b: b}
	}
	d := openAt(paper.Options{Seed: 1, Cash: 5_000 * money.Dollar})
	d.bought(t, "a", "BRK.B", "1000")
	d.place(t, "b", "F", "buy", `"notional":"10"`)
	wantPrice, _ := d.b.Price("AAPL", monday())
	want := get[account](t, d, "/v2/account")
	if err := d.b.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v (%v), want 0600", info.Mode(), err)
	}
	d = openAt(paper.Options{Seed: 2, Cash: 7 * money.Dollar}) // both are kept in the books
	t.Cleanup(func() { _ = d.b.Close() })
	if diff := cmp.Diff(want, get[account](t, d, "/v2/account")); diff != "" {
		t.Errorf("the account (-before +after):\n%s", diff)
	}
	if got, _ := d.b.Price("AAPL", monday()); got != wantPrice {
		t.Errorf("a price went from %s to %s", wantPrice, got)
	}
	d.advance(time.Second)
	if o := d.find(t, "b"); o.Status != "filled" {
		t.Errorf("an order that was open is %s", o.Status)
	}
}

// TestTwoOpeners has two brokerages on the same books, as two processes would:
// they see each other's orders, and an id is taken once.
func TestTwoOpeners(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "paper.db")
	w := &watch{at: monday()}
	desks := make([]*desk, 2)
	var wg sync.WaitGroup
	for i := range desks {
		wg.Go(func() {
			b, err := paper.Open(t.Context(), path, paper.Options{Catalog: catalog(), Now: w.now})
			if err != nil {
				t.Errorf("Open: %v", err)
				return
			}
			desks[i] = &desk{watch: w, b: b}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	const ids = 20
	var mu sync.Mutex
	accepted := 0
	for i := range 4 * ids {
		wg.Go(func() {
			r := desks[i%2].do(t, http.MethodPost, "/v2/orders",
				market(fmt.Sprint(i/4), "AAPL", "buy", `"notional":"5"`))
			mu.Lock()
			defer mu.Unlock()
			if r.status == http.StatusOK {
				accepted++
			} else if !strings.Contains(r.body, "must be unique") {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
	wg.Wait()
	w.advance(time.Second)
	for _, d := range desks {
		wg.Go(func() { checkBalance(t, d, 1_000_000_000_000*money.Dollar) })
	}
	wg.Wait()
	if list := get[[]order](t, desks[1], "/v2/orders?status=closed&limit=500"); accepted != ids || len(list) != ids {
		t.Errorf("%d accepted, %d filled, want %d", accepted, len(list), ids)
	}
	for _, d := range desks {
		if err := d.b.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

// TestOtherFiles opens files that are no books of this version.
func TestOtherFiles(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"another program's": "CREATE TABLE x (y)",
		"a newer version's": "PRAGMA user_version = 4",
	} {
		path := filepath.Join(t.TempDir(), "other.db")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := paper.Open(t.Context(), path, paper.Options{}); err == nil {
			t.Errorf("%s file was opened", name)
		}
	}
	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, t.TempDir(), filepath.Join(t.TempDir(), "no", "such", "folder.db")} {
		if _, err := paper.Open(t.Context(), path, paper.Options{}); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
	if _, err := paper.Open(t.Context(), ":memory:", paper.Options{Cash: -1}); err == nil {
		t.Error("opened with debts")
	}
	if _, err := paper.Open(t.Context(), ":memory:", paper.Options{Hours: 9}); err == nil {
		t.Error("opened with unknown hours")
	}
}

// TestLeftTheCatalog opens books with a position and an order in a stock that is
// not in the catalog any more.
func TestLeftTheCatalog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "paper.db")
	w := &watch{at: monday()}
	b, err := paper.Open(t.Context(), path, paper.Options{Catalog: catalog(), Now: w.now})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{watch: w, b: b}
	d.bought(t, "a", "AAPL", "1000")
	d.place(t, "b", "AAPL", "buy", `"notional":"10"`)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	d.b = open(t, path, paper.Options{Catalog: catalog()[1:], Now: w.now})
	d.advance(time.Second)
	if o := d.find(t, "b"); o.Status != "rejected" {
		t.Errorf("the order is %s, want rejected", o.Status)
	}
	p := get[position](t, d, "/v2/positions/AAPL")
	if p.MarketValue != p.CostBasis {
		t.Errorf("the position is %+v, want it at its cost", p)
	}
}

func benchmarkRequest(b *testing.B, p *paper.Brokerage, method, path, body string) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, "http://paper.test"+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	resp, err := p.Transport().RoundTrip(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d %s", path, resp.StatusCode, text)
	}
}

// BenchmarkSubmit sends orders to books in a file, each with its commit and fill.
func BenchmarkSubmit(b *testing.B) {
	w := &watch{at: monday()}
	p, err := paper.Open(b.Context(), filepath.Join(b.TempDir(), "paper.db"),
		paper.Options{Catalog: catalog(), Now: w.now})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	for i := 0; b.Loop(); i++ {
		benchmarkRequest(b, p, http.MethodPost, "/v2/orders", market(fmt.Sprint(i), "AAPL", "buy", `"notional":"5"`))
		w.advance(time.Millisecond)
	}
}

// BenchmarkOrders lists the open orders at the end of a long history.
func BenchmarkOrders(b *testing.B) {
	w := &watch{at: monday()}
	p, err := paper.Open(b.Context(), ":memory:", paper.Options{Catalog: catalog(), Now: w.now})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	for i := range 5_000 {
		benchmarkRequest(b, p, http.MethodPost, "/v2/orders", market(fmt.Sprint(i), "AAPL", "buy", `"notional":"5"`))
		w.advance(100 * time.Millisecond)
	}
	for b.Loop() {
		benchmarkRequest(b, p, http.MethodGet, "/v2/orders?status=open&limit=500", "")
	}
}
