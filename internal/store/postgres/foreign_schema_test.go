package postgres_test

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"stockrewards/internal/store/postgres"
)

// Another program of the database may have a table of the name "rewards" in a schema that the store's owner may not
// use. The store is created and upgraded beside it, however the server plans to look for it.
func TestAForeignTableOfRewards(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	exec(t, c.URL("postgres"), `CREATE ROLE plain_owner LOGIN`)
	for setting, from := range map[string]int64{"": 0, "; older": 36, "enable_nestloop = off": 0, "enable_nestloop = off; older": 36} {
		url, err := c.NewDatabase(t.Context())
		check(t, err)
		exec(t, url, `GRANT CREATE ON SCHEMA public TO plain_owner; CREATE SCHEMA loyalty; CREATE TABLE loyalty.rewards (n int);
			DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO plain_owner', current_database()); END $$`)
		if plan, _, _ := strings.Cut(setting, ";"); plan != "" {
			exec(t, url, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET `+plan+`', current_database()); END $$`)
		}
		owner := strings.Replace(url, "postgres@", "plain_owner@", 1)
		if from > 0 {
			db, err := sql.Open("pgx", owner)
			check(t, err)
			provider, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS("migrations"))
			check(t, err)
			_, err = provider.UpTo(t.Context(), from)
			check(t, err)
			check(t, db.Close())
		}
		open(t, owner, postgres.Options{})
	}
}
