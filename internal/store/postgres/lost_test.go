package postgres_test

import (
	"database/sql"
	"testing"

	"stockrewards/internal/rewards"
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
