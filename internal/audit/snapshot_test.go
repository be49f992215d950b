package audit_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
)

// TestAtRest audits a closed WAL file with a difficult name, and leaves it unchanged.
func TestAtRest(t *testing.T) {
	t.Parallel()
	w := audittest.History(t, audittest.NewFile)
	path := filepath.Join(t.TempDir(), "a b?c#d%41.db")
	audittest.Exec(t, audittest.SQL(t, w.Where), `VACUUM INTO '`+path+`'`)
	audittest.Exec(t, audittest.SQL(t, "file:"+url.PathEscape(path)), `PRAGMA journal_mode = WAL`)
	before, err := os.ReadFile(path)
	check(t, err)
	if r := run(t, path); !r.OK() {
		t.Errorf("the copy fails:\n%s", text(t, r))
	}
	after, err := os.ReadFile(path)
	check(t, err)
	if sha256.Sum256(before) != sha256.Sum256(after) {
		t.Error("the file has changed")
	}
}

// TestSnapshot audits the state at the time the store was opened.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		w := audittest.History(t, in)
		want := run(t, w.Where)
		store, err := audittest.Open(t.Context(), w.Where)
		check(t, err)
		app := w.App("third")
		u := w.User(app, "eve", "eve@example.com", "")
		w.Give("eve-aapl", u, "AAPL", 5*dollar, "", "")
		w.Fill("later", "AAPL", 200*audittest.PerUSD)
		got, err := audit.Run(t.Context(), store, audit.Options{})
		check(t, errors.Join(err, store.Close()))
		if text(t, got) != text(t, want) {
			t.Errorf("the report is of a later state:\n%s", text(t, got))
		}
		if r := run(t, w.Where); !r.OK() || text(t, r) == text(t, want) {
			t.Errorf("the next audit misses the changes:\n%s", text(t, r))
		}
	})
}

// TestWhileWriting audits repeatedly while rewards are recorded and bought.
func TestWhileWriting(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		w := audittest.History(t, in)
		u := w.User(w.App("third"), "eve", "eve@example.com", "")
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			var err error
			for ctx.Err() == nil && err == nil {
				var r audit.Report
				if r, err = auditStore(t.Context(), w.Where); err == nil && !r.OK() {
					err = errors.New("violations while the store is written")
				}
			}
			done <- err
		}()
		for i := range 16 {
			name := fmt.Sprint(i)
			w.Give("eve-"+name, u, "AAPL", 5_000_001, "", "")
			w.Give("more-"+name, u, "AAPL", 2*dollar, "", "")
			w.Fill("order-"+name, "AAPL", 199*audittest.PerUSD)
		}
		stop()
		check(t, <-done)
	})
}

// TestOtherCollation audits a database that sorts strings as English does.
func TestOtherCollation(t *testing.T) {
	t.Parallel()
	cluster := audittest.Cluster(t)
	cluster.Must(t, "postgres", `CREATE DATABASE english TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`)
	w := audittest.History(t, func(testing.TB) string { return cluster.URL("english") })
	if r := run(t, w.Where); !r.OK() {
		t.Errorf("the audit fails:\n%s", text(t, r))
	}
	c := w.Copy(t)
	for _, d := range damages() {
		if strings.Contains(d.checks, "key_unique") {
			c.Exec(d.sql)
			wantViolations(t, run(t, c.Where), "key_unique")
			c.Restore()
		}
	}
}

// TestMembersAreJoinedByHashes: with many orders PostgreSQL does not compare each of their members with each order.
func TestMembersAreJoinedByHashes(t *testing.T) {
	t.Parallel()
	w := audittest.History(t, audittest.NewDatabase)
	db := audittest.SQL(t, w.Where)
	audittest.Exec(t, db, `CREATE TEMP TABLE one AS SELECT * FROM orders WHERE number > 0 LIMIT 1`,
		`INSERT INTO member_blocks SELECT n * 32, b.apps, b.app_of, b.rewards, b.amounts FROM generate_series(1000, 5000) AS n (n),
			(SELECT * FROM member_blocks LIMIT 1) AS b`,
		`DO $$ BEGIN FOR n IN 1000..5000 LOOP
			UPDATE one SET number = n, id = set_byte(set_byte(id, 14, n / 256), 15, n % 256), client_order_id = 'sr-' || n;
			INSERT INTO orders SELECT * FROM one;
		END LOOP; END $$`,
		`ANALYZE`)
	rows, err := db.QueryContext(t.Context(), `EXPLAIN `+audit.MembersOnPostgres)
	check(t, err)
	var plan strings.Builder
	for rows.Next() {
		var line string
		check(t, rows.Scan(&line))
		plan.WriteString(line + "\n")
	}
	check(t, errors.Join(rows.Err(), rows.Close()))
	if !strings.Contains(plan.String(), " / 1024) = o.number)") {
		t.Errorf("the plan compares all with all:\n%s", &plan)
	}
}
