package ledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/ledger"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/sqlite"
	"stockrewards/internal/store/storetest"
	shared "stockrewards/test/world"
)

// world is a store in which tests plant errors.
type world struct {
	*storetest.World
	t      *testing.T
	engine *sqlite.Engine
}

// dollar is a price of $1.
const dollar money.Price = 1_000_000_000

func newWorld(t *testing.T) *world {
	t.Helper()
	engine := shared.Engine(t)
	return &world{storetest.NewWorld(t, engine), t, engine}
}

func (w *world) check(err error) {
	w.t.Helper()
	shared.Check(w.t, err)
}

// lease returns the world's lease.
func (w *world) lease() rewards.Lease {
	w.t.Helper()
	l, err := w.TakeLease(w.t.Context(), "tester", time.Hour, false)
	w.check(err)
	return l
}

// giveTo records a reward of AAPL for a user.
func (w *world) giveTo(user rewards.User, amount money.USD) rewards.Reward {
	w.t.Helper()
	r := w.Request(w.t, amount)
	r.AppID, r.UserID = user.AppID, user.ID
	r.Fingerprint = rewards.NewFingerprint(r, "")
	outcomes, err := w.RecordRewards(w.t.Context(), []rewards.NewReward{r})
	w.check(err)
	return outcomes[0].Reward
}

// buy orders the waiting rewards and settles the order with a fill.
func (w *world) buy(status string, filled money.Shares, price money.Price) rewards.Order {
	w.t.Helper()
	o := w.Open(w.t)
	w.check(w.Settle(w.t, o, status, filled, price))
	o, err := w.Order(w.t.Context(), o.ID)
	w.check(err)
	return o
}

// plant changes rows by SQL.
func (w *world) plant(statement string, args ...any) {
	w.t.Helper()
	w.check(w.engine.Write(w.t.Context(), func(ctx context.Context, tx store.Tx) error {
		n, err := tx.Exec(ctx, statement, args...)
		if err == nil && n == 0 {
			err = errors.New("no row was changed")
		}
		return err
	}))
}

// write writes the journal.
func (w *world) write(positions *ledger.Positions) (string, ledger.Report) {
	w.t.Helper()
	var journal strings.Builder
	var report ledger.Report
	w.check(w.ReadLedger(w.t.Context(), func(ctx context.Context, reader store.LedgerReader) (err error) {
		report, err = ledger.Write(ctx, &journal, reader, positions)
		return err
	}))
	return journal.String(), report
}

// mustCheck writes the journal and checks it by hledger.
func (w *world) mustCheck(positions *ledger.Positions) (string, ledger.Report) {
	w.t.Helper()
	journal, report := w.write(positions)
	if out, err := hledger(w.t, journal, "check", "--strict"); err != nil {
		w.t.Fatalf("%v\n%s\n%s", err, out, journal)
	}
	return journal, report
}

// mustPass checks the journal by hledger and returns hledger's balances.
func (w *world) mustPass() string {
	w.t.Helper()
	journal, _ := w.mustCheck(nil)
	out, err := hledger(w.t, journal, "balance", "--flat", "--no-total", "--format", "%(account) %(total)")
	w.check(err)
	return out
}

// mustFail checks that hledger rejects the journal and that its output has all the words.
func (w *world) mustFail(positions *ledger.Positions, words ...string) {
	w.t.Helper()
	journal, _ := w.write(positions)
	out, err := hledger(w.t, journal, "check", "--strict")
	if err == nil {
		w.t.Fatalf("hledger finds nothing in\n%s", journal)
	}
	for _, word := range words {
		if !strings.Contains(out, word) {
			w.t.Errorf("hledger does not report %q:\n%s", word, out)
		}
	}
}

// hledger runs hledger on a journal and returns its output.
func hledger(t *testing.T, journal string, args ...string) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "books.journal")
	shared.Check(t, os.WriteFile(file, []byte(journal), 0o600))
	return shared.Hledger(t, file, args...)
}

// wantBalances compares hledger's balances with lines of account and amount.
func wantBalances(t *testing.T, got string, want ...string) {
	t.Helper()
	lines := map[string]bool{}
	for line := range strings.Lines(got) {
		lines[strings.Join(strings.Fields(line), " ")] = true
	}
	for _, line := range want {
		if !lines[line] {
			t.Errorf("no balance %q in\n%s", line, got)
		}
	}
}
