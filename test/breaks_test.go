package test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/test/world"
)

// auditBroker compares with the broker and returns the exit status, the codes of the breaks
// and the output.
func (s *service) auditBroker(args ...string) (exit int, found []string, printed string) {
	s.t.Helper()
	cmd := exec.Command(binary, append([]string{"audit", "--broker", "--json", "--database", s.database()}, args...)...)
	cmd.Env = append(cmd.Environ(), s.env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	var report struct {
		Items []struct{ Severity, Code, Symbol string }
	}
	if len(out) > 0 {
		if err := json.Unmarshal(out, &report); err != nil {
			s.t.Fatalf("%s: %v", out, err)
		}
	}
	for _, i := range report.Items {
		found = append(found, i.Severity+" "+i.Code+" "+i.Symbol)
	}
	slices.Sort(found)
	return cmd.ProcessState.ExitCode(), found, string(out) + stderr.String()
}

// onFile runs statements on an unused database; each must change a row.
func (s *service) onFile(name string, statements ...string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.folder, name))
	noError(s.t, err)
	defer db.Close()
	for _, statement := range statements {
		result, err := db.ExecContext(context.WithoutCancel(s.t.Context()), statement)
		if err != nil {
			s.t.Fatalf("%s: %v", statement, err)
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			s.t.Fatalf("%s: touched nothing, %v", statement, err)
		}
	}
}

// Under load, the comparison with the broker finds no breaks.
func TestBrokerAuditUnderLoadIsClean(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	l := startLoad(s, 8)
	for range 6 {
		if exit, found, printed := s.auditBroker(); exit != 0 {
			t.Errorf("exit status %d, %v\n%s", exit, found, printed)
		}
	}
	l.verify()
	if exit, found, printed := s.auditBroker(); exit != 0 || len(found) != 0 {
		t.Errorf("at rest: exit status %d, %v\n%s", exit, found, printed)
	}
}

// Differences planted on either side are found, each with its code.
func TestBrokerAuditFindsPlantedBreaks(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	user := s.newUser("anna")
	var given []award
	for i, symbol := range []string{"AAPL", "KO", "MSFT", "NVDA", "TSLA", "VOO", "XOM", "JPM", "PEP", "GE"} {
		given = append(given, s.give(user, fmt.Sprint("planted-", i), "5", symbol))
	}
	for _, r := range given {
		s.await(r.ID, "executed", 20*time.Second)
	}
	noError(t, s.stop())
	if exit, found, printed := s.auditBroker(); exit != 0 || len(found) != 0 {
		t.Fatalf("before: exit status %d, %v\n%s", exit, found, printed)
	}
	s.onFile("paper.db",
		`DELETE FROM orders WHERE symbol = 'AAPL'`,
		`UPDATE orders SET symbol = 'F' WHERE symbol = 'KO'`,
		`UPDATE orders SET side = 'sell' WHERE symbol = 'MSFT'`,
		`UPDATE orders SET notional = notional + 10000 WHERE symbol = 'NVDA'`,
		`UPDATE orders SET filled_qty = filled_qty + 7 WHERE symbol = 'TSLA'`,
		`UPDATE orders SET state = 'canceled' WHERE symbol = 'VOO'`,
		`UPDATE orders SET filled_avg_price = filled_avg_price + 1 WHERE symbol = 'XOM'`,
		`UPDATE positions SET qty = qty + 1 WHERE symbol = 'JPM'`,
		`INSERT INTO positions (symbol, qty, cost) VALUES ('WMT', 5, 1)`,
	)
	s.onFile("rewards.db",
		`UPDATE holdings SET quantity = quantity - 2 WHERE asset_id = (SELECT id FROM assets WHERE symbol = 'PEP')`,
		`UPDATE orders SET client_order_id = 'another' WHERE symbol = 'GE'`,
	)
	exit, found, printed := s.auditBroker()
	want := []string{
		"break filled_differs TSLA", "break notional_differs NVDA", "break order_missing AAPL", "break order_missing GE",
		"break order_unknown GE", "break position_differs JPM", "break position_differs PEP", "break price_differs XOM",
		"break side_differs MSFT", "break status_differs VOO", "break symbol_differs KO", "warning position_foreign WMT",
	}
	if diff := cmp.Diff(want, found); diff != "" || exit != 1 {
		t.Errorf("exit status %d, found (-want +got):\n%s\n%s", exit, diff, printed)
	}
}

// A comparison that is impossible has a separate exit status and says why.
func TestBrokerAuditNeedsTheBroker(t *testing.T) {
	t.Parallel()
	s := newCustomer(t)
	want := func(exit int, text string, args ...string) {
		t.Helper()
		if got, _, printed := s.auditBroker(args...); got != exit || !strings.Contains(printed, text) {
			t.Errorf("%v: exit status %d, want %d and %q:\n%s", args, got, exit, text, printed)
		}
	}
	want(3, "belongs to no broker yet")
	want(2, "unexpected argument", "alpaca")
	first, second := startBrokerage(t, ""), startBrokerage(t, "")
	s.start(first.flags()...)
	s.await(s.give(s.newUser("anna"), "pins-the-broker", "5", "AAPL").ID, "executed", 20*time.Second)
	want(0, `"clean": true`, first.flags()[2:]...)
	want(3, "the database belongs to", second.flags()[2:]...)
	want(3, "cannot ask the broker", "--alpaca-url", "http://"+world.FreeAddress(t))
	s.env = nil
	want(3, "needs APCA_API_KEY_ID", first.flags()[2:]...)
}
