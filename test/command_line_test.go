package test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"stockrewards/test/world"
)

// `version --json` and `--version` report the release and the schemas that the program knows.
func TestVersion(t *testing.T) {
	t.Parallel()
	succeeds(t, "stockrewards ")(runProgram(t, "--version"))
	out, err := runProgram(t, "version", "--json")
	noError(t, err)
	var got struct {
		Version string
		Schemas map[string]int
	}
	noError(t, json.Unmarshal([]byte(out), &got))
	if got.Version == "" || len(got.Schemas) != 2 {
		t.Fatalf("%+v", got)
	}
	for engine, folder := range map[string]string{"sqlite": "sqlite", "postgresql": "postgres"} {
		files, err := filepath.Glob("../internal/store/" + folder + "/migrations/*.sql")
		noError(t, err)
		newest := filepath.Base(slices.Max(files))
		if want := fmt.Sprintf("%05d_", got.Schemas[engine]); !strings.HasPrefix(newest, want) {
			t.Errorf("%s: schema %d, the newest migration is %s", engine, got.Schemas[engine], newest)
		}
	}
}

// `health` exits with 0 while the service is ready, and otherwise says why it is not.
func TestHealth(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.command("fulfillment", "pause", "--reason", "checking prices")
	admin := world.FreeAddress(t)
	fails(t, "exit status 1", "cannot ask "+admin+": dial tcp "+admin+": connect: connection refused")(
		runProgram(t, "health", admin))
	s.start("--admin-listen", admin)
	_, port, _ := net.SplitHostPort(admin)
	for _, address := range []string{admin, "0.0.0.0:" + port, ":" + port, "http://" + admin + "/"} {
		succeeds(t, "ready\nwarning: ordering_paused: checking prices\n")(runProgram(t, "health", address))
		succeeds(t, `"code": "ordering_paused"`)(runProgram(t, "health", address, "--json"))
	}
	cmd := exec.CommandContext(t.Context(), binary, "health")
	cmd.Env = append(os.Environ(), "STOCKREWARDS_ADMIN_LISTEN="+admin)
	out, err := cmd.CombinedOutput()
	succeeds(t, "ready\n")(string(out), err)
	fails(t, "exit status 1", "answers 404, but not as the service's --admin-listen does")(
		runProgram(t, "health", strings.TrimPrefix(s.url, "http://")))
	fails(t, "exit status 2", "must be HOST:PORT")(runProgram(t, "health", "localhost"))
}

// A service that is not ready makes `health` fail with the reason.
func TestHealthNotReady(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"status":"notReady","reason":{"code":"draining","message":"the process is stopping"},"warnings":[]}`)
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	fails(t, "exit status 1", "is not ready: draining: the process is stopping")(
		runProgram(t, "health", l.Addr().String()))
}

// Each shell completes commands, flags and values by its script.
func TestCompletion(t *testing.T) {
	t.Parallel()
	// Each program prints what its shell offers for the command line in LINE.
	shells := map[string]string{
		"bash": `source <(stockrewards completion bash); COMP_LINE=$LINE COMP_POINT=${#LINE}
			_stockrewards; printf '%s\n' "${COMPREPLY[@]}"`,
		"fish": `stockrewards completion fish | source; complete -C "$LINE"`,
		"zsh": `compdef() { :; }; _files() { :; }; _describe() { print -l -- "${candidates[@]}"; }
			source <(stockrewards completion zsh); words=("${(@s: :)LINE}"); CURRENT=$#words; _stockrewards`,
	}
	tests := []struct {
		line string
		want []string
	}{
		{"stockrewards ord", []string{"order"}},
		{"stockrewards order ", []string{"list", "show", "resolve", "adopt", "acknowledge"}},
		{"stockrewards order list --sta", []string{"--state"}},
		{"stockrewards serve --role ", []string{"all", "api", "worker"}},
		{"stockrewards serve --role a", []string{"all", "api"}},
		{"stockrewards completion ", []string{"bash", "zsh", "fish"}},
		{"stockrewards compl", []string{"completion"}},
	}
	for shell, program := range shells {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			for _, test := range tests {
				cmd := exec.CommandContext(t.Context(), shell, "-c", program)
				cmd.Env = append(os.Environ(), "LINE="+test.line, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"),
					"HOME="+t.TempDir())
				out, err := cmd.CombinedOutput()
				noError(t, err)
				var got []string
				for offered := range strings.Lines(string(out)) {
					got = append(got, strings.FieldsFunc(offered, func(r rune) bool { return strings.ContainsRune("\t:\n", r) })[0])
				}
				want := slices.Sorted(slices.Values(test.want))
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("%q: %q, want %q", test.line, got, want)
				}
			}
		})
	}
}

// The manual page names every command, and groff formats it without a warning.
func TestManual(t *testing.T) {
	t.Parallel()
	page, err := runProgram(t, "manual")
	noError(t, err)
	format := exec.CommandContext(t.Context(), "groff", "-man", "-ww", "-z") // it prints warnings only
	format.Stdin = strings.NewReader(page)
	out, err := format.CombinedOutput()
	noError(t, err)
	if len(out) > 0 {
		t.Errorf("groff:\n%s", out)
	}
	for _, command := range commands(t) {
		if !strings.Contains(page, ".SS \\&stockrewards "+command) {
			t.Errorf("the manual has no %s", command)
		}
	}
	wantText(t, page, "STOCKREWARDS_DATABASE", `\-\-behind\-proxy`, ".SH EXIT STATUS")
}

// A mistake in the command line names the command whose help explains it. Durations may have days.
func TestHints(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	for line, want := range map[string]string{
		"ordr":              `unexpected argument ordr, did you mean "order"? (see stockrewards --help)`,
		"order":             `expected one of "list", "show", "resolve", "adopt", "acknowledge" (see stockrewards order --help)`,
		"order lst":         `unexpected argument lst, did you mean "list"? (see stockrewards order --help)`,
		"order list --stat": `unknown flag --stat, did you mean "--state"? (see stockrewards order list --help)`,
		"key create tester --expires 90": `--expires: "90": must be a duration with units, such as 30s, 12h, 90d or 1d12h ` +
			"(see stockrewards key create --help)",
		"key create tester --expires xd":    `"xd": must be a duration`,
		"key create tester --expires 1d-2h": `"1d-2h": must be a duration`,
		"key create tester --expires=-90d":  `"-90d": must be a duration`,
	} {
		fails(t, "exit status 2", want)(runProgram(t, strings.Fields(line)...))
	}
	succeeds(t, "Usage: stockrewards key create")(runProgram(t, "help", "key", "create"))
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	noError(t, os.WriteFile(damaged, append([]byte("SQLite format 3\x00"), make([]byte, 8000)...), 0o600))
	fails(t, "is damaged", "restore a backup")(runProgram(t, "app", "list", "--database", "sqlite:"+damaged))
	s.command("key", "create", "tester", "--expires", "90d", "--label", "days")
	s.command("key", "create", "tester", "--expires", "1d12h", "--label", "both")
	s.command("key", "rotate", s.firstID("key", "list", "tester"), "--expires", "2h")
	rotated := s.firstID("key", "list", "tester")
	fails(t, "exit status 2", "--expires must be positive")(s.try("key", "rotate", rotated, "--expires=-2h"))
	var keys []struct{ Label, Created, Expires string }
	noError(t, json.Unmarshal([]byte(s.command("key", "list", "tester", "--json")), &keys))
	for _, k := range keys {
		created, _ := time.Parse(time.RFC3339, k.Created)
		expires, _ := time.Parse(time.RFC3339, k.Expires)
		want := map[string]time.Duration{"days": 90 * 24 * time.Hour, "both": 36 * time.Hour}[k.Label]
		if got := expires.Sub(created).Round(time.Minute); k.Label != "" && got != want {
			t.Errorf("%s: expires after %s, want %s", k.Label, got, want)
		}
	}
}

// Commands that list or show print the same as JSON: an array or an object of strings, null for
// what is absent, and exact amounts.
func TestListsAsJSON(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	user := s.newUser("anna")
	s.await(s.give(user, "gift-key-1", "123456.789", "AAPL").ID, "executed", 30*time.Second)
	s.command("fulfillment", "pause", "--reason", "checking prices")
	s.give(user, "gift-key-2", "5", "MSFT")
	s.must(201, "POST", "/v1/webhook-endpoints", `{"url":"https://hooks.example.com/in","description":"the ledger"}`)
	endpoint := s.firstID("webhook", "list")
	for command, want := range map[string]string{
		"app list":           `"name": "tester"`,
		"key list tester":    `"expires": null`,
		"asset list":         `"symbol": "AAPL"`,
		"order list":         `"notional": "123456.79"`,
		"action list":        "[]",
		"action payouts":     "[]",
		"budget list tester": "[]",
		"user show " + user:  `"costBasis": "123456.789"`,
		"fulfillment status": `"paused": "checking prices"`,
		"order show " + s.firstID("order", "list"): `"amount": "123456.789"`,
		"app limits tester":                        `"requestsPerSecond": "no limit"`,
		"reward list tester":                       `"amount": "123456.789"`,
		"reward show gift-key-1":                   `"what": "executed"`,
		"webhook list":                             `"url": "https://hooks.example.com/in"`,
		"webhook deliveries " + endpoint:           "[]",
		"webhook show " + endpoint:                 `"description": "the ledger"`,
		"log list":                                 `"command": "fulfillment pause"`,
		"log verify":                               `"entries": "3"`,
	} {
		out := s.command(append(strings.Fields(command), "--json")...)
		wantText(t, out, want)
		if !json.Valid([]byte(out)) {
			t.Errorf("%s: not JSON:\n%s", command, out)
		}
	}
	var status struct {
		Waiting []struct{ App, Symbol, Count string }
	}
	noError(t, json.Unmarshal([]byte(s.command("fulfillment", "status", "--json")), &status))
	if len(status.Waiting) != 1 || status.Waiting[0].Symbol != "MSFT" || status.Waiting[0].Count != "1" {
		t.Errorf("%+v", status)
	}
}
