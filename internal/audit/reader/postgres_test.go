package reader_test

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/audit/reader"
)

func openPostgres(t *testing.T) *reader.Postgres {
	t.Helper()
	where := audittest.NewDatabase(t)
	check(t, audittest.OpenEngine(t, where).Close())
	store, err := reader.OpenPostgres(t.Context(), where+"&pool_max_conns=8") // as serve may have it
	check(t, err)
	return store
}

// TestManyRows reads two queries of several batches in turn, row by row.
func TestManyRows(t *testing.T) {
	t.Parallel()
	store := openPostgres(t)
	const count = 5000
	query := fmt.Sprintf(`SELECT n, 'text ' || n, n %% 2, decode(lpad(to_hex(n), 8, '0'), 'hex') FROM generate_series(1::bigint, %d) n`, count)
	one, err := store.Query(t.Context(), query)
	check(t, err)
	two, err := store.Query(t.Context(), query+` ORDER BY n DESC`)
	check(t, err)
	for i := 1; i <= count; i++ {
		wantRow(t, one, i)
		wantRow(t, two, count+1-i)
	}
	if one.Next() || two.Next() || one.Next() {
		t.Error("too many rows")
	}
	check(t, errors.Join(one.Err(), two.Err(), one.Close(), two.Close(), one.Close(), store.Close()))
}

func wantRow(t *testing.T, rows reader.Rows, n int) {
	t.Helper()
	var number sql.NullInt64
	var truth bool
	var text, bytes string
	if !rows.Next() {
		t.Fatalf("row %d: %v", n, rows.Err())
	}
	check(t, rows.Scan(&number, &text, &truth, &bytes))
	want := fmt.Sprint("text ", n)
	if number.Int64 != int64(n) || text != want || truth != (n%2 == 1) || bytes != string([]byte{0, 0, byte(n >> 8), byte(n)}) {
		t.Fatalf("row %d is %d, %q, %v, %x", n, number.Int64, text, truth, bytes)
	}
}

// TestNoConversion reads values into destinations of other types, which must fail.
func TestNoConversion(t *testing.T) {
	t.Parallel()
	store := openPostgres(t)
	for query, dest := range map[string]any{
		`SELECT 'a'::text`: new(sql.NullInt64), `SELECT 1::bigint`: new(string), `SELECT 1.5::numeric`: new(sql.NullInt64),
		`SELECT NULL::bigint`: new(sql.NullInt64), `SELECT NULL::text`: new(string), `SELECT true`: new(bool),
		`SELECT 1::bigint, 2::bigint`: new(sql.NullInt64), `SELECT sum(n) FROM generate_series(1::bigint, 3) n`: new(sql.NullInt64),
	} {
		rows, err := store.Query(t.Context(), query)
		check(t, err)
		if !rows.Next() || rows.Scan(dest) == nil {
			t.Errorf("%s was read into a %T", query, dest)
		}
		check(t, rows.Close())
	}
	check(t, store.Close())
}
