package test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/money"
	"stockrewards/test/world"
)

// ledger exports the service's books to a new file.
func (s *service) ledger(args ...string) string {
	s.t.Helper()
	journal := filepath.Join(s.t.TempDir(), "books.journal")
	s.command(append([]string{"ledger", "--output", journal}, args...)...)
	return journal
}

// mustHold fails if hledger finds a problem.
func mustHold(t *testing.T, journal string) {
	t.Helper()
	succeeds(t)(world.Hledger(t, journal, "check", "--strict"))
}

// customers are two users in each of three apps.
func customers(s *service) (apps []*service, users map[*service][]string) {
	s.t.Helper()
	users = map[*service][]string{}
	for i := range 3 {
		app := *s
		if i > 0 {
			app.key = strings.TrimSpace(s.command("app", "create", fmt.Sprint("app-", i)))
		}
		apps = append(apps, &app)
		for n := range 2 {
			users[&app] = append(users[&app], app.newUser(fmt.Sprint("customer-", n)))
		}
	}
	return apps, users
}

// giveAll gives every user rewards of several stocks, one of them too small for an order.
func giveAll(apps []*service, users map[*service][]string, round int) (given map[string]*service) {
	given = map[string]*service{}
	for _, app := range apps {
		for u, user := range users[app] {
			for i, symbol := range []string{"AAPL", "BRK.B", "KO"} {
				amount := money.USD(1_000_001 + 137_913*(u+i))
				if round == 0 && symbol == "KO" {
					amount = 30_000
				}
				given[app.give(user, fmt.Sprintf("key-%d-%d-%d", round, u, i), amount.String(), symbol).ID] = app
			}
		}
	}
	return given
}

// The exported books balance in hledger and equal the portfolios and the broker's positions.
// Package ledger tests that hledger finds damage.
func TestLedger(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	mustHold(t, s.ledger("--positions"))
	s.start("--pooling-window", "50ms")
	apps, users := customers(s)
	for round := range 4 {
		given := giveAll(apps, users, round)
		mustHold(t, s.ledger("--positions")) // a snapshot while others write
		for id, app := range given {
			app.await(id, "executed", 20*time.Second)
		}
	}
	journal := s.ledger("--positions")
	mustHold(t, journal)
	checkFile(t, s, journal)
	comparePortfolios(t, journal, apps, users)
	noError(t, s.stop())
	s.command("audit")
	comparePositions(t, s.folder)
	custody := map[string]string{}
	for symbol, shares := range ourShares(t, filepath.Join(s.folder, "rewards.db")) {
		custody[symbol] = shares.String()
	}
	if diff := cmp.Diff(custody, balances(t, journal, "assets:custody")["assets:custody"]); diff != "" {
		t.Errorf("custody (-books +hledger):\n%s", diff)
	}
	if printed := s.command("ledger"); !strings.HasSuffix(printed, " parts of rewards\n") ||
		!strings.Contains(printed, "; complete: ") || strings.Contains(printed, "customer-") {
		t.Error("the printed journal does not end as a complete one, or names a person")
	}
}

// checkFile checks the file's mode and content.
func checkFile(t *testing.T, s *service, journal string) {
	t.Helper()
	info, err := os.Stat(journal)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want it the owner's", info.Mode(), err)
	}
	before, err := os.ReadFile(journal)
	noError(t, err)
	s.wantError("exists", "ledger", "--output", journal)
	if after, err := os.ReadFile(journal); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the refused command changed the file: %v", err)
	}
	files, err := os.ReadDir(filepath.Dir(journal))
	if err != nil || len(files) != 1 {
		t.Errorf("other files beside the journal: %v, %v", files, err)
	}
}

// An incomplete journal leaves no file.
func TestLedgerOnAFullDisk(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	for i := range 20 { // their accounts exceed the disk
		s.command("app", "create", fmt.Sprint(strings.Repeat("long name ", 9), i))
	}
	disk := smallDisk(t, "4k")
	fails(t, "is not written", "no space left")(s.try("ledger", "--output", filepath.Join(disk, "books.journal")))
	if files, err := os.ReadDir(disk); err != nil || len(files) != 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

// balances are hledger's balances of matching accounts: account, commodity, quantity.
func balances(t *testing.T, journal, accounts string) map[string]map[string]string {
	t.Helper()
	out, err := world.Hledger(t, journal, "balance", accounts, "--flat", "--no-total", "-O", "csv", "--layout", "bare")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	noError(t, err)
	found := map[string]map[string]string{}
	for _, row := range rows[1:] {
		if found[row[0]] == nil {
			found[row[0]] = map[string]string{}
		}
		quantity := row[2]
		if strings.Contains(quantity, ".") {
			quantity = strings.TrimRight(strings.TrimRight(quantity, "0"), ".")
		}
		found[row[0]][strings.Trim(row[1], `"`)] = quantity
	}
	return found
}

// comparePortfolios compares hledger's balances of every user with the portfolio.
func comparePortfolios(t *testing.T, journal string, apps []*service, users map[*service][]string) {
	t.Helper()
	owed, due := balances(t, journal, "liabilities:users"), balances(t, journal, "assets:receivable")
	seen := 0
	for _, app := range apps {
		for _, user := range users[app] {
			var p struct {
				Holdings []struct {
					Asset               string
					Quantity, CostBasis json.Number
				}
			}
			app.must(200, "GET", "/v1/users/"+user+"/portfolio", "").decode(t, &p)
			shares, dollars := map[string]string{}, map[string]string{}
			for _, h := range p.Holdings {
				shares[h.Asset], dollars[h.Asset] = "-"+h.Quantity.String(), h.CostBasis.String()
			}
			gotShares, gotDollars := map[string]string{}, map[string]string{}
			for account, amounts := range owed {
				if strings.HasSuffix(account, ":"+user) {
					gotShares = amounts
				}
			}
			for account, amounts := range due {
				if _, symbol, found := strings.Cut(account, ":"+user+":"); found {
					gotDollars[symbol] = amounts["$"]
				}
			}
			if diff := cmp.Diff([]map[string]string{shares, dollars}, []map[string]string{gotShares, gotDollars}); diff != "" {
				t.Errorf("user %s (-portfolio +hledger):\n%s", user, diff)
			}
			seen += len(p.Holdings)
		}
	}
	if seen != 18 {
		t.Errorf("%d holdings compared, want 18", seen)
	}
}
