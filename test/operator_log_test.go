package test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// logged is a row of `log list --json`.
type logged struct {
	Number                         int64
	Actor, Command, Object, Reason string
	Before, After                  string
}

// entries are those of the operator log, oldest first.
func (s *service) entries() []logged {
	s.t.Helper()
	var list []logged
	noError(s.t, json.Unmarshal([]byte(s.command("log", "list", "--json", "--limit", "1000")), &list))
	slices.Reverse(list)
	return list
}

// Each command that changes the database logs who, what and why. The log contains no keys,
// and removed entries are noticed.
func TestEveryCommandIsLogged(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	secrets := []string{s.key}
	key := s.newestKey("tester")
	for _, line := range []string{
		"key create tester --label ci --reason why-1", "key rotate " + key + " --reason why-2",
		"key revoke " + key + " --reason why-3", "app suspend tester --reason why-4", "app resume tester --reason why-5",
		"fulfillment pause --reason why-6", "fulfillment resume --reason why-7", "app create other --reason why-8",
	} {
		out := s.command(strings.Fields(line)...)
		secrets = append(secrets, regexp.MustCompile(`sr_(test|live)_[0-9A-Za-z]{49}`).FindAllString(out, -1)...)
	}
	var got []string
	for _, d := range s.entries() {
		object, _, _ := strings.Cut(d.Object, " ")
		got = append(got, strings.TrimSpace(fmt.Sprint(d.Number, " ", d.Command, " ", object, " ", d.Reason)))
		if !strings.Contains(d.Actor, "@") {
			t.Errorf("entry %d is of %q", d.Number, d.Actor)
		}
	}
	want := []string{
		"1 app create app", "2 app create key", "3 key create key why-1", "4 key rotate key why-2", "5 key rotate key why-2",
		"6 key revoke key why-3", "7 app suspend app why-4", "8 app resume app why-5", "9 fulfillment pause ordering why-6",
		"10 fulfillment resume ordering why-7", "11 app create app why-8", "12 app create key why-8",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	printed := s.command("log", "list", "--json") + s.command("log", "list")
	if len(secrets) != 4 {
		t.Errorf("%d keys were made, want 4", len(secrets))
	}
	for _, secret := range secrets {
		if strings.Contains(printed, secret[len("sr_test_"):]) {
			t.Errorf("the log has the key %s", secret)
		}
	}
	s.wantVerified()
}

// wantVerified checks that the log is valid until rows change, and that --head detects a
// rewritten log.
func (s *service) wantVerified() {
	s.t.Helper()
	head := strings.TrimSpace(strings.SplitAfter(s.command("log", "verify"), "head: ")[1])
	s.command("log", "verify", "--head", head)
	s.command("audit")
	for _, wrong := range []string{"12:01", "x", "99:" + head[strings.Index(head, ":")+1:], "11:" + head[strings.Index(head, ":")+1:]} {
		fails(s.t)(s.try("log", "verify", "--head", wrong))
	}
	s.dropTriggers("operator_log")
	for _, damage := range []struct{ statement, says string }{
		{`UPDATE operator_log SET reason = 'x' WHERE number = 7`, "entry 7: it was changed"},
		{`UPDATE operator_log SET reason = 'why-4' WHERE number = 7`, ""},
		{`DELETE FROM operator_log WHERE number = 12`, "rows are missing at its end"},
		{`DELETE FROM operator_log WHERE number = 5`, "entry 6: it follows entry 4"},
	} {
		s.onFile("rewards.db", damage.statement)
		_, err := s.try("log", "verify")
		_, auditErr := s.try("audit")
		if damage.says == "" {
			if err != nil || auditErr != nil {
				s.t.Errorf("after %s: %v, %v", damage.statement, err, auditErr)
			}
			continue
		}
		fails(s.t, "exit status 1", damage.says)("", err)
		fails(s.t)("", auditErr)
	}
}

// dropTriggers removes what protects a table from changes.
func (s *service) dropTriggers(table string) {
	s.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(s.folder, "rewards.db"))
	noError(s.t, err)
	defer db.Close()
	for _, trigger := range []string{"_kept", "_whole"} {
		if _, err := db.ExecContext(s.t.Context(), "DROP TRIGGER "+table+trigger); err != nil {
			s.t.Fatal(err)
		}
	}
}

// obeyed has control characters: it clears the screen, sets a title, reverses the writing
// direction and starts a line.
const obeyed = "\x1b[2J\x1b]0;owned\x07\u202e\u009b31m\nordering: on"

// Every command escapes the control characters of brokers and clients; a reason with such
// characters is refused.
func TestTerminalsObeyNothing(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start()
	s.stopped(s.give(s.newUser("anna"), "gift-number-1", "5", "AAPL").ID)
	text := func(column string) string { return column + ` = '` + obeyed + `'` }
	s.onFile("rewards.db",
		`UPDATE orders SET `+text("broker_status")+`, `+text("reason")+`, `+text("broker_id")+`, `+text("symbol"),
		`UPDATE assets SET `+text("name")+` WHERE symbol = 'AAPL'`,
		`INSERT INTO alarms (name, message, since) VALUES ('a', '`+obeyed+`', 1)`,
		`INSERT INTO broker_conflicts (client_order_id, symbol, filled_qty, detail, found_at)
			VALUES ('`+obeyed+`', 'x', 1, '`+obeyed+`', 1)`,
		`INSERT INTO settings (name, value) VALUES ('paused', '`+obeyed+`')`,
		`UPDATE apps SET `+text("name"), `UPDATE keys SET `+text("label")+`, `+text("hint"),
		`UPDATE users SET `+text("external_id"),
	)
	id, order := s.firstID("app", "list"), s.firstID("order", "list")
	for _, line := range []string{
		"app list", "app suspend " + id, "key list " + id, "asset list", "order list", "order show " + order,
		"fulfillment status", "audit", "audit --json", "audit --broker", "audit --broker --json", "log list", "log list --json",
	} {
		out, err := s.try(strings.Fields(line)...)
		if err != nil {
			out += err.Error()
		}
		for _, r := range out {
			if r != '\n' && !unicode.IsGraphic(r) {
				t.Errorf("%s prints %U: %q", line, r, out)
				break
			}
		}
		if strings.Contains(out, "\nordering: on\n") {
			t.Errorf("%s prints a line that the broker has written:\n%s", line, out)
		}
	}
	s.wantOutput(`\x1b[2J\x1b]0;owned\a\u202e\u009b31m\nordering: on`, "order", "list")
	for _, command := range []string{
		"app suspend " + id, "asset disable KO", "fulfillment pause", "fulfillment resume", "order acknowledge x", "order resolve " + order + " --not-bought",
		"order adopt x", "key revoke " + order, "asset sync",
	} {
		s.wantError("--reason: invalid character 6: U+001B is not a visible character",
			append(strings.Fields(command), "--reason=paid \x1b[2J")...)
	}
}

// stopped waits for the reward and stops serve.
func (s *service) stopped(reward string) {
	s.t.Helper()
	s.await(reward, "executed", 20*time.Second)
	noError(s.t, s.stop())
}
