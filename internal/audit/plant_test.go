package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/prove"
)

// tables are the tables of the books.
var tables = append(prove.Tables(), "broker_conflicts")

// loose is a clean history, with a function that makes copies of it whose tables
// have no constraint and no index.
func loose(t *testing.T, in place) (w *world, another place) {
	t.Helper()
	w = history(t, in)
	if onPostgres(w.where) {
		return w, looseSchema(w.where)
	}
	path := filepath.Join(t.TempDir(), "loose.db")
	onFile(t, w.where, `VACUUM INTO '`+path+`'`)
	rebuild := []string{`DROP VIEW open_rewards`}
	for _, table := range tables {
		rebuild = append(rebuild, `CREATE TABLE loose AS SELECT * FROM `+table, `DROP TABLE `+table,
			`ALTER TABLE loose RENAME TO `+table)
	}
	onFile(t, path, rebuild...)
	file, err := os.ReadFile(path)
	check(t, err)
	return w, func(t *testing.T) string {
		t.Helper()
		path := newFile(t)
		check(t, os.WriteFile(path, file, 0o600))
		return path
	}
}

// looseSchema makes copies in schemas of their own, which their URLs name.
func looseSchema(url string) place {
	return func(t *testing.T) string {
		t.Helper()
		schema := fmt.Sprint("loose", databases.Add(1))
		statements := "CREATE SCHEMA " + schema
		for _, table := range append([]string{"goose_db_version"}, tables...) {
			statements += "; CREATE TABLE " + schema + "." + table + " AS TABLE public." + table
		}
		onDatabase(t, url, statements)
		return url + "&search_path=" + schema
	}
}

// sql puts the ids of the history into a statement.
func (w *world) sql(t *testing.T, statement string) string {
	t.Helper()
	statement, err := w.SQL(statement)
	check(t, err)
	return statement
}

// TestPlantedViolations plants violations one by one, each of which its check must
// report, and every check must be among them.
func TestPlantedViolations(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, in place) {
		w, another := loose(t, in)
		clean := run(t, another(t))
		if !clean.OK() {
			t.Fatalf("the loosened books do not pass:\n%s", text(t, clean))
		}
		planted := make(map[string]bool)
		for _, p := range prove.Plants() {
			planted[p.Check] = true
			t.Run(p.Check+"/"+p.What, func(t *testing.T) {
				t.Parallel()
				where := another(t)
				for _, statement := range p.Statements {
					if n := onBooks(t, where, w.sql(t, statement)); n == 0 {
						t.Fatalf("%s touched no row", statement)
					}
				}
				wantViolation(t, run(t, where), p.Check)
			})
		}
		for _, c := range clean.Checks {
			if !planted[c.Name] {
				t.Errorf("no violation of %s is planted", c.Name)
			}
		}
	})
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
