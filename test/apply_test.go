package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/store/postgres/pgtest"
)

// appliedFile is a file with two apps.
const appliedFile = `
apps:
  - name: shop
    dividends: house
    limits: {requestsPerSecond: 100}
    budgets:
      - {name: daily, per: app, period: day, limit: 12.34}
    webhooks:
      - {url: "https://hooks.example.com/in", types: [reward.executed], description: the ledger}
  - name: coffee
`

// applied is what `apply --json` prints.
type applied struct {
	DryRun  bool
	Changes []struct{ Change, Kind, App, Name, Difference, Secret, SecretFile string }
}

// onEachEngine runs a test over a database of each engine. It does not exist over SQLite, and is empty
// over PostgreSQL.
func onEachEngine(t *testing.T, test func(t *testing.T, s *service)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, &service{t: t, folder: t.TempDir()})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		s := &service{t: t, folder: t.TempDir(), storeURL: pgtest.Start(t).Database(t, "applied")}
		keys := filepath.Join(s.folder, "webhook.keys")
		s.env = []string{"STOCKREWARDS_WEBHOOK_KEY_FILE=" + keys}
		noError(t, os.WriteFile(keys, []byte("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"), 0o600))
		test(t, s)
	})
}

// file writes a file in the service's folder.
func (s *service) file(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.folder, name)
	noError(s.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// apply applies a file and returns what changed.
func (s *service) apply(path string, flags ...string) (a applied) {
	s.t.Helper()
	noError(s.t, json.Unmarshal([]byte(s.command(append([]string{"apply", path, "--json"}, flags...)...)), &a))
	return a
}

// A file makes the store what it says, once; a dry run and a refused file change nothing. The log
// has what the single commands write, and the new key and secret work.
func TestApply(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *service) {
		path, secrets := s.file("config.yaml", appliedFile), filepath.Join(s.folder, "secrets")
		if s.storeURL != "" {
			s.command("migrate")
		}
		dry := s.command("apply", path, "--dry-run")
		wantText(t, dry, "+ app shop: with a key, budget daily: 12.34 dollars per app and day\n", "+ app coffee", "nothing was changed")
		fails(t, "exit status 3", "+ app shop")(s.try("apply", path, "--dry-run", "--exit-code"))
		if _, err := os.Stat(filepath.Join(s.folder, "rewards.db")); err == nil {
			t.Error("the dry run made a database")
		}
		first := s.command("apply", path, "--secrets", secrets, "--reason", "the first shop")
		if want := strings.Count(dry, "\n"); strings.Count(first, "\n") != want+3 { // and a line for each secret
			t.Errorf("the dry run printed\n%s\nbut then\n%s", dry, first)
		}
		entries := len(s.entries())
		wantText(t, s.command("apply", path), "nothing to change: 2 apps as in the file")
		s.command("apply", path, "--dry-run", "--exit-code")
		if again := len(s.entries()); again != entries {
			t.Errorf("applying again wrote %d entries", again-entries)
		}
		s.wantApplied(secrets)
		s.wantRecovered(path, secrets)
		s.command("apply", s.file("suspend.yaml", "apps: [{name: shop}, {name: third}]"))
		refused := s.file("wrong.yaml", strings.ReplaceAll(appliedFile, "12.34", "99")+"    dividend: house\n")
		before := s.command("app", "list") + s.command("budget", "list", "shop")
		fails(t, "exit status 2", "nothing was changed:\nline 11: apps[1].dividend: no such member; the nearest one is dividends")(
			s.try("apply", refused))
		if after := s.command("app", "list") + s.command("budget", "list", "shop"); after != before {
			t.Errorf("a refused file changed\n%s\ninto\n%s", before, after)
		}
		s.wantPruned()
		s.command("audit")
	})
}

// An endpoint whose secret no key of serve opens does not keep others from being made. With a file that opens none, new
// endpoints would get nothing.
func TestApplyBesideALockedEndpoint(t *testing.T) {
	t.Parallel()
	s := &service{t: t, folder: t.TempDir()}
	key := func(letter string) string { return strings.Repeat(letter, 42) + "A=\n" }
	apply := func(name, keys string) (string, error) {
		return s.try("apply", s.file(name+".yaml", "apps: [{name: shop, webhooks: [{url: \"https://hooks.example.com/"+name+"\"}]}]"),
			"--webhook-key-file", s.file("keys", keys))
	}
	for _, step := range []struct{ name, keys string }{{"one", key("B")}, {"two", key("C") + key("B")}, {"three", key("C")}} {
		if out, err := apply(step.name, step.keys); err != nil {
			t.Errorf("endpoint %s: %v\n%s", step.name, err, out)
		}
	}
	fails(t, "exit status 2", "its keys open no secret that is stored")(apply("four", key("D")))
}

// wantApplied checks what appliedFile made, and uses the key.
func (s *service) wantApplied(secrets string) {
	s.t.Helper()
	var commands []string
	for _, e := range s.entries() {
		if e.Reason == "the first shop" {
			commands = append(commands, e.Command)
		}
	}
	wantText(s.t, strings.Join(commands, "\n"), "apply: app create", "apply: app limits", "apply: app dividends", "apply: webhook create")
	files, err := os.ReadDir(secrets)
	noError(s.t, err)
	for _, file := range files {
		info, err := file.Info()
		noError(s.t, err)
		if info.Mode().Perm() != 0o600 {
			s.t.Errorf("%s has the mode %v", file.Name(), info.Mode())
		}
	}
	if len(files) != 4 || files[0].Name() != ".lock" {
		s.t.Errorf("the secrets are in %v", files)
	}
	key, err := os.ReadFile(filepath.Join(secrets, "shop.key"))
	noError(s.t, err)
	s.key = strings.TrimSpace(string(key))
	wantText(s.t, s.command("key", "list", "shop"), s.key[len(s.key)-4:])
	if s.storeURL != "" {
		return // a fleet needs a separate brokerage
	}
	s.start()
	sameDay() // for the daily budget
	user := s.newUser("anna")
	s.give(user, "first-gift", "12.34", "KO")
	s.must(422, "POST", "/v1/rewards", giving(user, "second-gift", "0.01", "KO"))
	wantText(s.t, string(s.must(200, "GET", "/v1/webhook-endpoints", "").body), "https://hooks.example.com/in", "the ledger")
	noError(s.t, s.stop())
}

// wantRecovered checks that a run names the files of an interrupted one whose secrets are in use, and
// no other.
func (s *service) wantRecovered(path, secrets string) {
	s.t.Helper()
	noError(s.t, os.Rename(filepath.Join(secrets, "coffee.key"), filepath.Join(secrets, "stranger.key")))
	files, err := filepath.Glob(filepath.Join(secrets, "shop*"))
	noError(s.t, err)
	for _, file := range files {
		noError(s.t, os.Rename(file, file+".new"))
	}
	noError(s.t, os.WriteFile(filepath.Join(secrets, "coffee.key.new"), []byte(s.key), 0o600)) // the shop's
	s.command("apply", path, "--secrets", secrets)
	for _, file := range append(files, filepath.Join(secrets, "coffee.key.new")) {
		if _, err := os.Stat(file); err != nil || len(files) != 2 {
			s.t.Errorf("%v: %v", files, err)
		}
	}
	again := s.file("again.yaml", "apps: [{name: stranger}]")
	fails(s.t, "exit status 2", "stranger.key exists, and app stranger is new: move the file away first; nothing was changed")(
		s.try("apply", again, "--secrets", secrets))
}

// wantPruned checks that only budgets and endpoints can be pruned, and that they come back.
func (s *service) wantPruned() {
	s.t.Helper()
	path := s.file("pruned.yaml", "apps: [{name: shop, budgets: [], webhooks: []}]")
	if kept := s.apply(path); len(kept.Changes) > 0 {
		s.t.Errorf("without --prune %+v", kept)
	}
	gone := s.apply(path, "--prune")
	if len(gone.Changes) != 2 || gone.Changes[0].Change != "remove" || gone.Changes[1].Kind != "webhook" {
		s.t.Errorf("--prune: %+v", gone)
	}
	wantText(s.t, s.command("webhook", "list"), "disabled (operator)")
	wantText(s.t, s.command("app", "list"), "coffee", "third", "shop")
	back := s.apply(filepath.Join(s.folder, "config.yaml"))
	if len(back.Changes) != 2 || back.Changes[0].Change != "add" || back.Changes[1].Difference != "disabled -> enabled" {
		s.t.Errorf("afterwards: %+v", back)
	}
}

// Of two runs at once one waits for nothing and changes nothing. The file of each key has the key of the app.
func TestTwoAppliesAtOnce(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *service) {
		s.command("migrate")
		secrets := filepath.Join(s.folder, "secrets")
		for round := range 8 {
			text := "apps:\n"
			for i := range 3 {
				text += fmt.Sprintf("- name: app %d %d\n  webhooks: [{url: \"https://hooks.example.com/%d/%d\"}]\n", round, i, round, i)
			}
			path := s.file("config.yaml", text)
			var runs sync.WaitGroup
			for range 2 {
				runs.Go(func() {
					_, err := s.try("apply", path, "--secrets", secrets)
					if err != nil && !strings.Contains(err.Error(), "another `apply` writes to") {
						t.Error(err)
					}
				})
			}
			runs.Wait()
			s.command("apply", path, "--secrets", secrets)
			for i := range 3 {
				key, err := os.ReadFile(filepath.Join(secrets, fmt.Sprintf("app+%d+%d.key", round, i)))
				noError(t, err)
				end := strings.TrimSpace(string(key))
				wantText(t, s.command("key", "list", fmt.Sprintf("app %d %d", round, i)), end[len(end)-4:])
			}
		}
		left, err := filepath.Glob(filepath.Join(secrets, "*.new"))
		noError(t, err)
		if len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		s.command("audit")
	})
}

// Killed at any moment, apply leaves what the same command completes. The key of each app is in its
// file and works, and no endpoint exists twice.
func TestApplySurvivesKills(t *testing.T) {
	t.Parallel()
	onEachEngine(t, func(t *testing.T, s *service) {
		const apps, kills = 25, 8
		random := chance(t)
		text := "apps:\n"
		for i := range apps {
			text += fmt.Sprintf("- name: app %d\n  limits: {concurrent: 7}\n  budgets: [{name: b, per: user, period: day, limit: 1}]\n"+
				"  webhooks: [{url: \"https://hooks.example.com/%d\"}]\n", i, i)
		}
		path, secrets := s.file("config.yaml", text), filepath.Join(s.folder, "secrets")
		s.command("migrate")
		args := []string{"apply", path, "--secrets", secrets, "--database", s.database()}
		for range kills {
			cmd := exec.CommandContext(t.Context(), binary, args...)
			cmd.Env = append(os.Environ(), s.env...)
			noError(t, cmd.Start())
			time.AfterFunc(time.Duration(random.IntN(200))*time.Millisecond, func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait() // killed, or done
		}
		s.command(args...)
		wantText(t, s.command(args...), "nothing to change: 25 apps")
		for i := range apps {
			name := fmt.Sprint("app ", i)
			key, err := os.ReadFile(filepath.Join(secrets, fmt.Sprintf("app+%d.key", i)))
			noError(t, err)
			end := strings.TrimSpace(string(key))
			wantText(t, s.command("key", "list", name), end[len(end)-4:])
		}
		if got := strings.Count(s.command("webhook", "list"), "hooks.example.com"); got != apps {
			t.Errorf("%d endpoints", got)
		}
		left, err := filepath.Glob(filepath.Join(secrets, "*.new"))
		noError(t, err)
		if len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		s.command("audit")
	})
}
