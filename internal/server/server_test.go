package server_test

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/guard"
	"stockrewards/internal/rewards"
	"stockrewards/internal/server"
)

func config(path string) server.Config {
	return server.Config{
		Log: slog.New(slog.DiscardHandler), Role: server.RoleAll,
		Database: server.Database{SQLite: path}, Broker: server.Broker{Kind: server.BrokerPaper},
		Fulfillment: fulfillment.Config{Brakes: rewards.Brakes{
			MaxNotional: rewards.LowestMaxNotional, DailyLimit: server.NoLimit, HouseDailyLimit: server.NoLimit,
		}},
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Connections: guard.Limits{Connections: 10},
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Run serves until its context ends, and then releases everything.
func TestRunServesAndCloses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "rewards.db")
	for range 2 {
		s, err := server.New(t.Context(), config(path))
		check(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		for _, url := range []string{"http://" + s.Address() + "/openapi.json", "http://" + s.AdminAddress() + "/livez"} {
			r, err := http.Get(url)
			check(t, err)
			_ = r.Body.Close()
			if r.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", url, r.Status)
			}
		}
		stop()
		check(t, <-ended)
		if _, err := http.Get("http://" + s.Address() + "/openapi.json"); err == nil {
			t.Error("it still listens")
		}
	}
}

// A failed New releases what it opened: the next one succeeds.
func TestNewReleasesWhatItOpened(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rewards.db")
	good := config(path)
	taken, err := server.New(t.Context(), good)
	check(t, err)
	other := config(filepath.Join(t.TempDir(), "other.db"))
	for name, change := range map[string]func(*server.Config){
		"a locked file":     func(c *server.Config) { c.Database = good.Database },
		"no folder":         func(c *server.Config) { c.Database.SQLite = filepath.Join(os.DevNull, "rewards.db") },
		"no certificate":    func(c *server.Config) { c.TLSCert, c.TLSKey = "missing.pem", "missing.key" },
		"an address in use": func(c *server.Config) { c.Listen = taken.Address() },
		"no database": func(c *server.Config) {
			c.Database.SQLite = filepath.Join(t.TempDir(), "rewards.db")
			check(t, os.WriteFile(c.Database.SQLite, []byte(strings.Repeat("not a database", 100)), 0o600))
		},
	} {
		bad := other
		change(&bad)
		if s, err := server.New(t.Context(), bad); err == nil || s != nil {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	check(t, taken.Close())
	for _, c := range []server.Config{good, other} {
		s, err := server.New(t.Context(), c)
		check(t, err)
		check(t, s.Close())
	}
}
