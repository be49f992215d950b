package audit_test

import (
	"context"
	"database/sql"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"stockrewards/internal/audit"
)

// The tables of the books, which loosen rebuilds.
var tables = []string{
	"settings", "apps", "keys", "users", "assets", "prices", "rewards", "orders", "order_rewards",
	"order_resolutions", "allocations", "holdings", "spending", "lease", "broker_conflicts",
}

// loose is a clean history in a file whose tables have no constraint and no index.
func loose(t *testing.T) (w *world, file []byte) {
	t.Helper()
	w = history(t)
	path := filepath.Join(t.TempDir(), "loose.db")
	onFile(t, w.path, `VACUUM INTO '`+path+`'`)
	var rebuild []string
	for _, table := range tables {
		rebuild = append(rebuild, `CREATE TABLE loose AS SELECT * FROM `+table, `DROP TABLE `+table,
			`ALTER TABLE loose RENAME TO `+table)
	}
	onFile(t, path, rebuild...)
	file, err := os.ReadFile(path)
	check(t, err)
	return w, file
}

// write makes a file of its own.
func write(t *testing.T, file []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "books.db")
	check(t, os.WriteFile(path, file, 0o600))
	return path
}

// onFile runs statements on a file and tells how many rows the last one touched.
func onFile(t *testing.T, path string, statements ...string) int64 {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	check(t, err)
	var n int64
	for _, statement := range statements {
		result, err := db.ExecContext(context.WithoutCancel(t.Context()), statement)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		n, err = result.RowsAffected()
		check(t, err)
	}
	check(t, db.Close())
	return n
}

var placeholder = regexp.MustCompile(`@[a-z-]+`)

// sql puts the ids of the history into a statement.
func (w *world) sql(t *testing.T, statement string) string {
	t.Helper()
	return placeholder.ReplaceAllStringFunc(statement, func(name string) string {
		id, ok := w.ids[name[1:]]
		if !ok {
			t.Fatalf("no id %s", name)
		}
		return "x'" + hex.EncodeToString(id[:]) + "'"
	})
}

// TestPlantedViolations plants violations one by one, each of which its check must
// report, and every check must be among them.
func TestPlantedViolations(t *testing.T) {
	t.Parallel()
	w, file := loose(t)
	clean := run(t, write(t, file))
	if !clean.OK() {
		t.Fatalf("the loosened books do not pass:\n%s", text(t, clean))
	}
	planted := make(map[string]bool)
	for _, p := range slices.Concat(rewardPlants(), orderPlants(), fillPlants(), otherPlants()) {
		planted[p.check] = true
		t.Run(p.check+"/"+p.what, func(t *testing.T) {
			t.Parallel()
			path := write(t, file)
			for _, statement := range p.statements {
				if n := onFile(t, path, w.sql(t, statement)); n == 0 {
					t.Fatalf("%s touched no row", statement)
				}
			}
			wantViolation(t, run(t, path), p.check)
		})
	}
	for _, c := range clean.Checks {
		if !planted[c.Name] {
			t.Errorf("no violation of %s is planted", c.Name)
		}
	}
}

// wantViolation looks for a check among those that failed.
func wantViolation(t *testing.T, r audit.Report, name string) {
	t.Helper()
	var failed []string
	for _, c := range r.Checks {
		if c.Violated == 0 {
			continue
		}
		failed = append(failed, c.Name)
		for _, v := range c.Violations {
			if v.Row == "" || v.Found == "" || v.Expected == "" || v.Found == v.Expected {
				t.Errorf("%s: the violation %+v does not tell what is wrong", c.Name, v)
			}
		}
	}
	if !slices.Contains(failed, name) {
		t.Errorf("%s is not reported; reported are %v", name, failed)
	}
}

// plant is a violation of a check.
type plant struct {
	check, what string
	statements  []string
}

func breaking(check, what string, statements ...string) plant { return plant{check, what, statements} }
