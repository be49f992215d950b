package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"

	"stockrewards/internal/rewards"
)

// stdout is standard output. A command that did what it was asked has failed when nobody could read its answer, such as
// a key that is never shown again.
var stdout output //nolint:gochecknoglobals // as os.Stdout is

// output remembers the first error of writing to standard output.
type output struct {
	mu  sync.Mutex
	err error
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	n, err := os.Stdout.Write(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = cmp.Or(o.err, err)
	return n, err
}

// failure is why something could not be written; nil if everything was.
func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return nil
	}
	return fmt.Errorf("cannot write the output of the command; what it changed is changed: %w", o.err)
}

// sayf prints to standard output. Control characters in values are escaped: brokers and
// clients write them, and a terminal must not obey them.
func sayf(format string, values ...any) { fsayf(&stdout, format, values...) }

// sayln prints values separated by blanks, escaped as by sayf.
func sayln(values ...any) { fmt.Fprintln(&stdout, printable(values)...) }

// said prints the result of a change as sayf does, unless the change failed, and returns its error.
func said(err error, format string, values ...any) error {
	if err == nil {
		sayf(format, values...)
	}
	return err
}

func fsayf(w io.Writer, format string, values ...any) { fmt.Fprintf(w, format, printable(values)...) }

// printable escapes the control characters of values.
func printable(values []any) []any {
	list := make([]any, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case string:
			list[i] = rewards.Printable(v)
		case error:
			list[i] = printableLines(v.Error())
		case fmt.Stringer:
			list[i] = rewards.Printable(v.String())
		case []byte:
			list[i] = rewards.Printable(string(v))
		default:
			list[i] = value
			if kind := reflect.ValueOf(value); kind.Kind() == reflect.String {
				list[i] = rewards.Printable(kind.String())
			}
		}
	}
	return list
}

// printableLines escapes each line of a string, such as joined errors.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = rewards.Printable(line)
	}
	return strings.Join(lines, "\n")
}

// table prints items in columns under a heading; row returns the cells of an item.
func table[T any](heading string, items []T, row func(T) []string) error {
	const gap = 2
	w := tabwriter.NewWriter(&stdout, 0, 0, gap, ' ', 0)
	fmt.Fprintln(w, heading)
	for _, item := range items {
		cells := row(item)
		for i, cell := range cells {
			cells[i] = rewards.Printable(cell)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

func printJSON(report any) error {
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(report); err != nil {
		return err
	}
	_, err := io.WriteString(&stdout, escapedJSON(text.String()))
	return err
}

// escapedJSON escapes control characters beyond ASCII, which the encoder leaves as they
// are.
func escapedJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || unicode.IsGraphic(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
