package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// filled is a database with some rows in most tables.
func filled(t *testing.T) (*storetest.World, *pgx.Conn) {
	t.Helper()
	url := database(t, cluster(t))
	w := storetest.NewWorld(t, open(t, url, postgres.Options{}))
	w.Fill(t)
	return w, connect(t, url)
}

// connect opens a connection and closes it when the test ends.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	check(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

// Every table has a view that an operator can read and nobody can write through.
func TestReadableViews(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w, conn := filled(t)
	rows, err := conn.Query(ctx, `select tablename::text from pg_tables
		where schemaname = 'public' and tablename <> 'goose_db_version'`)
	check(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	check(t, err)
	if len(tables) < 16 {
		t.Errorf("only %d tables: %v", len(tables), tables)
	}
	for _, table := range tables {
		var inTable, inView int
		name := pgx.Identifier{table}.Sanitize()
		check(t, conn.QueryRow(ctx, "select count(*) from "+name).Scan(&inTable))
		if err := conn.QueryRow(ctx, "select count(t::text) from readable."+name+" t").Scan(&inView); err != nil || inView != inTable {
			t.Errorf("%s: %d rows in the view, %d in the table: %v", table, inView, inTable, err)
		}
		if _, err := conn.Exec(ctx, "delete from readable."+name); err == nil {
			t.Errorf("%s: rows can be deleted through the view", table)
		}
	}
	var id, app, status, amount, created string
	check(t, conn.QueryRow(ctx, `select id::text, app_id::text, status, amount::text, (created_at at time zone 'UTC')::text
		from readable.rewards order by id limit 1`).Scan(&id, &app, &status, &amount, &created))
	if app != w.App.ID.String() || len(id) != 36 || status != "executed" || amount != "5.000000" || created[:10] != "2026-09-21" {
		t.Errorf("%s %s %s %s %s", id, app, status, amount, created)
	}
	var secret string
	check(t, conn.QueryRow(ctx, `select coalesce(max(value), '') from readable.settings where name = 'cursor_key'`).Scan(&secret))
	if secret != "" && secret != "(secret)" {
		t.Error("the view of the settings shows the cursor key")
	}
}
