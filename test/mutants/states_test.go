package mutants

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// root is the project's root, from here.
const root = "../.."

// row is a row of a table of docs/states.md.
type row struct {
	section string
	cells   []string
	tests   []testRef // of the column "test"
	tested  bool      // there is such a column
}

// name is how a mutant names the row by so many cells.
func (r row) name(cells int) string {
	return r.section + " | " + strings.Join(r.cells[:min(cells, len(r.cells))], " | ")
}

// proves tells whether a test is one that the row names, or a part of one.
func (r row) proves(test testRef) bool {
	return !r.tested || slices.ContainsFunc(r.tests, func(named testRef) bool {
		return named == test || named.room == test.room && strings.HasPrefix(test.name, named.name+"/")
	})
}

// readStates reads all rows of docs/states.md.
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
			r := row{section: section, cells: cells(line)}
			if len(r.cells) != len(header) {
				return nil, fmt.Errorf("docs/states.md:%d: %d cells, want %d", i+1, len(r.cells), len(header))
			}
			if r.tested = header[len(header)-1] == "test"; r.tested {
				r.tests = testsOf(r.cells[len(r.cells)-1])
			}
			list = append(list, r)
		}
	}
	return list, nil
}

func cells(line string) []string {
	list := strings.Split(strings.Trim(line, "| "), "|")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// testsOf reads "fulfillment `TestA`, `TestB/sub`; alpaca `TestC`". A test without a
// room is of the room before.
func testsOf(cell string) []testRef {
	var list []testRef
	room := ""
	for _, found := range regexp.MustCompile("(?:([a-z]+) )?`(Test[^`]+)`").FindAllStringSubmatch(cell, -1) {
		if found[1] != "" {
			room = found[1]
		}
		list = append(list, testRef{room, found[2]})
	}
	return list
}

// find is the row that a name names.
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
