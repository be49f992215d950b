package test

import (
	"regexp"
	"strings"
	"testing"
)

// Every command has help, and the text of each flag begins with a verb.
func TestHelpOfEveryCommand(t *testing.T) {
	t.Parallel()
	root, err := runProgram(t, "--help")
	if err != nil {
		t.Fatal(root)
	}
	_, list, _ := strings.Cut(root, "Commands:\n")
	commands := regexp.MustCompile(`(?m)^ {2}(\w+(?: \w+)?) {2,}`).FindAllStringSubmatch(list, -1)
	if len(commands) < 30 {
		t.Fatalf("only %d commands in\n%s", len(commands), root)
	}
	start := regexp.MustCompile(`(?m)^ {2,6}(?:-\w, )?--[\w-]+(?:="[^"]*"|=\S+)?\s+([A-Z][a-z]+)`)
	for _, command := range commands {
		help, err := runProgram(t, append(strings.Fields(command[1]), "--help")...)
		if err != nil || !strings.HasPrefix(help, "Usage: stockrewards "+command[1]) {
			t.Errorf("%s --help: %v\n%s", command[1], err, help)
		}
		for _, flag := range start.FindAllStringSubmatch(help, -1) {
			if noun := flag[1]; noun == "Where" || noun == "How" || noun == "The" || noun == "What" || noun == "Only" || noun == "Why" {
				t.Errorf("%s --help: a flag's text begins with %q, not with a verb: %s", command[1], noun, flag[0])
			}
		}
	}
}
