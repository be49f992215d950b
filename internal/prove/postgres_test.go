package prove_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"stockrewards/internal/audit"
	"stockrewards/internal/prove"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
)

// newDatabase makes books in a database of its own, with a history or without rewards.
func newDatabase(t *testing.T, c *pgtest.Cluster, name string, history bool) (url string) {
	t.Helper()
	c.Must(t, "postgres", "CREATE DATABASE "+name)
	url = c.URL(name)
	engine, err := postgres.Open(t.Context(), url, postgres.Options{Connections: 2})
	check(t, err)
	w := prove.NewWorld(t.Context(), engine)
	if history {
		w.History()
	}
	check(t, w.Close())
	return url
}

// state is everything in a database that could have changed: the rows of each table,
// the relations, the schemas and the sequences.
func state(t *testing.T, url string) map[string]string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, url)
	check(t, err)
	defer conn.Close(ctx)
	all := map[string]string{
		"relations": `SELECT coalesce(string_agg(oid::text || relname || relpersistence::text, ' ' ORDER BY oid), '') FROM pg_class`,
		"schemas":   `SELECT string_agg(nspname, ' ' ORDER BY nspname) FROM pg_namespace`,
		"sequences": `SELECT string_agg(sequencename || coalesce(last_value, 0), ' ' ORDER BY sequencename) FROM pg_sequences`,
	}
	rows, err := conn.Query(ctx, `SELECT schemaname || '.' || tablename FROM pg_tables
		WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`)
	check(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	check(t, err)
	if len(tables) < len(prove.Tables()) {
		t.Errorf("tables: %v", tables)
	}
	for _, table := range tables {
		all[table] = `SELECT count(*) || ' ' || md5(coalesce(string_agg(t::text || xmin::text, ' ' ORDER BY t::text), '')) FROM ` + table + ` t`
	}
	for name, query := range all {
		var text string
		check(t, conn.QueryRow(ctx, query).Scan(&text))
		all[name] = text
	}
	return all
}

// awaitNone waits until a query that counts gives none.
func awaitNone(t *testing.T, c *pgtest.Cluster, query string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, c.URL("postgres"))
	check(t, err)
	defer conn.Close(ctx)
	for left := 1; left > 0; {
		check(t, conn.QueryRow(ctx, query).Scan(&left))
	}
}

// wantSame compares the states of a database before and after.
func wantSame(t *testing.T, before, after map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the database has changed:\n%s", diff)
	}
}

// TestAllIsFoundInPostgres: also where the connection is one of PgBouncer's in
// transaction mode, where the role may only read, and where the books are in another
// schema that comes before the temporary tables; the database is as it was, and nothing is left behind.
//
//nolint:paralleltest // it sets TMPDIR
func TestAllIsFoundInPostgres(t *testing.T) {
	c := pgtest.Start(t, "synchronous_commit=off")
	full, empty := newDatabase(t, c, "whole", true), newDatabase(t, c, "empty", false)
	elsewhere := newDatabase(t, c, "elsewhere", true)
	c.Must(t, "elsewhere", `ALTER SCHEMA public RENAME TO books;
		ALTER DATABASE elsewhere SET search_path = books, pg_temp`)
	c.Must(t, "whole", `CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
		REVOKE SELECT ON broker_conflicts, alarms FROM reader;
		ALTER ROLE reader SET default_transaction_read_only = on`)
	reader := strings.Replace(full, "postgres@", "reader@", 1)
	pooled := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/whole?sslmode=disable", pgtest.StartPgBouncer(t, c))
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for _, test := range []struct {
		name, url, direct string
		history           bool
	}{
		{"a history", full, full, true},
		{"no rewards", empty, empty, false},
		{"a role that reads", reader, full, true},
		{"pgbouncer", pooled, full, true},
		{"a schema of its own", elsewhere, elsewhere, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := state(t, test.direct)
			r, err := prove.RunPostgres(t.Context(), test.url, look, func(string) {})
			check(t, err)
			wantAllFound(t, r, test.history)
			wantSame(t, before, state(t, test.direct))
		})
	}
	left, err := os.ReadDir(temporary)
	check(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestACheckThatIsOffInPostgres: an audit that overlooks one kind is told.
func TestACheckThatIsOffInPostgres(t *testing.T) {
	t.Parallel()
	url := newDatabase(t, pgtest.Start(t, "synchronous_commit=off"), "books", true)
	for _, off := range []string{"ids", "holding_sum", "child_after_parent", "user_unique"} {
		r, err := prove.RunPostgres(t.Context(), url, without(off), func(string) {})
		check(t, err)
		wantOneNotFound(t, r, off)
	}
}

// TestInterruptedInPostgres: whether the caller ends it, in a statement or between
// two, or the server ends the connection, nothing is left, and what was done is told.
//
//nolint:tparallel,paralleltest // they have one database, one after the other
func TestInterruptedInPostgres(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t, "synchronous_commit=off")
	url := newDatabase(t, c, "books", true)
	before := state(t, url)
	for name, end := range map[string]func(context.Context, *testing.T, audit.Queryer, context.CancelFunc){
		"between statements": func(_ context.Context, _ *testing.T, _ audit.Queryer, cancel context.CancelFunc) { cancel() },
		"in a statement": func(ctx context.Context, t *testing.T, q audit.Queryer, cancel context.CancelFunc) {
			t.Helper()
			rows, err := q.Query(ctx, `SELECT 'x' FROM pg_sleep(600)`)
			check(t, err)
			go func() {
				defer cancel()
				awaitNone(t, c, `SELECT 1 - count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'`)
			}()
			if rows.Next() {
				t.Error("it has slept")
			}
		},
		"by the server": func(_ context.Context, t *testing.T, _ audit.Queryer, _ context.CancelFunc) {
			t.Helper()
			c.Must(t, "postgres", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'books'`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			kinds := 0
			r, err := prove.RunPostgres(ctx, url, func(ctx context.Context, q audit.Queryer) (audit.Report, error) {
				if kinds == 4 {
					end(ctx, t, q, cancel)
				}
				return look(ctx, q)
			}, func(step string) {
				if strings.HasPrefix(step, "kind ") {
					kinds++
				}
			})
			if err == nil || len(r.Kinds) != 3 || r.OK() {
				t.Errorf("%d kinds, error %v", len(r.Kinds), err)
			}
			if name != "by the server" && !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that of the context", err)
			}
			awaitNone(t, c, `SELECT count(*) FROM pg_stat_activity WHERE datname = 'books'`)
			wantSame(t, before, state(t, url))
		})
	}
}

// TestBooksCannotBeTouched: the server itself forbids to plant in the books.
func TestBooksCannotBeTouched(t *testing.T) {
	t.Parallel()
	url := newDatabase(t, pgtest.Start(t, "synchronous_commit=off"), "books", true)
	before := state(t, url)
	for _, statement := range []string{
		`UPDATE public.rewards SET amount = amount + 1`, `DELETE FROM public.allocations`, `DROP TABLE public.keys`,
		`TRUNCATE public.prices`, `SELECT nextval('public.assets_id_seq')`, `SET TRANSACTION READ WRITE`,
	} {
		refused := errors.New("refused")
		_, err := prove.RunPostgres(t.Context(), url, func(ctx context.Context, q audit.Queryer) (audit.Report, error) {
			writer, can := q.(interface {
				Exec(context.Context, string, ...[]byte) (int64, error)
			})
			if !can {
				return audit.Report{}, errors.New("the copy has no Exec")
			}
			for _, allowed := range []string{`SET LOCAL lock_timeout = '1s'`, `UPDATE rewards SET amount = amount + 1`} {
				if _, err := writer.Exec(ctx, allowed); err != nil {
					return audit.Report{}, err
				}
			}
			if _, err := writer.Exec(ctx, statement); err != nil {
				return audit.Report{}, errors.Join(refused, err)
			}
			return audit.Report{}, errors.New("nothing objects")
		}, func(string) {})
		if !errors.Is(err, refused) || !strings.Contains(err.Error(), "read-only") && !strings.Contains(err.Error(), "read-write") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	wantSame(t, before, state(t, url))
}

// TestPostgresThatRefuses: the error says what is to be done.
func TestPostgresThatRefuses(t *testing.T) {
	t.Parallel()
	pair := pgtest.StartPair(t)
	c := pair.Primary
	url := newDatabase(t, c, "books", false)
	pair.AwaitStandby(t)
	c.Must(t, "books", `CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
		REVOKE TEMPORARY ON DATABASE books FROM public; CREATE ROLE nobody LOGIN`)
	c.Must(t, "postgres", `CREATE DATABASE none`)
	for _, test := range []struct {
		name, url, says string
		is              error
	}{
		{"no right to temporary tables", strings.Replace(url, "postgres@", "reader@", 1), "GRANT TEMPORARY", nil},
		{"no right to read", strings.Replace(url, "postgres@", "nobody@", 1), "must be able to read", nil},
		{"a standby", pair.Standby.URL("books"), "name the primary", nil},
		{"no books", c.URL("none"), "no schema of ours", audit.ErrSchema},
	} {
		r, err := prove.RunPostgres(t.Context(), test.url, look, func(string) {})
		if err == nil || !strings.Contains(err.Error(), test.says) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: error %v, want one that says %q", test.name, err, test.says)
		}
		if len(r.Kinds) > 0 || r.OK() {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
}
