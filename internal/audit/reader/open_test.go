package reader_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/audit/reader"
)

func TestMain(m *testing.M) { audittest.Main(m) }

var check = audittest.Check

// TestSchema refuses stores without a schema or with another version.
func TestSchema(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		for statement, want := range map[string]string{
			`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, '1')`: "version 9000",
			`DELETE FROM goose_db_version`:                                             "version 0",
			`DROP TABLE goose_db_version`:                                              "no schema of stockrewards",
		} {
			where := in(t)
			check(t, audittest.OpenEngine(t, where).Close())
			audittest.Exec(t, audittest.SQL(t, where), statement)
			_, err := audittest.Open(t.Context(), where)
			if !errors.Is(err, reader.ErrSchema) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", statement, err, want)
			}
		}
	})
}

// TestOpenFails names the cause, creates no file and shows no password.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	file := func(content string) string {
		path := filepath.Join(t.TempDir(), "file.db")
		check(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	missing := filepath.Join(t.TempDir(), "missing.db")
	for _, test := range []struct {
		name, where, want string
		is                error
	}{
		{"no file", missing, "no such file", fs.ErrNotExist},
		{"no database", file(strings.Repeat("words ", 1000)), "not a database", nil},
		{"an empty file", file(""), "no schema", reader.ErrSchema},
		{"no URL", "postgres://u:secret@host:none/x", "database's URL", nil},
		{"no server", "postgres://u:secret@127.0.0.1:1/x", "127.0.0.1", nil},
		{
			"a missing database", strings.Replace(audittest.Cluster(t).URL("missing"), "postgres@", "postgres:secret@", 1),
			`"missing" does not exist`, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := audittest.Open(t.Context(), test.where)
			if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error %q shows the password", err)
			}
			if _, err := os.Stat(missing); !errors.Is(err, fs.ErrNotExist) {
				t.Error("it created the file")
			}
		})
	}
}

// TestCannotWrite runs statements that write.
func TestCannotWrite(t *testing.T) {
	t.Parallel()
	audittest.OnEngines(t, func(t *testing.T, in audittest.Place) {
		where := audittest.History(t, in).Where
		statements := []string{`DELETE FROM rewards RETURNING id`}
		if audittest.OnPostgres(where) {
			statements = []string{
				`WITH gone AS (DELETE FROM rewards RETURNING id) SELECT id FROM gone`,
				`SELECT id FROM rewards FOR UPDATE`, `SELECT nextval('assets_id_seq')`,
			}
		}
		for _, statement := range statements {
			store, err := audittest.Open(t.Context(), where)
			check(t, err)
			rows, err := store.Query(t.Context(), statement)
			if err == nil {
				rows.Next()
				err = errors.Join(rows.Err(), rows.Close())
			}
			if err == nil {
				t.Errorf("%s: no error", statement)
			}
			check(t, store.Close())
		}
	})
}
