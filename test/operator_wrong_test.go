package test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Operators' mistakes are refused and change nothing: an invalid expiry creates no key, and
// names cannot break the lines of lists.
func TestOperatorsMistakesAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	const id = "01a1fe02-1262-7000-bbaf-62ded01743e8"
	today := time.Now().Format(time.DateOnly)
	before := s.command("app", "list") + s.shown("tester")
	for line, want := range map[string]string{
		"key|create|tester|--expires=0s":  "--expires must be positive",
		"key|create|tester|--expires=-1h": "--expires must be positive",
		"key|create|tester|--label=a\nb":  "--label: invalid character 2: U+000A is not a visible character; must be plain text on one line",
		"app|create|a\nb":                 "NAME has an invalid character 2: U+000A is not a visible character; must be plain text on one line",
		"app|create|a\tb":                 "NAME has an invalid character 2: U+0009 is not a visible character; must be plain text on one line",
		"app|create|":                     "NAME must not be empty",
		"order|list|--limit=0":            "--limit must be at least 1",
		"order|list|--limit=-1":           "--limit must be at least 1",
		"order|list|--state=final":        `--state "final": no such state`,
		"fulfillment|pause|--reason=":     "--reason must not be empty",
		"order|show|1":                    "ID: must be a UUID",
		"action|payouts|nosuch":           "no corporate action with that id",
		"order|resolve|" + id + "|--filled=0.3736362275|--price=1|--reason=x": `--filled "0.3736362275": too many decimals: must be ` +
			"a number of shares greater than 0, with at most 9 decimals (or use --not-bought)",
		"order|resolve|" + id + "|--filled=1|--price=-1|--reason=x": `--price "-1": must be a price in dollars of at least 0.000000001`,
		"reward|reverse|" + id + "|--amount=0.0000001|--reason=x": `--amount "0.0000001": too many decimals: must be ` +
			"an amount of dollars greater than 0, with at most 6 decimals",
		"action|enter|forward_split|KO|--ex-date=" + today + "|--old-rate=4|--new-rate=1|--reason=x": "--old-rate, --new-rate: " +
			"the terms cannot be applied: a forward split must give more shares than before, not 1 for 4",
		"action|enter|reverse_split|KO|--ex-date=" + today + "|--old-rate=1|--new-rate=4|--reason=x": "fewer shares than before, not 4 for 1",
		"action|enter|stock_dividend|KO|--ex-date=" + today + "|--rate=x|--reason=x":                 `--rate: the terms cannot be applied`,
		"action|enter|cash_dividend|KO|--ex-date=" + today + "|--rate=1|--new-symbol=A|--reason=x":   "a cash_dividend has no --new-symbol",
		"budget|set|tester|--per=app|--period=day|--limit=1|--name=" + strings.Repeat("b", 65): `bbb": the name of a budget must have ` +
			"1 to 64 characters",
	} {
		s.wantError(want, strings.Split(line, "|")...)
	}
	if diff := cmp.Diff(before, s.command("app", "list")+s.shown("tester")); diff != "" {
		t.Errorf("what was refused changed something (-before +after):\n%s", diff)
	}
}
