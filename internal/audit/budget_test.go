package audit_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/storetest"
)

var daily = rewards.Budget{Name: "daily", Per: rewards.PerApp, Period: rewards.PeriodDay, Limit: 100 * dollar}

// TestBudgetNotCounted audits a budget whose past is not counted. It may be so only until the operator log says that it
// is counted, or when an earlier version set the budget, which did not log that.
func TestBudgetNotCounted(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		w := audittest.NewWorld(t, in)
		w.Give("given", w.User(w.App("first"), "ann", "ann@example.com", ""), "KO", dollar, "", "")
		s, err := store.New(t.Context(), &storetest.Dying{Engine: w.Engine, Left: 1}, func() time.Time { return w.Now }, rand.NewChaCha8([32]byte{2}))
		check(t, err)
		if _, err = s.As(w.By()).SetBudget(t.Context(), "first", daily); !errors.Is(err, storetest.ErrDied) {
			t.Fatalf("error %v, want that the process died", err)
		}
		if r := run(t, w.Where); !r.OK() {
			t.Errorf("before the past is counted the audit fails:\n%s", text(t, r))
		}
		_, err = w.SetBudget(t.Context(), "first", daily)
		check(t, err)
		if r := run(t, w.Where); !r.OK() {
			t.Errorf("after the past is counted the audit fails:\n%s", text(t, r))
		}
		const off = `UPDATE budgets SET state = 1`
		c := w.Copy(t)
		c.Exec(off)
		wantViolations(t, run(t, c.Where), "operator_state")
		olderLog(t, w, c)
		if r := run(t, c.Where); !r.OK() {
			t.Errorf("with the log of an earlier version the audit fails:\n%s", text(t, r))
		}
	})
}

// TestFirstBudgetIsCounted audits the budgets of a new app, which has no past. They are in force at once.
func TestFirstBudgetIsCounted(t *testing.T) {
	t.Parallel()
	w := audittest.NewWorld(t, audittest.NewFile)
	_, _, err := w.CreateApp(t.Context(), "first", rewards.Key{Hash: rewards.HashKey("first")}, daily)
	check(t, err)
	if r := run(t, w.Where); !r.OK() {
		t.Errorf("the audit fails:\n%s", text(t, r))
	}
	c := w.Copy(t)
	c.Exec(`UPDATE budgets SET state = 1`)
	wantViolations(t, run(t, c.Where), "operator_state")
}

// olderLog gives a copy the operator log that an earlier version would have written.
func olderLog(t *testing.T, w *audittest.World, c *audittest.Copy) {
	t.Helper()
	without := func(text string) rewards.State {
		s, err := rewards.ParseState(text)
		check(t, err)
		return slices.DeleteFunc(s, func(f rewards.Field) bool { return f.Name == "counted" })
	}
	var head rewards.LogHead
	var rows []string
	_, err := w.WalkLog(t.Context(), func(e rewards.LogEntry) error {
		change := rewards.Change{Object: e.Object, Before: without(e.Before), After: without(e.After)}
		if len(change.After) == 0 {
			return nil
		}
		e.Actor = "tester" // Exec takes an @ for an id
		e = rewards.NextLogEntry(head, e.At, e.Operator, change)
		rows = append(rows, fmt.Sprintf(`(%d, %d, '%s', '%s', '%s', '%s', '%s', '%s', x'%s', x'%s')`, e.Number,
			e.At.UnixMicro(), e.Actor, e.Command, e.Object, e.Before, e.After, e.Reason, e.Previous, e.Hash))
		head = e.Head()
		return nil
	})
	check(t, err)
	c.Exec(`DELETE FROM operator_log; INSERT INTO operator_log (number, at, actor, command, object, state_before, state_after,
		reason, previous, hash) VALUES ` + strings.Join(rows, ", ") +
		fmt.Sprintf(`; UPDATE settings SET value = '%s' WHERE name = 'log_head'`, head))
}
