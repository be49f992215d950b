package mutants

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"stockrewards/test/world"
)

func load(t *testing.T) []mutant {
	t.Helper()
	files, err := filepath.Glob("*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of mutants: %v", err)
	}
	var all []mutant
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(t, err)
		list, err := parse(file, string(text))
		check(t, err)
		all = append(all, list...)
	}
	return all
}

var check = world.Check

// Every row of docs/states.md has a mutant or a reason for having none. Every mutant still
// matches the code, names a test that exists, and names rows that exist.
func TestEveryRowHasAMutant(t *testing.T) {
	t.Parallel()
	rows, err := readStates()
	check(t, err)
	proven := make([]bool, len(rows))
	names, tests, code := map[string]bool{}, testFiles{}, sources{}
	for _, m := range load(t) {
		if names[m.name] {
			t.Errorf("%s: %s occurs twice", m.at, m.name)
		}
		names[m.name] = true
		for _, name := range m.rows {
			i, err := find(rows, name)
			if err != nil {
				t.Errorf("%s: %v", m.at, err)
				continue
			}
			proven[i] = true
		}
		if m.why != "" {
			continue
		}
		if err := code.fits(m); err != nil {
			t.Errorf("%s: %s: %v", m.at, m.name, err)
		}
		if !tests.have(t, m.test) {
			t.Errorf("%s: there is no test %s", m.at, m.test)
		}
	}
	for i, r := range rows {
		if !proven[i] {
			t.Errorf("docs/states.md: no mutant for %s", r.name(3))
		}
	}
}

// sources are files of the project by their path from its root.
type sources map[string]string

// apply returns the file with the mutant's change.
func (s sources) apply(root string, m mutant) (string, error) {
	text, known := s[m.file]
	if !known {
		b, err := os.ReadFile(filepath.Join(root, m.file))
		if err != nil {
			return "", err
		}
		text = string(b)
		s[m.file] = text
	}
	before, after := m.text()
	places := pattern(before).FindAllStringSubmatchIndex(text, -1)
	if len(places) != 1 {
		return "", fmt.Errorf("%d places in %s match the old text, want 1", len(places), m.file)
	}
	at := places[0]
	for i := 2; i < len(at); i += 2 {
		after = strings.Replace(after, anyString, text[at[i]:at[i+1]], 1)
	}
	return text[:at[0]] + after + text[at[1]:], nil
}

// anyString matches any string literal in a mutant's old text, so that a mutant does not
// depend on the wording of a message.
const anyString = `"…"`

// pattern matches a mutant's old text. Comments at the ends of its lines are ignored.
func pattern(old string) *regexp.Regexp {
	p := strings.ReplaceAll(regexp.QuoteMeta(old), anyString, `("(?:[^"\\]|\\.)*")`)
	return regexp.MustCompile(strings.ReplaceAll(p, "\n", `(?: //[^\n]*)?\n`))
}

func (s sources) fits(m mutant) error {
	_, err := s.apply(root, m)
	return err
}

// testFiles holds the concatenated test files of each folder.
type testFiles map[string]string

// have reports whether a test exists: its function, and for each sub-test a string literal
// with its name, in the folder or in a contract that it runs.
func (f testFiles) have(t *testing.T, test testRef) bool {
	t.Helper()
	parts := strings.Split(test.name, "/")
	text := f.read(t, test.folder())
	if !strings.Contains(text, "\nfunc "+parts[0]+"(t *testing.T) {") {
		return false
	}
	text += f.read(t, "internal/store/storetest") + f.read(t, "internal/broker/brokertest") +
		f.read(t, "internal/audit/audittest")
	for _, part := range parts[1:] {
		words := strings.ReplaceAll(regexp.QuoteMeta(part), "_", "[ _]")
		if !regexp.MustCompile("\"" + words + "\"").MatchString(text) {
			return false
		}
	}
	return true
}

func (f testFiles) read(t *testing.T, folder string) string {
	t.Helper()
	if text, known := f[folder]; known {
		return text
	}
	pattern := "*_test.go"
	if strings.HasSuffix(folder, "test") && folder != "test" {
		pattern = "*.go"
	}
	files, err := filepath.Glob(filepath.Join(root, folder, pattern))
	check(t, err)
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(t, err)
		all.Write(text)
	}
	f[folder] = all.String()
	return f[folder]
}
