package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/audit/reader"
	"stockrewards/internal/rewards"
)

// TestCleanHistory audits a store while it is open. Every check must cover rows.
func TestCleanHistory(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		w := audittest.History(t, in)
		report := run(t, w.Where)
		if !report.OK() {
			t.Errorf("a clean history fails:\n%s", text(t, report))
		}
		names := make(map[string]bool)
		for _, c := range report.Checks {
			if (c.Rows > 0) == (c.Name == numbersOnly && audittest.OnPostgres(w.Where)) || c.Name == "" || c.Rule == "" || c.Unit == "" || c.Next == "" || names[c.Name] {
				t.Errorf("no rows, no description, or not unique: %+v", c)
			}
			names[c.Name] = true
		}
	})
}

// TestMovedMembers audits a store after the members and the lots of its past orders are moved.
func TestMovedMembers(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		w := audittest.History(t, in)
		moved := 0
		check(t, w.MoveMembers(t.Context(), func(rewards.OrderID) { moved++ }))
		check(t, w.MoveLots(t.Context(), func(rewards.OrderID) {}))
		if r := run(t, w.Where); moved != 1 || !r.OK() {
			t.Errorf("%d orders moved, want 1; the audit:\n%s", moved, text(t, r))
		}
		var left int
		check(t, audittest.SQL(t, w.Where).QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM past_lots) +
			(SELECT count(*) FROM settings WHERE name = 'next_past_lots')`).Scan(&left))
		if left != 0 {
			t.Errorf("%d rows are left of the earlier version", left)
		}
	})
}

// TestNewStore audits a store without rewards, and reads the report back from JSON.
func TestNewStore(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		report := run(t, audittest.NewWorld(t, in).Where)
		if !report.OK() {
			t.Errorf("a new store fails:\n%s", text(t, report))
		}
		b, err := json.Marshal(report)
		check(t, err)
		var got audit.Report
		check(t, json.Unmarshal(b, &got))
		if text(t, got) != text(t, report) || strings.Contains(string(b), "null") {
			t.Errorf("the report changes as JSON: %s", b)
		}
	})
}

// TestMaxViolations counts all violations and keeps the first ones.
func TestMaxViolations(t *testing.T) {
	t.Parallel()
	c := audittest.History(t, audittest.NewFile).Copy(t)
	c.Exec(`INSERT INTO prices WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
		SELECT 1000 + i, 1, 0, 0, 0, 0 FROM n; UPDATE all_members SET shares = shares - 1 WHERE reward_id = @ann-aapl`)
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
		"6 of 64 checks do not hold: 157 violations\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q:\n%s", want, got)
		}
	}
	if checks, violations := r.Violated(); checks != 6 || violations != 157 || r.OK() {
		t.Errorf("%d violations of %d checks, want 157 of 6", violations, checks)
	}
}

// changed is a store with changed queries.
type changed struct {
	reader.Queryer
	change func(query string) (string, error)
}

// Query implements reader.Queryer.
func (c changed) Query(ctx context.Context, query string) (reader.Rows, error) {
	query, err := c.change(query)
	if err != nil {
		return nil, err
	}
	return c.Queryer.Query(ctx, query)
}

// TestUnreadableStore fails when a query fails, when rows are invalid, and when rows come in another
// order.
func TestUnreadableStore(t *testing.T) {
	t.Parallel()
	where := audittest.History(t, audittest.NewFile).Where
	auditWith := func(change func(string) (string, error)) error {
		store, err := audittest.Open(t.Context(), where)
		check(t, err)
		_, err = audit.Run(t.Context(), changed{store, change}, audit.Options{})
		check(t, store.Close())
		return err
	}
	count := 0
	check(t, auditWith(func(query string) (string, error) {
		count++
		return query, nil
	}))
	for i := range count {
		for what, change := range map[string]func(string) (string, error){
			"no answer":    func(string) (string, error) { return "", errors.New("broken") },
			"invalid rows": func(string) (string, error) { return `SELECT 'a', 'b', 'c', 'd'`, nil },
		} {
			n := 0
			err := auditWith(func(query string) (string, error) {
				n++
				if n == i+1 {
					return change(query)
				}
				return query, nil
			})
			if err == nil || !strings.HasPrefix(err.Error(), "cannot read ") {
				t.Errorf("query %d, %s: error %v", i, what, err)
			}
		}
	}
	err := auditWith(func(query string) (string, error) {
		return strings.Replace(query, "FROM users ORDER BY app_id, id", "FROM users ORDER BY app_id, id DESC", 1), nil
	})
	if err == nil || !strings.Contains(err.Error(), "byte order") {
		t.Errorf("rows in another order: error %v", err)
	}
}
