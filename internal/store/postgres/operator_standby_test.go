package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store/postgres"
	"stockrewards/internal/store/postgres/pgtest"
	"stockrewards/internal/store/storetest"
)

// A command or a request that finds its change made is answered when the synchronous standby has that change, too. The
// first run of each is interrupted while its commit waits for the standby. The database's settings hide the warning.
func TestRepeatedCommandsWaitForTheStandby(t *testing.T) {
	t.Parallel()
	t.Run("direct", func(t *testing.T) {
		t.Parallel()
		pair := pgtest.StartPair(t)
		testRepeatedCommands(t, pair, pair.Primary.Port, postgres.Options{})
	})
	t.Run("PgBouncer", func(t *testing.T) {
		t.Parallel()
		pair := pgtest.StartPair(t)
		testRepeatedCommands(t, pair, pgtest.StartPgBouncer(t, pair.Primary), postgres.Options{Pooled: true})
	})
}

func testRepeatedCommands(t *testing.T, pair *pgtest.Pair, port int, o postgres.Options) {
	t.Helper()
	url := pair.Primary.Database(t, "rewards")
	pair.Primary.Must(t, "postgres", "alter database rewards set client_min_messages = error")
	w := storetest.NewWorld(t, open(t, strings.Replace(url, fmt.Sprint(pair.Primary.Port), fmt.Sprint(port), 1), o))
	key, err := w.CreateKey(t.Context(), w.App.Name, rewards.Key{Hash: rewards.HashKey("leaked")})
	check(t, err)
	hook, err := w.CreateWebhookEndpoint(t.Context(), rewards.WebhookEndpoint{
		AppID: w.App.ID, URL: "https://example.com/hook", Types: rewards.EventRewardFailed, Secret: rewards.SealedSecret("x"),
	})
	check(t, err)
	pair.Standby.Kill()
	conn := connect(t, url)
	for name, call := range map[string]func() error{
		"a revoked key": func() error { return w.RevokeKey(t.Context(), key.ID) },
		"an app": func() error {
			_, _, err := w.CreateApp(t.Context(), "late", rewards.Key{Hash: rewards.HashKey("late")})
			return err
		},
		"a deleted endpoint": func() error { return w.DeleteWebhookEndpoint(t.Context(), w.App.ID, hook.ID) },
		"nothing to do":      func() error { return w.Confirm(t.Context()) },
	} {
		for _, run := range []string{"first", "second"} {
			answered := make(chan error, 1)
			go func() { answered <- call() }()
			for waiting := false; !waiting && len(answered) == 0; {
				check(t, conn.QueryRow(t.Context(),
					`select exists (select from pg_stat_activity where wait_event = 'SyncRep')`).Scan(&waiting))
			}
			if len(answered) > 0 {
				t.Errorf("%s, %s time: answered without the standby: %v", name, run, <-answered)
				continue
			}
			pair.Interrupt(t, 1)
			if err := <-answered; rewards.CodeOf(err) != rewards.CodeUnavailable {
				t.Errorf("%s, %s time: %v", name, run, err)
			}
		}
	}
}
