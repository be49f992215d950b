package main

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"
)

type manualCommand struct{}

// manualEnd is what the manual page says beyond the help.
//
//go:embed manual.roff
var manualEnd string

// Run prints the manual page, which has the help of every command.
func (*manualCommand) Run(k *kong.Kong) error {
	_, err := os.Stdout.WriteString(manual(k.Model))
	return err
}

// manual returns the manual page in the man macros of roff. No library that is still kept
// makes one from kong's model.
func manual(app *kong.Application) string {
	leaves := app.Leaves(true)
	var b strings.Builder
	fmt.Fprintf(&b, ".TH STOCKREWARDS 1 %q %q %q\n", commitDay(), "stockrewards "+version, "Stock Rewards Service")
	b.WriteString(".SH NAME\nstockrewards \\- reward your users with fractional stock\n" +
		".SH SYNOPSIS\n.B stockrewards\n.I COMMAND\n[\\fIFLAGS\\fR]\n.SH DESCRIPTION\n")
	for paragraph := range strings.SplitSeq(app.Help, "\n\n") {
		fmt.Fprintf(&b, ".PP\n%s\n", roff(paragraph))
	}
	b.WriteString(".SH COMMANDS\n")
	var shared []*kong.Flag
	for _, leaf := range leaves {
		fmt.Fprintf(&b, ".SS %s\n%s\n", roff(usage(leaf)), roff(leaf.Help))
		for _, argument := range leaf.Positional {
			entry(&b, strings.ToUpper(argument.Name), argument.Help)
		}
		for _, f := range leaf.Flags {
			switch {
			case f.Hidden:
			case !isShared(f, leaves):
				entry(&b, flagUsage(f), flagHelp(f))
			case !hasFlag(shared, f.Name):
				shared = append(shared, f)
			}
		}
	}
	b.WriteString(".SH COMMON FLAGS\nMost commands have these.\n")
	for _, f := range append([]*kong.Flag{app.HelpFlag}, shared...) {
		entry(&b, flagUsage(f), flagHelp(f))
	}
	b.WriteString(manualEnd)
	return b.String()
}

// usage is a command with its arguments and required flags.
func usage(leaf *kong.Node) string {
	words := []string{leaf.FullPath()}
	for _, argument := range leaf.Positional {
		name := strings.ToUpper(argument.Name)
		if !argument.Required {
			name = "[" + name + "]"
		}
		words = append(words, name)
	}
	for _, f := range leaf.Flags {
		if f.Required && len(f.Envs) == 0 {
			words = append(words, flagUsage(f))
		}
	}
	return strings.Join(words, " ")
}

// flagUsage is a flag with the placeholder of its value.
func flagUsage(f *kong.Flag) string {
	if f.IsBool() {
		return "--" + f.Name
	}
	return "--" + f.Name + "=" + strings.Trim(f.FormatPlaceHolder(), `"`)
}

// flagHelp is a flag's help with its environment variable.
func flagHelp(f *kong.Flag) string {
	if len(f.Envs) == 0 {
		return f.Help
	}
	return f.Help + " Environment: " + strings.Join(f.Envs, ", ") + "."
}

// isShared reports whether more than half of the commands have a flag: it is described once.
func isShared(f *kong.Flag, leaves []*kong.Node) bool {
	n := 0
	for _, leaf := range leaves {
		if hasFlag(leaf.Flags, f.Name) {
			n++
		}
	}
	return 2*n > len(leaves)
}

func hasFlag(list []*kong.Flag, name string) bool {
	for _, f := range list {
		if f.Name == name {
			return true
		}
	}
	return false
}

// entry writes a term and what it means.
func entry(b *strings.Builder, term, meaning string) {
	fmt.Fprintf(b, ".TP\n\\fB%s\\fR\n%s\n", roff(term), roff(meaning))
}

// roff escapes a string, and joins its lines.
func roff(text string) string {
	var b strings.Builder
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "'", `\(aq`, "\n", " ").Replace(text)
	for _, r := range text {
		if r > unicode.MaxASCII {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return `\&` + b.String() // no line begins with a request
}

// commitDay is the day of the source, such as "2026-11-22"; "" when unknown.
func commitDay() string {
	day, _, _ := strings.Cut(thisBuild().CommitTime, "T")
	return day
}
