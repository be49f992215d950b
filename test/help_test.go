package test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every command has help, and the text of each flag begins with a verb. Examples are of the command
// and name its flags.
func TestHelpOfEveryCommand(t *testing.T) {
	t.Parallel()
	flags := regexp.MustCompile(`--[a-z-]+`)
	start := regexp.MustCompile(`(?m)^ {2,6}(?:-\w, )?--[\w-]+(?:="[^"]*"|=\S+)?\s+([A-Z][a-z]+)`)
	for _, command := range commands(t) {
		help, err := runProgram(t, append(strings.Fields(command), "--help")...)
		succeeds(t, "Usage: stockrewards "+command)(help, err)
		_, shown, _ := strings.Cut(help, "Examples:\n\n")
		shown, _, _ = strings.Cut(shown, "\n\n")
		for example := range strings.Lines(shown) {
			if !strings.HasPrefix(example, "    stockrewards "+command) {
				t.Errorf("%s --help: the example %q", command, example)
			}
			for _, flag := range flags.FindAllString(example, -1) {
				wantText(t, help, "  "+flag)
			}
		}
		for _, flag := range start.FindAllStringSubmatch(help, -1) {
			if slices.Contains([]string{"Where", "How", "The", "What", "Only", "Why"}, flag[1]) {
				t.Errorf("%s --help: a flag's text begins with %q, not with a verb: %s", command, flag[1], flag[0])
			}
		}
	}
}

// Every command that lists or shows can print JSON.
func TestListsHaveJSON(t *testing.T) {
	t.Parallel()
	reads := regexp.MustCompile(`(?m)^(List|Show|Check|Ask|Print the version|Make) `)
	found := 0
	for _, command := range commands(t) {
		help, err := runProgram(t, append(strings.Fields(command), "--help")...)
		succeeds(t)(help, err)
		if reads.MatchString(help) && !strings.HasPrefix(command, "dev") {
			found++
			wantText(t, help, "--json")
		}
	}
	const least = 18
	if found < least {
		t.Errorf("only %d commands list or show", found)
	}
}
