package audit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
)

func TestOpenPostgresRefuses(t *testing.T) {
	t.Parallel()
	c := audittest.Cluster(t)
	versions := func(statement string) string {
		url := audittest.NewDatabase(t)
		check(t, audittest.OpenEngine(t, url).Close())
		audittest.Exec(t, audittest.Open(t, url), statement)
		return url
	}
	for _, test := range []struct {
		name, url, says string
		is              error
	}{
		{"no URL", "postgres://u:secret@host:none/x", "the URL of the database", nil},
		{"no server", "postgres://u:secret@127.0.0.1:1/x", "127.0.0.1", nil},
		{"no database", strings.Replace(c.URL("none"), "postgres@", "postgres:secret@", 1), `"none" does not exist`, nil},
		{"an empty database", audittest.NewDatabase(t), "no schema of ours", audit.ErrSchema},
		{"a newer version", versions(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, true)`), "version 9000", audit.ErrSchema},
		{"no version", versions(`DELETE FROM goose_db_version`), "version 0", audit.ErrSchema},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			books, err := audit.OpenPostgres(t.Context(), test.url)
			if err == nil {
				check(t, books.Close())
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), test.says) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %q, want one that says %q", err, test.says)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error %q tells the password", err)
			}
		})
	}
}

func TestCannotWriteToPostgres(t *testing.T) {
	t.Parallel()
	w := audittest.History(t, audittest.NewDatabase)
	for _, query := range []string{
		`WITH gone AS (DELETE FROM rewards RETURNING id) SELECT id FROM gone`,
		`SELECT id FROM rewards FOR UPDATE`, `SELECT nextval('assets_id_seq')`,
	} {
		books, err := audit.OpenPostgres(t.Context(), w.Where)
		check(t, err)
		rows, err := books.Query(t.Context(), query)
		if err == nil {
			rows.Next()
			err = errors.Join(rows.Err(), rows.Close())
		}
		if err == nil {
			t.Errorf("%s: no error, want none to be able to write", query)
		}
		check(t, books.Close())
	}
}

// TestOtherCollation audits a database whose texts are sorted as English is.
func TestOtherCollation(t *testing.T) {
	t.Parallel()
	cluster := audittest.Cluster(t)
	cluster.Must(t, "postgres", `CREATE DATABASE english TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`)
	w := audittest.History(t, func(testing.TB) string { return cluster.URL("english") })
	if r := run(t, w.Where); !r.OK() {
		t.Errorf("the store does not pass:\n%s", text(t, r))
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

// TestManyRows reads two streams of many batches, a row of one and a row of another.
func TestManyRows(t *testing.T) {
	t.Parallel()
	w := audittest.NewWorld(t, audittest.NewDatabase)
	books, err := audit.OpenPostgres(t.Context(), w.Where)
	check(t, err)
	const count = 5000
	query := fmt.Sprintf(`SELECT n, 'text ' || n, n %% 2, decode(lpad(to_hex(n), 8, '0'), 'hex') FROM generate_series(1::bigint, %d) n`, count)
	one, err := books.Query(t.Context(), query)
	check(t, err)
	two, err := books.Query(t.Context(), query+` ORDER BY n DESC`)
	check(t, err)
	for i := 1; i <= count; i++ {
		wantRow(t, one, i)
		wantRow(t, two, count+1-i)
	}
	if one.Next() || two.Next() || one.Next() {
		t.Error("more rows than there are")
	}
	check(t, errors.Join(one.Err(), two.Err(), one.Close(), two.Close(), one.Close(), books.Close()))
}

func wantRow(t *testing.T, rows audit.Rows, n int) {
	t.Helper()
	var number scanned
	var truth bool
	var text, bytes string
	if !rows.Next() {
		t.Fatalf("row %d: %v", n, rows.Err())
	}
	check(t, rows.Scan(&number, &text, &truth, &bytes))
	want := fmt.Sprint("text ", n)
	if int(number) != n || text != want || truth != (n%2 == 1) || bytes != string([]byte{0, 0, byte(n >> 8), byte(n)}) {
		t.Fatalf("row %d is %d, %q, %v, %x", n, number, text, truth, bytes)
	}
}

// scanned takes what a row has as a number.
type scanned int64

// Scan implements sql.Scanner.
func (s *scanned) Scan(value any) error {
	n, ok := value.(int64)
	if !ok {
		return fmt.Errorf("got %T", value)
	}
	*s = scanned(n)
	return nil
}

// TestValuesAreNotConverted: what is not of the kind that is expected is an error.
func TestValuesAreNotConverted(t *testing.T) {
	t.Parallel()
	w := audittest.NewWorld(t, audittest.NewDatabase)
	for query, dest := range map[string]any{
		`SELECT 'a'::text`: new(scanned), `SELECT 1::bigint`: new(string), `SELECT 1.5::numeric`: new(scanned),
		`SELECT NULL::bigint`: new(scanned), `SELECT NULL::text`: new(string), `SELECT true`: new(bool),
		`SELECT 1::bigint, 2::bigint`: new(scanned), `SELECT sum(n) FROM generate_series(1::bigint, 3) n`: new(scanned),
	} {
		books, err := audit.OpenPostgres(t.Context(), w.Where)
		check(t, err)
		rows, err := books.Query(t.Context(), query)
		check(t, err)
		if !rows.Next() || rows.Scan(dest) == nil {
			t.Errorf("%s was read into a %T", query, dest)
		}
		check(t, errors.Join(rows.Close(), books.Close()))
	}
}

// TestEndedContext: an audit ends with its context.
func TestEndedContext(t *testing.T) {
	t.Parallel()
	w := audittest.NewWorld(t, audittest.NewDatabase)
	books, err := audit.OpenPostgres(t.Context(), w.Where)
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := audit.Run(ctx, books, audit.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	check(t, books.Close())
}
