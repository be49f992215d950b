package test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// appCommands are the commands that take an app, or an app's key, with further arguments.
func appCommands() map[string][]string {
	return map[string][]string{
		"app suspend": nil, "app resume": nil, "app dividends": {"house"}, "app limits": {"--concurrent", "7"}, "key create": {"--label", "more"}, "key list": nil, "key rotate": nil, "key revoke": nil,
		"budget list": nil, "reward list": nil, "budget remove": {"daily"}, "budget set": budgetArgs("more"),
	}
}

func budgetArgs(name string) []string {
	return []string{"--name", name, "--per", "app", "--period", "day", "--limit", "7"}
}

// Each command that takes an app or a key changes only that app, and nothing if the name or
// id is unknown. A new command that takes an app fails here until it is listed.
func TestCommandsChangeOneApp(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir()) // with the app "tester"
	s.command("app", "create", "other")
	s.command(append([]string{"budget", "set", "tester"}, budgetArgs("daily")...)...)
	named := regexp.MustCompile(`(?m)^Usage:.*(<app>|--app=|key \w+ .*<id>)`)
	tried := appCommands()
	for _, command := range commands(t) {
		_, known := tried[command]
		help := s.help(command)
		if takes := named.MatchString(help) || strings.Contains(help, " --app"); takes != known {
			t.Errorf("%s: names an app: %v, tried here: %v", command, takes, known)
		}
		delete(tried, command)
	}
	if len(tried) > 0 {
		t.Errorf("these are no commands: %v", tried)
	}
	for name, rest := range appCommands() {
		other := s.shown("other")
		of, nobody := "tester", "nobody"
		if strings.Contains(s.help(name), "<id>") {
			of, nobody = s.newestKey("tester"), "01890000-0000-7000-8000-000000000000"
		}
		before := s.shown("tester")
		args := append(strings.Fields(name), nobody)
		fails(t)(s.try(append(args, rest...)...))
		if diff := cmp.Diff(before, s.shown("tester")); diff != "" {
			t.Errorf("%s of nobody changes an app (-before +after):\n%s", name, diff)
		}
		args[len(args)-1] = of
		s.command(append(args, rest...)...)
		if diff := cmp.Diff(other, s.shown("other")); diff != "" {
			t.Errorf("%s %s changes another app (-before +after):\n%s", name, of, diff)
		}
		if unchanged := before == s.shown("tester"); unchanged != (strings.HasSuffix(name, " list") || name == "app resume") {
			t.Errorf("%s %s: unchanged: %v", name, of, unchanged)
		}
		s.command("app", "resume", "tester")
		s.command("key", "create", "tester") // each command finds a valid key: the newest
	}
}

// help is a command's help.
func (s *service) help(command string) string {
	s.t.Helper()
	out, err := runProgram(s.t, append(strings.Fields(command), "--help")...)
	succeeds(s.t)(out, err)
	return out
}

// shown is what commands print about an app.
func (s *service) shown(app string) string {
	s.t.Helper()
	rest := s.command("key", "list", app) + s.command("budget", "list", app)
	for row := range strings.SplitSeq(s.command("app", "list"), "\n") {
		if strings.Contains(row, " "+app+" ") {
			return strings.Join(strings.Fields(row+" "+rest), " ") // regardless of the columns' width
		}
	}
	s.t.Fatalf("app list has no %s", app)
	return ""
}

// newestKey is the id of the newest key of an app.
func (s *service) newestKey(app string) string {
	s.t.Helper()
	rows := strings.Split(strings.TrimSpace(s.command("key", "list", app)), "\n")
	id, _, _ := strings.Cut(rows[len(rows)-1], " ")
	return id
}

// Whoever revokes a key learns that the app's webhook endpoints outlive it.
func TestRevokedKeyLeavesEndpoints(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	const hint = "webhook endpoints, which outlive the key"
	for _, want := range []bool{false, true} {
		s.command("key", "create", "tester")
		out, err := runProgram(t, "key", "revoke", s.newestKey("tester"), "--database", s.database())
		succeeds(t)(out, err)
		if got := strings.Contains(out, hint); got != want {
			t.Errorf("key revoke printed %q; a hint: %v, want %v", out, got, want)
		}
		s.must(201, "POST", "/v1/webhook-endpoints", `{"url":"https://hooks.example.com/in`+s.newestKey("tester")+`"}`)
	}
}
