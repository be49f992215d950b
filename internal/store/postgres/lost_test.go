package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// A server that took over may lack a user whom this process created: nothing is recorded for that user.
func TestAUserWhoIsLostGetsNothing(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	url, err := c.NewDatabase(t.Context())
	check(t, err)
	w := storetest.NewWorld(t, open(t, url, postgres.Options{}))
	w.Give(t, 1_000_000) // after the first reward of a stock an engine may commit with the statement
	lost, award := w.NewUser(t, w.App.ID, "lost"), w.Request(t, 1_000_000)
	award.UserID = lost.ID
	db, err := sql.Open("pgx", url)
	check(t, err)
	_, err = db.ExecContext(t.Context(), `DELETE FROM users WHERE id = $1`, lost.ID[:])
	check(t, err)
	check(t, db.Close())
	outcomes, err := w.RecordRewards(t.Context(), []rewards.NewReward{award})
	check(t, err)
	if got := outcomes[0].Verdict; got != rewards.NoSuchUser {
		t.Errorf("the verdict is %v, want that there is no such user", got)
	}
}

// A server that took over may lack that a stock is in use, and which apps hold it. Both are written again.
func TestMarksThatAreLostAreWrittenAgain(t *testing.T) {
	t.Parallel()
	url := database(t, cluster(t))
	w := storetest.NewWorld(t, open(t, url, postgres.Options{Connections: 4}))
	book := func() {
		w.Give(t, 2_000_000)
		check(t, w.Settle(t, w.Open(t), "filled", 10_000_000, 200_000_000_000))
	}
	book()
	other := connect(t, url)
	for _, statement := range []string{`DELETE FROM app_assets`, `UPDATE assets SET used = 0`} {
		_, err := other.Exec(t.Context(), statement)
		check(t, err)
	}
	_, err := other.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	check(t, err)
	book()
	var used, held int
	check(t, other.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM assets WHERE used = 1),
		(SELECT count(*) FROM app_assets)`).Scan(&used, &held))
	if used != 1 || held != 1 {
		t.Errorf("%d stocks are in use, %d are held; want one", used, held)
	}
}

// A read of one statement needs no transaction, also when a request's deadline is later than that of a transaction.
func TestAReadOfARequest(t *testing.T) {
	t.Parallel()
	e := open(t, database(t, cluster(t)), postgres.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	defer cancel()
	var timeout, readOnly string
	check(t, e.Read(ctx, func(ctx context.Context, tx store.Tx) error {
		one, ok := tx.(store.NetworkTx)
		if !ok {
			return errors.New("the transaction is not over a network")
		}
		return one.QueryOnly(ctx, func(row store.Row) error { return row.Scan(&timeout, &readOnly) },
			`SELECT current_setting('statement_timeout'), current_setting('transaction_read_only')`)
	}))
	if timeout != "15s" || readOnly != "off" {
		t.Errorf("statement_timeout %s, transaction_read_only %s; want 15s, off", timeout, readOnly)
	}
}
