package test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Operators' mistakes are refused and change nothing: an invalid expiry creates no key, and
// names cannot break the lines of lists.
func TestOperatorsMistakesAreRefused(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
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
	} {
		s.wantError(want, strings.Split(line, "|")...)
	}
	if diff := cmp.Diff(before, s.command("app", "list")+s.shown("tester")); diff != "" {
		t.Errorf("what was refused changed something (-before +after):\n%s", diff)
	}
}
