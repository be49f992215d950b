package page_test

import (
	"os/exec"
	"testing"

	"stockrewards/internal/page"
)

// A shell reads a quoted word as it is.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"stockrewards-data/dev.key", "/my data it's/dev.key", `$HOME "x" \ *`, "", "'", "ä"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+page.Quoted(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q is read as %q, %v", word, out, err)
		}
	}
	if got := page.Quoted("stockrewards-data/dev.key"); got != "stockrewards-data/dev.key" {
		t.Errorf("a plain word became %s", got)
	}
}
