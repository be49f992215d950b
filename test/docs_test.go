package test

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"stockrewards/test/world"
)

// docsScript is what the commands of a page run in: see TestDocs.
//
//go:embed docs_test.sh
var docsScript string

// TestDocs follows each page from top to bottom, as a reader would. It runs the blocks marked
// sh, the lines that begin with $ of those marked console, and the programs marked ts and go. A
// block marked yaml is the file apps.yaml.
// A server runs until the page starts the next one of its kind. Where the page shows an error
// of the program, the command must fail with it.
//
// A comment `<!-- docs test: COMMANDS -->` prepares what a page takes for granted.
// `<!-- docs sample: TEXT = COMMAND -->` replaces an id of the page by a real one.
// `not-run=REASON` after the language of a block excepts it.
func TestDocs(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	top, topErr := filepath.Glob("../*.md")
	if err := errors.Join(err, topErr); err != nil || len(pages) < 5 || len(top) < 3 {
		t.Fatalf("%d pages, %d at the top: %v", len(pages), len(top), err)
	}
	for _, path := range append(pages, top...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			if script := translate(t, path); script != "" {
				runPage(t, script)
			}
		})
	}
}

var (
	fence      = regexp.MustCompile("^( *)```(.*)$")
	hidden     = regexp.MustCompile(`(?s)<!-- docs test: (.*?) -->`)
	sample     = regexp.MustCompile(`<!-- docs sample: (\S+) = (.*?) -->`)
	shownError = regexp.MustCompile(`^stockrewards: `)
	starts     = regexp.MustCompile(
		`(?s)^((?:[A-Z_]+=\S+ )*)((?:go run \./cmd/stockrewards|(?:bin/)?stockrewards) (serve|paper|dev)\b.*)$`)
)

// translate makes a shell script of a page; "" when it has no commands.
func translate(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	noError(t, err)
	p := &page{t: t, path: filepath.Base(path)}
	lines := strings.Split(string(text), "\n")
	for p.line = 0; p.line < len(lines); p.line++ {
		rest := strings.Join(lines[p.line:], "\n")
		switch m := fence.FindStringSubmatch(lines[p.line]); {
		case m != nil:
			p.block(lines, len(m[1]), m[2])
		case strings.HasPrefix(strings.TrimSpace(lines[p.line]), "<!-- docs test: "):
			p.commands(strings.Split(hidden.FindStringSubmatch(rest)[1], "\n"))
		case strings.HasPrefix(strings.TrimSpace(lines[p.line]), "<!-- docs sample: "):
			p.sample(sample.FindStringSubmatch(rest))
		}
	}
	return p.script.String()
}

// page is a page on its way to a script.
type page struct {
	t       *testing.T
	path    string
	line    int // counted from 0
	samples []string
	script  strings.Builder
}

func (p *page) at() string { return fmt.Sprintf("%s:%d", p.path, p.line+1) }

// block reads the block that begins at the line, and goes to its end.
func (p *page) block(lines []string, indent int, info string) {
	p.t.Helper()
	kind, mark, _ := strings.Cut(info, " ")
	if kind == "" || mark != "" && !strings.HasPrefix(mark, "not-run=") {
		p.t.Errorf("%s: a block must be marked: sh, console, text, or another language", p.at())
	}
	var inside []string
	for p.line++; p.line < len(lines) && fence.FindStringSubmatch(lines[p.line]) == nil; p.line++ {
		inside = append(inside, lines[p.line][min(indent, len(lines[p.line])):])
	}
	if mark != "" {
		return
	}
	switch kind {
	case "sh":
		p.commands(inside)
	case "console":
		p.console(inside)
	case "yaml": // the file that the next commands take
		fmt.Fprintf(&p.script, "cat > apps.yaml <<'END'\n%s\nEND\n", strings.Join(inside, "\n"))
	case "ts":
		p.program("snippet.mjs", "node snippet.mjs", inside)
	case "go":
		p.program("snippet/main.go", "go run ./snippet", inside)
	}
}

// program writes a block into a file and runs it.
func (p *page) program(file, run string, lines []string) {
	fmt.Fprintf(&p.script, "mkdir -p snippet; cat > %s <<'END'\n%s\nEND\n", file, strings.Join(lines, "\n"))
	p.command(run)
}

// commands reads the lines of a block of sh.
func (p *page) commands(lines []string) {
	for i := 0; i < len(lines); i++ {
		command := lines[i]
		for ; strings.HasSuffix(lines[i], `\`) && i+1 < len(lines); i++ {
			command += "\n" + lines[i+1]
		}
		p.command(command)
	}
}

// console reads what somebody typed and saw.
func (p *page) console(lines []string) {
	for i, line := range lines {
		command, typed := strings.CutPrefix(line, "$ ")
		switch {
		case !typed:
		case i+1 < len(lines) && shownError.MatchString(lines[i+1]):
			fmt.Fprintf(&p.script, "at %q; refused %q %s\n", p.at()+": "+command, p.replaced(lines[i+1]), p.replaced(command))
		default:
			p.command(command)
		}
	}
}

// command adds a command; one that starts a server runs in the background.
func (p *page) command(command string) {
	command = p.replaced(command)
	fmt.Fprintf(&p.script, "at '%s'\n", strings.ReplaceAll(p.at()+": "+command, "'", `'\''`))
	if m := starts.FindStringSubmatch(command); m != nil {
		command = m[1] + "server " + m[3] + " " + m[2]
	}
	fmt.Fprintln(&p.script, command)
}

// sample makes later commands use the value that replaces an id of the page.
func (p *page) sample(m []string) {
	name := fmt.Sprintf("SAMPLE%d", len(p.samples))
	p.command(name + "=$(" + m[2] + `); test -n "$` + name + `"`)
	p.samples = append(p.samples, m[1], "${"+name+"}")
}

func (p *page) replaced(text string) string { return strings.NewReplacer(p.samples...).Replace(text) }

// runPage runs a page's commands in a copy of the project, so that nothing of one page
// is there for another.
func runPage(t *testing.T, script string) {
	t.Helper()
	root := t.TempDir()
	work := filepath.Join(root, "project")
	copyProject(t, work)
	bin := filepath.Join(root, "bin")
	for _, folder := range []string{bin, filepath.Join(root, "backup"), filepath.Join(root, "etc"), filepath.Join(root, "var")} {
		noError(t, os.Mkdir(folder, 0o700))
	}
	noError(t, os.Symlink(binary, filepath.Join(bin, "stockrewards")))
	places := []string{
		"/var/lib/", filepath.Join(root, "var") + "/", "/etc/", filepath.Join(root, "etc") + "/",
		"/backup/", filepath.Join(root, "backup") + "/", "https://paper-api.alpaca.markets", "${STOCKREWARDS_ALPACA_URL}",
	}
	for _, port := range []string{"8080", "8081", "8090", "8443"} {
		for _, host := range []string{".1:", ".0:"} {
			_, free, _ := strings.Cut(world.FreeAddress(t), ":")
			places = append(places, host+port, host+free)
		}
	}
	whole := strings.NewReplacer(places...).Replace(docsScript + script)
	const patience = 5 * time.Minute // most of it for go run, which compiles
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", whole)
	cmd.Dir, cmd.WaitDelay = work, 10*time.Second // servers hold the output open when the page takes too long
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "LOGS="+root,
		"CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath") // what the tests have compiled already
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // servers that the page leaves running
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
}

// copyProject copies what README's commands build.
func copyProject(t *testing.T, to string) {
	t.Helper()
	for _, folder := range []string{"client", "cmd", "internal"} {
		noError(t, os.CopyFS(filepath.Join(to, folder), os.DirFS(filepath.Join("..", folder))))
	}
	for _, name := range []string{"go.mod", "go.sum", "Makefile"} {
		copyFile(t, filepath.Join("..", name), filepath.Join(to, name))
	}
}
