package audit

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// WriteText writes the report for people: a line for each check, then the
// violations, then the sum of it.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, c := range r.Checks {
		verdict := "ok"
		if c.Violated > 0 {
			verdict = "FAIL"
		}
		fmt.Fprintf(&b, "%-5s %s%s: %d %s: %s\n",
			verdict, c.Name, numbers(c.Invariants), c.Rows, c.Unit, c.Rule)
	}
	r.writeViolations(&b)
	failed, violations := r.Violated()
	if failed == 0 {
		fmt.Fprintf(&b, "all %d checks hold\n", len(r.Checks))
	} else {
		fmt.Fprintf(&b, "\n%d of %d checks do not hold: %d violations\n", failed, len(r.Checks), violations)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteViolations writes what breaks the checks, for people.
func (r Report) WriteViolations(w io.Writer) error {
	var b strings.Builder
	r.writeViolations(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) writeViolations(b *strings.Builder) {
	for _, c := range r.Checks {
		c.writeViolations(b)
	}
}

// writeViolations writes what breaks a check, and what to do about it.
func (c CheckResult) writeViolations(b *strings.Builder) {
	if c.Violated == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s: %d violations\n", c.Name, c.Violated)
	for _, v := range c.Violations {
		fmt.Fprintf(b, "  %s\n    found:    %s\n    expected: %s\n",
			visible(v.Row), visible(v.Found), visible(v.Expected))
	}
	if more := c.Violated - int64(len(c.Violations)); more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
	fmt.Fprintf(b, "  next: %s\n", c.Next)
}

// visible is a text whose control characters a terminal shows instead of obeying them.
func visible(text string) string {
	for _, r := range text {
		if !unicode.IsGraphic(r) {
			return strconv.QuoteToGraphic(text)
		}
	}
	return text
}

// numbers are the numbers of invariants in parentheses; "" for none.
func numbers(invariants []int) string {
	if len(invariants) == 0 {
		return ""
	}
	return " (" + strings.Trim(strings.ReplaceAll(fmt.Sprint(invariants), " ", ", "), "[]") + ")"
}
