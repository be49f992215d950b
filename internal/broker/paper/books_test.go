package paper_test

import (
	"bytes"
	"database/sql"
	"fmt"
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
	"stockrewards/test/world"
)

// TestBooksBalance trades at random and checks that all dollars and shares are accounted for.
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
				amount := notional(money.USD(rapid.Int64Range(100, 2_000_099).Draw(r, "cents") * int64(money.Cent)).String())
				if rapid.Bool().Draw(r, "by quantity") {
					amount = quantity(money.Shares(rapid.Int64Range(1, 100_000_000_000).Draw(r, "shares")).String())
				}
				d.do(http.MethodPost, "/v2/orders", market(fmt.Sprint(i), symbol, side, amount))
			case "cancel":
				for _, o := range get[[]order](d, "/v2/orders?limit=1") {
					d.do(http.MethodDelete, "/v2/orders/"+o.ID, "")
				}
			case "wait":
				d.advance(time.Duration(rapid.Int64Range(0, int64(40*time.Hour)).Draw(r, "wait")))
			}
			d.advance(time.Duration(rapid.IntRange(0, 300).Draw(r, "moment")) * time.Millisecond)
			if i%4 == 0 {
				d.checkBalance(cash)
			}
		}
		d.checkBalance(cash)
	})
}

// checkBalance recomputes the account and the positions from the orders alone.
func (d *desk) checkBalance(cash money.USD) {
	d.t.Helper()
	holdings := make(map[string]money.Shares)
	left, heldAtLeast := cash, money.USD(0)
	for _, o := range get[[]order](d, "/v2/orders?status=all&limit=500&direction=asc") {
		open := o.Status == "accepted" || o.Status == "pending_new" || o.Status == "new"
		if open && o.Side == "buy" && o.Notional != nil {
			heldAtLeast += usd(*o.Notional)
		}
		if o.FilledQty == "0" {
			continue
		}
		qty := shares(o.FilledQty)
		value := must(money.Value(qty, price(*o.FilledAvgPrice), money.HalfAway))
		if o.Notional != nil && value > usd(*o.Notional) {
			d.t.Errorf("an order of %s was filled for %s", *o.Notional, value)
		}
		if o.Side == "sell" {
			qty, value = -qty, -value
		}
		left -= value
		holdings[o.Symbol] += qty
		if holdings[o.Symbol] < 0 {
			d.t.Errorf("more of %s was sold than bought", o.Symbol)
		}
		if holdings[o.Symbol] == 0 {
			delete(holdings, o.Symbol)
		}
	}
	a := d.account()
	equity := usd(a.Cash)
	got := make(map[string]money.Shares)
	for _, p := range get[[]position](d, "/v2/positions") {
		got[p.Symbol] = shares(p.Qty)
		equity += usd(p.MarketValue)
		if usd(p.UnrealizedPL) != usd(p.MarketValue)-usd(p.CostBasis) {
			d.t.Errorf("position %+v", p)
		}
	}
	if diff := cmp.Diff(holdings, got); diff != "" {
		d.t.Errorf("positions (-sum of the fills +got):\n%s", diff)
	}
	if usd(a.Cash) != left || left < 0 || usd(a.Equity) != equity {
		d.t.Errorf("account %+v, want cash %s and equity %s", a, left, equity)
	}
	if power := usd(a.BuyingPower); power > left-heldAtLeast || power < 0 {
		d.t.Errorf("buying power %s of %s, with %s in open orders", power, left, heldAtLeast)
	}
}

// TestBooksSurviveARestart reopens the books with other options and a smaller catalog.
func TestBooksSurviveARestart(t *testing.T) {
	t.Parallel()
	d := newFileDesk(t, paper.Options{Seed: 1, Cash: 5_000 * money.Dollar})
	d.buy("a", "BRK.B", "1000")
	d.buy("leaves", "AAPL", "1000")
	d.place("b", "F", "buy", notional("10"))
	d.place("c", "AAPL", "buy", notional("10"))
	wantPrice, _ := d.b.Price("BRK.B", monday())
	want := d.account()
	if info, err := os.Stat(d.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v (%v), want 0600", info.Mode(), err)
	}
	d.reopen(paper.Options{Seed: 2, Cash: 7 * money.Dollar}) // both are stored
	if diff := cmp.Diff(want, d.account()); diff != "" {
		t.Errorf("account (-before +after):\n%s", diff)
	}
	if got, _ := d.b.Price("BRK.B", monday()); got != wantPrice {
		t.Errorf("a price changed from %s to %s", wantPrice, got)
	}
	d.reopen(paper.Options{Catalog: catalog()[1:]}) // without AAPL
	d.advance(time.Second)
	if b, c := d.find("b"), d.find("c"); b.Status != "filled" || c.Status != "rejected" {
		t.Errorf("open orders became %s and, of a stock that left the catalog, %s; want filled and rejected", b.Status, c.Status)
	}
	if p := d.position("AAPL"); p.MarketValue != p.CostBasis {
		t.Errorf("a position in a stock that left the catalog is %+v, want it at cost", p)
	}
}

// TestTwoProcesses has two brokerages open the same books at once: they see each other's
// orders, and accept a client order id once.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "paper.db")
	w := &watch{at: monday()}
	desks := make([]*desk, 2)
	var wg sync.WaitGroup
	for i := range desks {
		desks[i] = &desk{watch: w, t: t, path: path}
		wg.Go(func() { desks[i].open(paper.Options{}) })
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
			r := desks[i%2].do(http.MethodPost, "/v2/orders", market(fmt.Sprint(i/4), "AAPL", "buy", notional("5")))
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
		wg.Go(func() { d.checkBalance(1_000_000_000_000 * money.Dollar) })
	}
	wg.Wait()
	if list := get[[]order](desks[1], "/v2/orders?status=closed&limit=500"); accepted != ids || len(list) != ids {
		t.Errorf("%d accepted, %d filled, want %d", accepted, len(list), ids)
	}
}

// execute runs SQL on a database file.
func execute(t *testing.T, path, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	world.Check(t, err)
	if _, err := db.ExecContext(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	world.Check(t, db.Close())
}

// older makes books of this version those of version 3: what is dropped is new since then.
const older = `DROP TRIGGER action_posted; DROP TRIGGER action_changed; DROP TRIGGER listing_new;
	DROP TRIGGER listing_changed; DROP TRIGGER price_moved; DROP TABLE listings; DROP TABLE price_moves; DROP TABLE closures;
	ALTER TABLE account DROP COLUMN market_revision; ALTER TABLE orders DROP COLUMN asset_id;
	DROP INDEX actions_due; ALTER TABLE actions DROP COLUMN asset_id; ALTER TABLE actions DROP COLUMN terms;
	ALTER TABLE actions DROP COLUMN fate; ALTER TABLE actions DROP COLUMN stage; ALTER TABLE actions DROP COLUMN due_at;
	ALTER TABLE actions DROP COLUMN counted; ALTER TABLE actions DROP COLUMN posted_at;
	CREATE INDEX actions_due ON actions (happens_at) WHERE state = 'announced'; PRAGMA user_version = 3;`

// TestBooksOfTheFirstVersion upgrades books with an order in them.
func TestBooksOfTheFirstVersion(t *testing.T) {
	t.Parallel()
	d := openDesk(t, filepath.Join(t.TempDir(), "paper.db"), paper.Options{})
	d.buy("one", "F", "12")
	d.check(d.b.Close())
	execute(t, d.path, older+`DROP TABLE test_clock; ALTER TABLE orders DROP COLUMN hidden_until;
		ALTER TABLE orders DROP COLUMN fate; DROP TABLE actions; DROP TABLE activities; PRAGMA user_version = 1`)
	for i := range 2 {
		d.reopen(paper.Options{})
		if o := d.find("one"); o.Status != "filled" {
			t.Errorf("%+v", o)
		}
		d.buy(fmt.Sprint("two", i), "F", "12")
	}
}

// TestBooksOfTheThirdVersion upgrades books with actions: what has happened stays as it was,
// and what was announced happens.
func TestBooksOfTheThirdVersion(t *testing.T) {
	t.Parallel()
	o := paper.Options{Control: true, Hours: paper.USEquities}
	d := openDesk(t, filepath.Join(t.TempDir(), "paper.db"), o)
	d.place("one", "F", "buy", quantity("10"))
	d.place("two", "NVDA", "buy", quantity("2"))
	d.advance(time.Second)
	d.announce(split("forward", "F", "1", "2", "2026-03-16"))
	d.announce(split("forward", "F", "1", "3", "2026-03-18"))
	d.announce(`{"type":"cash_dividend","symbol":"NVDA","rate":0.25,"ex_date":"2026-03-18","payable_date":"2026-03-20"}`)
	d.announce(`{"type":"stock_dividend","symbol":"AAPL","rate":1,"ex_date":"2026-03-18"}`)
	_, before := d.lastTrade("AAPL")
	d.check(d.b.Close())
	execute(t, d.path, "UPDATE actions SET old_rate = 0, new_rate = 0 WHERE type = 'stock_dividend';"+older)
	d.reopen(o)
	if got := d.position("F").Qty; got != "20" {
		t.Errorf("after the upgrade the position is %s, want 20", got)
	}
	if got, want := d.find("one"), "filled"; got.Status != want {
		t.Errorf("the order is %s, want %s", got.Status, want)
	}
	d.set(newYork("2026-03-20 03:00:00"))
	if got := d.position("F").Qty; got != "60" {
		t.Errorf("after the split the position is %s, want 60", got)
	}
	if _, p := d.lastTrade("AAPL"); !near(int64(p)*2, int64(before), 5) {
		t.Errorf("after the stock dividend the price is %s, it was %s", p, before)
	}
	if list := get[[]map[string]string](d, "/v2/account/activities/DIV"); len(list) != 1 || list[0]["net_amount"] != "0.5" {
		t.Errorf("dividends: %v, want one of 0.5", list)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	execute(t, filepath.Join(folder, "other.db"), "CREATE TABLE x (y)")
	execute(t, filepath.Join(folder, "numbered.db"), "CREATE TABLE x (y); PRAGMA user_version = 1")
	execute(t, filepath.Join(folder, "newer.db"), "PRAGMA user_version = 5")
	other, err := os.ReadFile(filepath.Join(folder, "other.db"))
	world.Check(t, err)
	err = os.WriteFile(filepath.Join(folder, "notes.txt"), []byte(strings.Repeat("not a database ", 100)), 0o600)
	world.Check(t, err)
	for path, o := range map[string]paper.Options{
		filepath.Join(folder, "other.db"):                {},
		filepath.Join(folder, "numbered.db"):             {},
		filepath.Join(folder, "newer.db"):                {},
		filepath.Join(folder, "notes.txt"):               {},
		folder:                                           {},
		filepath.Join(folder, "no", "such", "folder.db"): {},
		":memory:":                        {Cash: -1},
		filepath.Join(folder, "hours.db"): {Hours: 9},
	} {
		if b, err := paper.Open(t.Context(), path, o); err == nil {
			t.Errorf("opened %s with %+v", path, o)
			_ = b.Close()
		}
	}
	if after, err := os.ReadFile(filepath.Join(folder, "other.db")); err != nil || !bytes.Equal(after, other) {
		t.Errorf("another program's file was changed (%v)", err)
	}
}
