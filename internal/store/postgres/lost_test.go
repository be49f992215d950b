package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/storetest"
)

// A server that took over may lack a user whom this process created: nothing is recorded for that user.
func TestAUserWhoIsLostGetsNothing(t *testing.T) {
	t.Parallel()
	for _, budgets := range [][]rewards.Budget{nil, {{
		Name: "daily", Per: rewards.PerApp, Period: rewards.PeriodDay, Limit: 100 * money.Dollar,
	}}} {
		url := database(t, cluster(t))
		w := storetest.NewWorld(t, open(t, url, postgres.Options{}))
		w.SetBudgets(t, budgets...)
		w.Give(t, money.Dollar) // after the first reward of a stock an engine may commit with the statement
		lost, award := w.NewUser(t, w.App.ID, "lost"), w.Request(t, money.Dollar)
		award.UserID = lost.ID
		_, err := connect(t, url).Exec(t.Context(), `DELETE FROM users WHERE id = $1`, lost.ID[:])
		check(t, err)
		outcomes, err := w.RecordRewards(t.Context(), []rewards.NewReward{award, w.Request(t, money.Dollar)})
		check(t, err)
		if outcomes[0].Verdict != rewards.NoSuchUser || outcomes[1].Verdict != rewards.Created {
			t.Errorf("%d budgets: verdicts %d and %d, want that there is no such user, and a new reward",
				len(budgets), outcomes[0].Verdict, outcomes[1].Verdict)
		}
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
