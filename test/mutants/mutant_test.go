// Package mutants proves that the tests find bugs. A mutant is one small change that makes
// the service wrong; the test that it names must then fail. The mutants are in the .txt files
// of this folder. Every row of docs/states.md has one that removes the row's handling.
//
// The format, a block for each mutant:
//
//	= its-name
//	row: Section of docs/states.md | first cell of the row, more cells when needed
//	bug: in place of a row: what the planted bug does
//	test: room TestName/sub_test
//	file: path/of/the/file.go
//	-text that occurs in the file exactly once, possibly a part of a line
//	 a line of the text that stays
//	+replacement
//
// "…" in the old text matches any string literal; in the new text it is that literal. A
// comment at the end of a line is ignored, except on the last line.
//
// A mutant may have several rows. Instead of test, file and text, "why:" gives the reason why
// no small change can remove the handling. Lines between blocks that begin with # are comments.
package mutants

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// mutant is one change and the test that must find it.
type mutant struct {
	name string
	at   string // "states.txt:12", where it is written
	rows []string
	bug  string
	why  string // there is no small change
	test testRef
	file string   // from the project's root
	old  []string // lines
	new  []string
}

type testRef struct {
	room string // "fulfillment"
	name string // "TestX/sub_test"
}

func (r testRef) String() string { return r.room + " " + r.name }

// folder returns the folder of the test, from the project's root.
func (r testRef) folder() string {
	switch r.room {
	case "test", "client":
		return r.room
	case "cmd":
		return "cmd/stockrewards"
	case "sim", "linear", "hostile":
		return "test/" + r.room
	case "sqlite":
		return "internal/store/sqlite"
	case "alpaca", "paper":
		return "internal/broker/" + r.room
	}
	return "internal/" + r.room
}

// pattern returns the -run pattern of this test only.
func (r testRef) pattern() string {
	var parts []string
	for part := range strings.SplitSeq(r.name, "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	return strings.Join(parts, "/")
}

func parseTest(text string) (testRef, error) {
	room, name, found := strings.Cut(text, " ")
	if !found || !strings.HasPrefix(name, "Test") || strings.Contains(name, " ") {
		return testRef{}, fmt.Errorf("test %q: must be a room and a test", text)
	}
	return testRef{room, name}, nil
}

func parse(name, text string) ([]mutant, error) {
	var list []mutant
	var m *mutant
	for i, line := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d", filepath.Base(name), i+1)
		var err error
		switch {
		case strings.HasPrefix(line, "= "):
			list = append(list, mutant{name: line[2:], at: at})
			m = &list[len(list)-1]
		case line == "" || strings.HasPrefix(line, "#"):
		case m == nil:
			err = fmt.Errorf("%q comes before the first mutant", line)
		case strings.ContainsAny(line[:1], "-+ "):
			m.addLine(line[0], line[1:])
		default:
			err = m.set(line)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	for _, m := range list {
		if err := m.check(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", m.at, m.name, err)
		}
	}
	return list, nil
}

func (m *mutant) addLine(sign byte, line string) {
	if sign != '+' {
		m.old = append(m.old, line)
	}
	if sign != '-' {
		m.new = append(m.new, line)
	}
}

// text returns the text that the mutant replaces, and its replacement.
func (m *mutant) text() (before, after string) {
	return strings.Join(m.old, "\n"), strings.Join(m.new, "\n")
}

func (m *mutant) set(line string) (err error) {
	key, value, found := strings.Cut(line, ": ")
	if !found || value == "" {
		return fmt.Errorf("%q: must be KEY: VALUE", line)
	}
	for name, field := range map[string]*string{"bug": &m.bug, "why": &m.why, "file": &m.file} {
		if key == name && *field != "" {
			return fmt.Errorf("%s occurs twice", key)
		}
		if key == name {
			*field = value
			return nil
		}
	}
	switch {
	case key == "row":
		m.rows = append(m.rows, value)
	case key == "test" && m.test.name == "":
		m.test, err = parseTest(value)
	default:
		err = fmt.Errorf("%s is unknown or occurs twice", key)
	}
	return err
}

func (m *mutant) check() error {
	before, after := m.text()
	change := before+after+m.file+m.test.name != ""
	switch {
	case !regexp.MustCompile(`^[a-z0-9-]+$`).MatchString(m.name):
		return fmt.Errorf("a name must consist of a-z, 0-9 and -")
	case (len(m.rows) == 0) == (m.bug == ""):
		return fmt.Errorf("rows or a bug: must have one of them")
	case m.why != "" && (change || m.bug != ""):
		return fmt.Errorf("why excludes a change")
	case m.why == "" && (before == "" || before == after || m.file == "" || m.test.name == ""):
		return fmt.Errorf("no test, no file, or no change")
	}
	return nil
}
