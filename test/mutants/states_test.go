package mutants

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

type row struct {
	line    int // counted from 0
	section string
	cells   []string
	proven  bool // its last column names the tests that prove it
}

// name is how a mutant names the row by a number of cells.
func (r row) name(cells int) string {
	return r.section + " | " + strings.Join(r.cells[:min(cells, len(r.cells))], " | ")
}

func readStates() ([]row, error) {
	text, err := os.ReadFile(root + "/docs/states.md")
	if err != nil {
		return nil, err
	}
	var list []row
	var section string
	var header []string
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
			section = strings.TrimLeft(line, "# ")
		case !strings.HasPrefix(line, "|"):
			header = nil
		case header == nil:
			header = cells(line)
		case strings.HasPrefix(line, "|---"):
		default:
			r := row{line: i, section: section, cells: cells(line), proven: header[len(header)-1] == "proven by"}
			if len(r.cells) != len(header) {
				return nil, fmt.Errorf("docs/states.md:%d: %d cells, want %d", i+1, len(r.cells), len(header))
			}
			list = append(list, r)
		}
	}
	return list, nil
}

// TestStatesAreCurrent checks the column "proven by" of docs/states.md: it names the tests of
// the row's mutants. `go test ./test/mutants -args -write` writes it.
func TestStatesAreCurrent(t *testing.T) {
	t.Parallel()
	const path = root + "/docs/states.md"
	rows, err := readStates()
	check(t, err)
	tests := map[int][]testRef{}
	for _, m := range load(t) {
		for _, name := range m.rows {
			if i, err := find(rows, name); err == nil && m.why == "" && !slices.Contains(tests[i], m.test) {
				tests[i] = append(tests[i], m.test)
			}
		}
	}
	before, err := os.ReadFile(path)
	check(t, err)
	lines := strings.Split(string(before), "\n")
	for i, r := range rows {
		if r.proven {
			r.cells[len(r.cells)-1] = column(tests[i])
			lines[r.line] = "| " + strings.Join(r.cells, " | ") + " |"
		}
	}
	after := strings.Join(lines, "\n")
	switch {
	case after == string(before):
	case *update:
		check(t, os.WriteFile(path, []byte(after), 0o600))
	default:
		t.Error("docs/states.md is stale: run go test ./test/mutants -run TestStatesAreCurrent -args -write")
	}
}

// column names tests by room: "fulfillment `TestA`, `TestB/sub`; alpaca `TestC`".
func column(tests []testRef) string {
	if len(tests) == 0 {
		return "-"
	}
	slices.SortStableFunc(tests, func(a, b testRef) int { return strings.Compare(a.room, b.room) })
	var b strings.Builder
	for i, test := range tests {
		switch {
		case i == 0:
			b.WriteString(test.room + " ")
		case test.room == tests[i-1].room:
			b.WriteString(", ")
		default:
			b.WriteString("; " + test.room + " ")
		}
		b.WriteString("`" + test.name + "`")
	}
	return b.String()
}

func cells(line string) []string {
	list := strings.Split(strings.Trim(line, "| "), "|")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

func find(rows []row, name string) (int, error) {
	found, matches := -1, 0
	for i, r := range rows {
		if r.name(strings.Count(name, " | ")) == name {
			found, matches = i, matches+1
		}
	}
	if matches != 1 {
		return -1, fmt.Errorf("docs/states.md has %d rows %q, want one", matches, name)
	}
	return found, nil
}
