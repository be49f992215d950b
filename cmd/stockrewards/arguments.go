package main

import (
	"os"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// checkArguments refuses arguments that are not UTF-8, of which the parser would change bytes, and an empty command.
func checkArguments(args []string) error {
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return usageErrorf("argument %d is not UTF-8", i+1)
		}
	}
	if args[0] == "" {
		return usageErrorf("the command is empty (see stockrewards --help)")
	}
	return nil
}

// checkEmpty refuses an argument or a flag of the command with an empty value, and an empty variable of an amount:
// mostly a script's variable is not set, and "" would mean no limit, or all.
func checkEmpty(parsed *kong.Context) error {
	if parsed.Selected().Hidden { // the completion of a shell: its words may be empty
		return nil
	}
	given := make(map[*kong.Flag]bool)
	for _, step := range parsed.Path {
		if step.Positional != nil && empty(step.Positional.Target) {
			return usageErrorf("%s must not be empty", strings.ToUpper(step.Positional.Name))
		}
		if step.Flag == nil {
			continue
		}
		given[step.Flag] = true
		if empty(step.Flag.Target) {
			return usageErrorf("--%s must not be empty", step.Flag.Name)
		}
	}
	for _, f := range parsed.Flags() {
		for _, name := range f.Envs {
			if value, set := os.LookupEnv(name); set && value == "" && f.PlaceHolder == placeholderUSD && !given[f] {
				return usageErrorf("the environment variable %s is empty: give it an amount, or unset it", name)
			}
		}
	}
	return nil
}

// placeholderUSD is the placeholder of flags that take an amount.
const placeholderUSD = "USD"

// empty reports whether a flag that was given has an empty string, or a list without anything or with an empty string.
func empty(target reflect.Value) bool {
	switch target.Kind() {
	case reflect.String:
		return target.Len() == 0
	case reflect.Slice:
		for i := range target.Len() {
			if empty(target.Index(i)) {
				return true
			}
		}
		return target.Len() == 0
	default:
		return false
	}
}
