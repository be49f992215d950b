package rewards_test

import (
	"errors"
	"strings"
	"testing"

	"stockrewards/internal/rewards"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "",
		"plain é 😀 'quoted' \"twice\" \\": "plain é 😀 'quoted' \"twice\" \\",
		"\x1b[2J":                         `\x1b[2J`,
		"a\nb\tc\x00":                     `a\nb\tc\x00`,
		"\u202eback":                      `\u202eback`,
		"\u009b1m":                        `\u009b1m`,
		"\xffend":                         `\xffend`,
		"\ufffd":                          "\ufffd",
	} {
		if got := rewards.Printable(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestCheckText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "paid in full: $5.25 é 😀", "a�b", strings.Repeat("é", rewards.MaxReason)} {
		if err := rewards.CheckText(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"é\x1b[2J": "character 2: U+001B is not a visible character",
		"a\nb":     "character 2: U+000A is not a visible character",
		"a\u202eb": "character 2: U+202E is not a visible character",
		"é\xff":    "character 2: the byte 0xff",
	} {
		if err := rewards.CheckText(text); !errors.Is(err, rewards.ErrText) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if err := rewards.CheckText(strings.Repeat("é", rewards.MaxReason+1)); err == nil {
		t.Error("a string that is too long was accepted")
	}
}
