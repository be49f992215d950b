package audit

import (
	"fmt"
	"io"
	"strings"

	"stockrewards/internal/audit/value"
)

// WriteText writes the report for people: a line for each check, the violations, and the total.
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

// WriteViolations writes the violations for people.
func (r Report) WriteViolations(w io.Writer) error {
	var b strings.Builder
	r.writeViolations(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Report) writeViolations(b *strings.Builder) {
	for _, c := range r.Checks {
		if c.Violated == 0 {
			continue
		}
		fmt.Fprintf(b, "\n%s: %d violations\n", c.Name, c.Violated)
		for _, v := range c.Violations {
			fmt.Fprintf(b, "  %s\n    found:    %s\n    expected: %s\n",
				value.Visible(v.Row), value.Visible(v.Found), value.Visible(v.Expected))
		}
		if more := c.Violated - int64(len(c.Violations)); more > 0 {
			fmt.Fprintf(b, "  and %d more\n", more)
		}
		fmt.Fprintf(b, "  next: %s\n", c.Next)
	}
}

// numbers formats the numbers of invariants in parentheses.
func numbers(invariants []int) string {
	if len(invariants) == 0 {
		return ""
	}
	return " (" + strings.Trim(strings.ReplaceAll(fmt.Sprint(invariants), " ", ", "), "[]") + ")"
}
