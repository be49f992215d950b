package main

import (
	"embed"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// shells has the completion script of each shell. The scripts run completeCommand.
//
//go:embed shell
var shells embed.FS

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
}

// Run prints the completion script of a shell.
func (c *completionCommand) Run() error {
	script, err := shells.ReadFile("shell/" + c.Shell)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(script)
	return err
}

// completeCommand is what the completion scripts run.
type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words of the command line without the program's name; the last one is completed."`
}

// Run prints what the last word may become, one candidate and its help on a line.
func (c *completeCommand) Run(k *kong.Kong) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	var lines strings.Builder
	for _, found := range complete(k.Model.Node, words) {
		fmt.Fprintf(&lines, "%s\t%s\n", found.word, firstSentence(found.help))
	}
	_, err := os.Stdout.WriteString(lines.String())
	return err
}

// candidate is a word that completes a command line.
type candidate struct{ word, help string }

// complete returns what may take the place of the last word after the others.
func complete(node *kong.Node, words []string) []candidate {
	last, arguments := words[len(words)-1], 0
	for i := 0; i < len(words)-1; i++ {
		if strings.HasPrefix(words[i], "-") {
			if f := flagOf(node, words[i]); f != nil && !f.IsBool() {
				i++
				if i == len(words)-1 {
					return values("", f.Value, last)
				}
			}
			continue
		}
		if next := childOf(node, words[i]); next != nil {
			node, arguments = next, 0
		} else {
			arguments++
		}
	}
	if strings.HasPrefix(last, "-") {
		return flags(node, last)
	}
	if arguments < len(node.Positional) {
		return values("", node.Positional[arguments], last)
	}
	var found []candidate
	for _, child := range node.Children {
		if !child.Hidden && strings.HasPrefix(child.Name, last) {
			found = append(found, candidate{child.Name, child.Help})
		}
	}
	return found
}

// flags returns the flags of a command that begin with a word, or the values of the flag in it.
func flags(node *kong.Node, word string) (found []candidate) {
	if name, value, given := strings.Cut(word, "="); given {
		if f := flagOf(node, name); f != nil {
			found = values(name+"=", f.Value, value)
		}
		return found
	}
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			if strings.HasPrefix("--"+f.Name, word) {
				found = append(found, candidate{"--" + f.Name, f.Help})
			}
		}
	}
	return found
}

// values returns the values of an enumeration that begin with a word, after a prefix.
func values(prefix string, of *kong.Value, word string) (found []candidate) {
	for _, value := range of.EnumSlice() {
		if value != "" && strings.HasPrefix(value, word) {
			found = append(found, candidate{prefix + value, ""})
		}
	}
	return found
}

// flagOf returns the flag that a word names, without a value; nil when it names no flag, or has
// the value too.
func flagOf(node *kong.Node, word string) *kong.Flag {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			if word == "--"+f.Name {
				return f
			}
		}
	}
	return nil
}

// childOf returns the sub-command of a name; nil when there is no such command.
func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// firstSentence shortens a help text for a list.
func firstSentence(help string) string {
	sentence, _, _ := strings.Cut(help, ". ")
	return strings.TrimSuffix(sentence, ".")
}
