package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
)

// run audits books.
func run(t *testing.T, where string) audit.Report {
	t.Helper()
	books, err := open(t.Context(), where)
	check(t, err)
	report, err := audit.Run(t.Context(), books, audit.Options{})
	check(t, errors.Join(err, books.Close()))
	return report
}

func text(t *testing.T, r audit.Report) string {
	t.Helper()
	var b strings.Builder
	check(t, r.WriteText(&b))
	return b.String()
}

// TestCleanHistory audits books while the store has them open. Every check must
// have had something to look at.
func TestCleanHistory(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		report := run(t, audittest.History(t, in).Where)
		if !report.OK() {
			t.Errorf("the books of a clean history do not pass:\n%s", text(t, report))
		}
		names := make(map[string]bool)
		for _, c := range report.Checks {
			if c.Rows == 0 || c.Name == "" || c.Rule == "" || c.Unit == "" || names[c.Name] {
				t.Errorf("%+v looked at nothing, or is not told apart", c)
			}
			names[c.Name] = true
		}
	})
}

// TestNewBooks audits books without a reward.
func TestNewBooks(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		if report := run(t, audittest.NewWorld(t, in).Where); !report.OK() {
			t.Errorf("new books do not pass:\n%s", text(t, report))
		}
	})
}

func TestManyViolationsAreCountedAndTheFirstKept(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		c := audittest.History(t, in).Copy(t)
		c.Exec(`INSERT INTO prices WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
			SELECT 1000 + i, 1, 0, 0, 0 FROM n; UPDATE allocations SET shares = shares - 1 WHERE reward_id = @ann-aapl`)
		r := run(t, c.Where)
		for _, c := range r.Checks {
			if c.Name == "asset_known" && (c.Violated != 150 || len(c.Violations) != audit.MaxViolations) {
				t.Errorf("%d violations, %d kept; want 150 and %d", c.Violated, len(c.Violations), audit.MaxViolations)
			}
		}
		got := text(t, r)
		for _, want := range []string{
			"ok    key_unique (2): ", "FAIL  asset_known (7): ", "\nasset_known: 150 violations\n", "  and 50 more\n",
			"    found:    asset 1001\n    expected: an asset of the catalog\n", "FAIL  allocation_sum (16, 19): ",
			"4 of 43 checks do not hold: 153 violations\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("the report does not say %q:\n%s", want, got)
			}
		}
		if checks, violations := r.Violated(); checks != 4 || violations != 153 || r.OK() {
			t.Errorf("%d violations of %d checks, want 153 of 4", violations, checks)
		}
	})
}

// TestJSON reads the report back.
func TestJSON(t *testing.T) {
	t.Parallel()
	want := run(t, audittest.NewWorld(t, audittest.NewFile).Where)
	b, err := json.Marshal(want)
	check(t, err)
	var got audit.Report
	check(t, json.Unmarshal(b, &got))
	if text(t, got) != text(t, want) || strings.Contains(string(b), "null") {
		t.Errorf("the report as JSON is another one: %s", b)
	}
}

// other answers queries otherwise than the books do.
type other struct {
	audit.Queryer
	change func(query string) (string, error)
}

// Query implements audit.Queryer.
func (o other) Query(ctx context.Context, query string) (audit.Rows, error) {
	query, err := o.change(query)
	if err != nil {
		return nil, err
	}
	return o.Queryer.Query(ctx, query)
}

// TestUnreadableBooks must not pass for an audit: neither when a query fails, nor
// when rows cannot be read, nor when they come in another order.
func TestUnreadableBooks(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		w := audittest.History(t, in)
		count := 0
		counting := func(query string) (string, error) {
			count++
			return query, nil
		}
		auditAs := func(change func(string) (string, error)) error {
			books, err := open(t.Context(), w.Where)
			check(t, err)
			_, err = audit.Run(t.Context(), other{books, change}, audit.Options{})
			check(t, books.Close())
			return err
		}
		check(t, auditAs(counting))
		broken := errors.New("broken")
		for i := range count {
			for what, change := range map[string]func(string) (string, error){
				"no answer": func(string) (string, error) { return "", broken },
				"bad rows":  func(string) (string, error) { return `SELECT 'a', 'b'`, nil },
			} {
				n := 0
				err := auditAs(func(query string) (string, error) {
					n++
					if n == i+1 {
						return change(query)
					}
					return query, nil
				})
				if err == nil || !strings.HasPrefix(err.Error(), "audit: read ") {
					t.Errorf("query %d, %s: error %v", i, what, err)
				}
			}
		}
		err := auditAs(func(query string) (string, error) {
			return strings.Replace(query, "FROM users ORDER BY app_id, id", "FROM users ORDER BY app_id, id DESC", 1), nil
		})
		if err == nil || !strings.Contains(err.Error(), "order of the bytes") {
			t.Errorf("rows in another order: error %v", err)
		}
	})
}
