package test

import (
	"path/filepath"
	"testing"
	"time"

	"stockrewards/internal/store/postgres/pgtest"
)

// After the move, serve refuses the source, and continues over the target with the same account.
func TestMovedServiceContinues(t *testing.T) {
	t.Parallel()
	s := stoppedService(t)
	url := pgtest.Start(t).Database(t, "target") + "&pool_max_conns=8"
	succeeds(t)(s.copyTo(url))
	s.wantError("this database is frozen: it was moved to 127.0.0.1:", "serve", "--listen", "127.0.0.1:0")
	s.wantError("stockrewards: this database is frozen: it was moved to 127.0.0.1:", "app", "create", "another")
	paper := launch(t, "paper", nil, "paper", "--listen", "127.0.0.1:0", "--database", "sqlite:"+filepath.Join(s.folder, "paper.db"))
	t.Cleanup(paper.Kill)
	p := launch(t, "moved", credentials(), "serve", "--listen", "127.0.0.1:0", "--database", url, "--small-pool-wait", "0s",
		"--broker", "alpaca", "--alpaca-url", paper.URL, "--alpaca-data-url", paper.URL)
	t.Cleanup(p.Kill)
	there := &service{t: t, key: s.key, url: p.URL}
	later := there.give(there.newUser("user-later"), "gift-key-later", "7.5", "AAPL")
	there.await(later.ID, "executed", 30*time.Second)
	text, err := program(credentials(), "audit", "--broker", "--database", url, "--alpaca-url", paper.URL,
		"--alpaca-data-url", paper.URL).CombinedOutput()
	succeeds(t, `compared with the broker "alpaca"`, "breaks: 0 (")(string(text), err)
}
