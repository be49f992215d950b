package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

// While few transaction ids are left the server warns when it gives one. The commit that follows is certain.
func TestWarningsBeforeACommit(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	for name, pooled := range map[string]bool{"direct": false, "PgBouncer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := database(t, c)
			exec(t, url, `CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'few are left'; RETURN NEW; END $$;
				CREATE TRIGGER warn BEFORE INSERT ON settings FOR EACH ROW EXECUTE FUNCTION warn()`)
			if pooled {
				url = strings.Replace(url, fmt.Sprint(c.Port), fmt.Sprint(pgtest.StartPgBouncer(t, c)), 1)
			}
			e := open(t, url, postgres.Options{Pooled: pooled})
			check(t, e.WriteForClients(t.Context(), func(_ context.Context, tx store.Tx) error {
				network, ok := tx.(store.NetworkTx)
				if !ok {
					t.Fatal("it is no NetworkTx")
				}
				network.ExecLater(`INSERT INTO settings (name, value) VALUES ('sent with its commit', '')`)
				return nil
			}))
		})
	}
}

// A server that has given all transaction ids refuses every write. Clients try again later, and the error names the
// next step.
func TestWritesWithoutTransactionIDs(t *testing.T) {
	t.Parallel()
	url := database(t, cluster(t))
	w := storetest.NewWorld(t, open(t, url, postgres.Options{}))
	exec(t, url, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			RAISE 'database is not accepting commands to avoid wraparound data loss' USING ERRCODE = '54000'; END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON rewards FOR EACH ROW EXECUTE FUNCTION refuse()`)
	_, err := w.RecordRewards(t.Context(), []rewards.NewReward{w.Request(t, 1_000_000)})
	if rewards.CodeOf(err) != rewards.CodeUnavailable || !strings.Contains(err.Error(), "run VACUUM in every database") {
		t.Errorf("%v", err)
	}
}

// The server's transaction ids are watched before they run out.
func TestTransactionIDsLow(t *testing.T) {
	t.Parallel()
	e := open(t, database(t, cluster(t)), postgres.Options{})
	if message, err := e.TransactionIDsLow(t.Context()); err != nil || message != "" {
		t.Errorf("a new server: %q, %v", message, err)
	}
	message, err := e.TransactionIDsLowFrom(t.Context(), 0)
	if err != nil || !strings.HasPrefix(message, "PostgreSQL refuses all writes after 2143 million more transactions") {
		t.Errorf("%q, %v", message, err)
	}
}
