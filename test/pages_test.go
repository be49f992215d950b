package test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var write = flag.Bool("write", false, "write the generated parts of the documents")

// documents are all pages by their path from the project's root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	walk(t, func(path string) {
		if strings.HasSuffix(path, ".md") {
			pages[path] = read(t, path)
		}
	})
	if len(pages) < 10 {
		t.Fatalf("found only %d pages", len(pages))
	}
	return pages
}

// TestLinks checks that each relative link leads to a file, and to a heading of it.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages := documents(t)
	target := regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"`)
	for path, text := range pages {
		text = fenced.ReplaceAllString(text, "")
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			to := m[1] + m[2]
			if strings.Contains(to, "://") {
				continue
			}
			file, anchor, _ := strings.Cut(to, "#")
			if file = filepath.ToSlash(filepath.Join(filepath.Dir(path), file)); strings.HasPrefix(to, "#") {
				file = path
			}
			if _, err := os.Stat(filepath.Join("..", file)); err != nil {
				t.Errorf("%s: the link %s: %v", path, to, err)
			}
			if anchor != "" && !slices.Contains(anchors(pages[file]), anchor) {
				t.Errorf("%s: the link %s: %s has no such heading", path, to, file)
			}
		}
	}
}

// anchors are the names of a page's headings in links, as GitHub makes them.
func anchors(text string) []string {
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, strings.ReplaceAll(name, " ", "-"))
	}
	return list
}

// TestAlarmPage checks that docs/alarms.md has an entry for each alarm, in which a meaning, a
// risk and a command are given.
func TestAlarmPage(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../internal/rewards/alarm.go", nil, 0)
	noError(t, err)
	var want []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Alarm") {
			lit, isLit := spec.Values[0].(*ast.BasicLit)
			if !isLit {
				t.Errorf("%s is not a literal string", spec.Names[0].Name)
				return true
			}
			name, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Error(err)
			}
			want = append(want, strings.TrimSuffix(name, ":"))
		}
		return true
	})
	var got []string
	for _, entry := range strings.Split(read(t, "docs/alarms.md"), "\n## ")[1:] {
		name, text, _ := strings.Cut(entry, "\n")
		got = append(got, name)
		for _, part := range []string{"**Meaning.**", "**Risk.**", "**Do.**", "```sh"} {
			if !strings.Contains(text, part) {
				t.Errorf("docs/alarms.md: %s has no %s", name, part)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 10 || !slices.Equal(got, want) {
		t.Errorf("docs/alarms.md has %q, the code has %q", got, want)
	}
}

// TestFlagTable compares the table of docs/configure.md with the program's help.
// `go test ./test -run TestFlagTable -args -write` writes it.
func TestFlagTable(t *testing.T) {
	t.Parallel()
	const path, from, to = "docs/configure.md", "<!-- flags: generated -->\n", "<!-- flags: end -->\n"
	before, rest, found := strings.Cut(read(t, path), from)
	_, after, ended := strings.Cut(rest, to)
	if !found || !ended {
		t.Fatalf("%s has no %q and %q", path, from, to)
	}
	want := before + from + "\n" + flagTable(t) + "\n" + to + after
	if *write {
		noError(t, os.WriteFile(filepath.Join("..", path), []byte(want), 0o600))
	}
	if read(t, path) != want {
		t.Errorf("%s is stale: run go test ./test -run TestFlagTable -args -write; want\n%s", path, flagTable(t))
	}
}

// option is a row of the table of flags: a flag with the commands that have it.
type option struct {
	name, variable, byDefault, text string
	commands                        []string
}

// flagTable makes the table from the help of every command: first serve's flags, then those
// of dev and paper, then the rest.
func flagTable(t *testing.T) string {
	t.Helper()
	all := commands(t)
	help := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), binary, append(args, "--help")...)
		cmd.Env = append(os.Environ(), "COLUMNS=9999")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v --help: %v\n%s", args, err, out)
		}
		return string(out)
	}
	var options []*option
	for _, command := range slices.Concat([]string{"serve", "dev", "paper"}, all) {
		_, flags, _ := strings.Cut(help(strings.Fields(command)...), "\nFlags:\n")
		for _, m := range regexp.MustCompile(`(?m)^ +--([\w-]+)\S*\s+(.*)$`).FindAllStringSubmatch(flags, -1) {
			options = addOption(options, command, m[1], m[2])
		}
	}
	if len(options) < 50 {
		t.Fatalf("found only %d flags", len(options))
	}
	b := &strings.Builder{}
	b.WriteString("| flag | variable | commands | default | what it does |\n|---|---|---|---|---|\n")
	for _, o := range options {
		fmt.Fprintf(b, "| `--%s` | %s | %s | %s | %s |\n", o.name, o.variable, covered(o.commands, all), o.byDefault, o.text)
	}
	return b.String()
}

// addOption adds a flag of a command, to the row that has it already if there is one.
func addOption(options []*option, command, name, text string) []*option {
	cut := func(pattern, otherwise string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			return otherwise
		}
		text = strings.Replace(text, m[0], "", 1)
		return m[1]
	}
	o := &option{name: name, commands: []string{command}}
	o.variable = cut(` \((\$\w+)\)`, "-")
	o.variable = regexp.MustCompile(`\$(\w+)`).ReplaceAllString(o.variable, "`$1`")
	o.byDefault = cut(` \(default:? ([^)]*)\)`, "-")
	o.text = strings.ReplaceAll(strings.TrimRight(strings.TrimSpace(text), "."), "|", `\|`)
	for _, have := range options {
		if have.name == o.name && have.variable == o.variable && have.byDefault == o.byDefault && have.text == o.text {
			if !slices.Contains(have.commands, command) {
				have.commands = append(have.commands, command)
			}
			return options
		}
	}
	return append(options, o)
}

// covered names commands, in short when they are nearly all.
func covered(commands, all []string) string {
	missing := slices.DeleteFunc(slices.Clone(all), func(c string) bool { return slices.Contains(commands, c) })
	if len(missing) < 10 {
		return "all but " + strings.Join(missing, ", ")
	}
	return strings.Join(commands, ", ")
}

// TestArchitectureNames checks that each file, folder, package and declaration that
// ARCHITECTURE.md names exists.
func TestArchitectureNames(t *testing.T) {
	t.Parallel()
	files, packages := map[string]bool{}, map[string]string{} // by base name; the code of a package
	walk(t, func(path string) {
		files[filepath.Base(path)] = true
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			packages[filepath.Base(filepath.Dir(path))] += read(t, path)
		}
	})
	ours := regexp.MustCompile(`^(cmd|internal|test|tools|bench|docs|client)(/|$)`)
	file := regexp.MustCompile(`^[\w*]+\.(go|js|csv|json|md)$`)
	name := regexp.MustCompile(`^([a-z]+)\.(?:[A-Z]\w*\.)?([A-Z]\w*)$`)
	checked := 0
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(fenced.ReplaceAllString(read(t, "ARCHITECTURE.md"), ""), -1) {
		var found bool
		span := m[1]
		switch declared := name.FindStringSubmatch(span); {
		case ours.MatchString(span):
			_, err := os.Stat(filepath.Join("..", span))
			found = err == nil
		case file.MatchString(span) && !strings.Contains(span, "*"):
			found = files[span]
		case len(declared) > 0 && packages[declared[1]] != "":
			declaration := `(?m)^(?:func (?:\([^)]*\) )?|type |var |const |\t)` + declared[2] + `\b`
			found = regexp.MustCompile(declaration).MatchString(packages[declared[1]])
		default:
			continue
		}
		checked++
		if !found {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", span)
		}
	}
	if checked < 100 {
		t.Errorf("checked only %d names", checked)
	}
}

// TestNamedTests checks that each test that a document names exists.
func TestNamedTests(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	walk(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			code.WriteString(read(t, path))
		}
	})
	for path, text := range documents(t) {
		for _, m := range regexp.MustCompile("`(Test[A-Z]\\w*)").FindAllStringSubmatch(text, -1) {
			if !strings.Contains(code.String(), "func "+m[1]+"(t *testing.T)") {
				t.Errorf("%s names the test %s, which does not exist", path, m[1])
			}
		}
	}
}

// TestBreakCodes checks that docs/backup.md has every code of `audit --broker`.
func TestBreakCodes(t *testing.T) {
	t.Parallel()
	guide := read(t, "docs/backup.md")
	codes := regexp.MustCompile(`\tcode\w+ += "(\w+)"`).FindAllStringSubmatch(read(t, "internal/audit/brokercheck/codes.go"), -1)
	if len(codes) < 10 {
		t.Fatalf("found only %d codes", len(codes))
	}
	for _, m := range codes {
		if !strings.Contains(guide, "`"+m[1]+"`") {
			t.Errorf("docs/backup.md has no code %s", m[1])
		}
	}
}
