package audit_test

import (
	"slices"
	"strings"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
)

// TestPlantedViolations damages a store in one way after the other. The audit must
// report each, and each check must report one.
func TestPlantedViolations(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		c := audittest.History(t, in).Copy(t)
		clean := run(t, c.Where)
		if !clean.OK() {
			t.Fatalf("the copy fails before it is damaged:\n%s", text(t, clean))
		}
		planted := make(map[string]bool)
		list := slices.Concat(damages(), actionDamages(), eventDamages(), reversalDamages(), webhookDamages(), placeDamages(), lotDamages())
		if audittest.OnPostgres(c.Where) {
			list = append(list, columnDamages()...)
		} else {
			list = append(list, segmentDamages()...)
		}
		for _, d := range list {
			checks := strings.Fields(d.checks)
			for _, check := range checks {
				planted[check] = true
			}
			t.Run(checks[0]+"/"+d.what, func(t *testing.T) {
				c.Exec(d.sql)
				wantViolations(t, run(t, c.Where), checks...)
			})
			c.Restore()
		}
		if restored := run(t, c.Where); text(t, restored) != text(t, clean) {
			t.Errorf("damage remains:\n%s", text(t, restored))
		}
		for _, c := range clean.Checks {
			if !planted[c.Name] && c.Rows > 0 {
				t.Errorf("no damage for %s", c.Name)
			}
		}
	})
}

// wantViolations compares the checks that failed with those that must.
func wantViolations(t *testing.T, r audit.Report, want ...string) {
	t.Helper()
	var failed []string
	for _, c := range r.Checks {
		if c.Violated == 0 {
			continue
		}
		failed = append(failed, c.Name)
		for _, v := range c.Violations {
			if v.Row == "" || v.Found == "" || v.Expected == "" || v.Found == v.Expected {
				t.Errorf("%s: incomplete violation %+v", c.Name, v)
			}
		}
	}
	for _, name := range want {
		if !slices.Contains(failed, name) {
			t.Errorf("%s passed; failed: %v", name, failed)
		}
	}
}
