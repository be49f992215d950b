package sqlite_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stockrewards/internal/store"
	"stockrewards/internal/store/storetest"
)

// No statement scans a growing table, or an app's part of it, or sorts an unbounded result. No
// index is superfluous. The contract, which runs every statement, holds on one connection: no
// use case needs two.
func TestNoStatementCostsMoreOverTheYears(t *testing.T) {
	t.Parallel()
	r := new(storetest.Recorder)
	recordContract(t, r, opener(memory))
	recordContract(t, r, older)
	upgrade(t, r.On(older(t)))
	upgradeOfRows(t, r.On)
	all := r.Statements()
	storetest.CheckAllRun(t, "..", all, false, "cutover.go", // which has its own test; the others are of PostgreSQL
		"record_column.go", "column_segments.go", "column_batch.go", "column_find.go", "column_seal.go",
		"column_blocks.go", "column_filter.go", "column_indexed.go", "column_recognize.go", "column_row.go",
		"column_user.go", "column_key_block.go", "column_missing.go", "holding_shared.go")
	e := older(t)
	explained := 0
	explain := func(s storetest.Statement) []storetest.Fault {
		explained++ // SQLite does not plan the same text twice
		return faultsOf(t, e, storetest.Statement{Query: s.Query + fmt.Sprintf(" -- %d", explained), Args: s.Args})
	}
	faults, idle := storetest.FaultsOf(t, all, explain)
	for _, fault := range faults {
		t.Error(fault)
	}
	const onlyOfPostgres = 23
	if len(idle) != onlyOfPostgres {
		t.Errorf("exceptions that no statement needs: %q", idle)
	}
	limit := regexp.MustCompile(`LIMIT \?\d+( \+ 0)?`)
	for _, s := range all {
		for _, found := range limit.FindAllStringSubmatch(s.Query, -1) {
			if found[1] == "" {
				t.Errorf("SQLite plans it again whenever it runs, because of a bare parameter after LIMIT: %s", s.Query)
			}
		}
	}
	for name, text := range indexes(t, e) {
		write(t, e, `DROP INDEX `+name)
		if faults, _ := storetest.FaultsOf(t, all, explain); len(faults) == 0 {
			t.Errorf("no statement needs the index %s", name)
		}
		write(t, e, text)
	}
}

func recordContract(t *testing.T, r *storetest.Recorder, open storetest.Opener) {
	t.Helper()
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Engine {
			t.Helper()
			return r.On(open(t))
		})
	})
}

// indexes are the indexes of growing tables by name, with the statements that create them.
func indexes(t *testing.T, e store.Engine) map[string]string {
	t.Helper()
	found := make(map[string]string)
	read(t, e, func(row store.Row) error {
		var name, table, text string
		err := row.Scan(&name, &table, &text)
		if storetest.Grows(table) {
			found[name] = text
		}
		return err
	}, `SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL`)
	const least = 5
	if len(found) < least {
		t.Fatalf("only %d indexes", len(found))
	}
	return found
}

var (
	access = regexp.MustCompile(`^(SCAN|SEARCH) (\w+)(.*)$`)
	bound  = regexp.MustCompile(`(\w+)=\?`)
)

// faultsOf explains a statement.
func faultsOf(t *testing.T, e store.Engine, s storetest.Statement) (faults []storetest.Fault) {
	t.Helper()
	var steps []string
	err := tryRead(t, e, func(row store.Row) error {
		var id, parent, unused int
		var detail string
		err := row.Scan(&id, &parent, &unused, &detail)
		steps = append(steps, detail)
		return err
	}, `EXPLAIN QUERY PLAN `+s.Query, s.Args...)
	if err != nil { // it needs a missing index
		return []storetest.Fault{{Table: "rewards", Step: err.Error()}}
	}
	faults = storetest.Unkeyed(s.Query, strings.Join(steps, "; "))
	grown := ""
	for _, step := range steps {
		m := access.FindStringSubmatch(step)
		if m == nil {
			continue
		}
		tables := append(storetest.Tables(s.Query, m[2]), m[2]) // the table of a view is not in the statement
		i := slices.IndexFunc(tables, storetest.Grows)
		if i < 0 {
			continue
		}
		grown = tables[i]
		if m[1] == "SCAN" || !selective(m[3]) {
			faults = append(faults, storetest.Fault{Table: grown, Step: step})
		}
	}
	for _, step := range steps {
		if grown != "" && strings.Contains(step, "TEMP B-TREE") {
			faults = append(faults, storetest.Fault{Table: grown, Step: storetest.Sorts + step})
		}
	}
	return faults
}

// selective reports whether more than the app bounds a search.
func selective(search string) bool {
	for _, m := range bound.FindAllStringSubmatch(search, -1) {
		if m[1] != "app_id" {
			return true
		}
	}
	return false
}

func read(t *testing.T, e store.Engine, each func(store.Row) error, query string, args ...any) {
	t.Helper()
	if err := tryRead(t, e, each, query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func tryRead(t *testing.T, e store.Engine, each func(store.Row) error, query string, args ...any) error {
	t.Helper()
	return e.Read(t.Context(), func(ctx context.Context, tx store.Tx) error { return tx.Query(ctx, each, query, args...) })
}

func write(t *testing.T, e store.Engine, statement string) {
	t.Helper()
	err := e.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, statement)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}
