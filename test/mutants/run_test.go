package mutants

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What to run; by default no mutant, because each takes seconds.
var (
	share  = flag.Int("share", 0, "run every n-th mutant; 1 runs all")
	update = flag.Bool("write", false, "write the column of tests in docs/states.md")
	only   = flag.String("only", "", "run only those whose names match this regular expression")
)

type runner struct {
	root  string        // of the module
	limit time.Duration // of one test
}

// outcome is what a test said about a mutant.
type outcome int

const (
	survived outcome = iota // the test passed
	found
	foundByLimit // the test did not end in time
	broken       // the mutant does not compile, or no test ran
)

type verdict struct {
	outcome outcome
	by      string // the test that failed and the promise that was violated, or what is broken
	took    time.Duration
}

// Every mutant is found by the test that it names. They run one at a time, because each
// uses the whole machine.
func TestMutants(t *testing.T) { //nolint:paralleltest // see above
	r := runner{root: root, limit: 3 * time.Minute}
	chosen := choose(t, load(t), *share, *only)
	r.baseline(t, chosen)
	counts := map[outcome]int{}
	began := time.Now()
	for i, m := range chosen { //nolint:paralleltest // see above
		t.Run(m.name, func(t *testing.T) {
			v := r.try(t, m)
			counts[v.outcome]++
			v.report(t, m, fmt.Sprintf("%d of %d", i+1, len(chosen)))
		})
	}
	if len(chosen) > 0 {
		t.Logf("%d mutants in %s: %d found, %d more by the time limit, %d SURVIVED, %d without a test",
			len(chosen), time.Since(began).Round(time.Second),
			counts[found], counts[foundByLimit], counts[survived], counts[broken])
	}
}

func (v verdict) report(t *testing.T, m mutant, count string) {
	t.Helper()
	took := v.took.Round(100 * time.Millisecond)
	switch v.outcome {
	case found:
		t.Logf("%s: found by %s in %s", count, v.by, took)
	case foundByLimit:
		t.Logf("%s: found by the time limit: %s did not end in %s", count, m.test, took)
	case survived:
		t.Errorf("%s: SURVIVED %s (%s)", m.at, m.test, took)
	case broken:
		t.Errorf("%s: it does not compile, or no test ran: %s", m.at, v.by)
	}
}

// choose takes every n-th of the mutants whose names match.
func choose(t *testing.T, all []mutant, every int, names string) []mutant {
	t.Helper()
	match, err := regexp.Compile(names)
	check(t, err)
	var chosen []mutant
	n := 0
	for _, m := range all {
		if m.why != "" || !match.MatchString(m.name) {
			continue
		}
		if every > 0 && n%every == 0 {
			chosen = append(chosen, m)
		}
		n++
	}
	return chosen
}

// baseline checks that each test runs and passes without a mutant. It runs the tests
// of a folder together.
func (r runner) baseline(t *testing.T, chosen []mutant) {
	t.Helper()
	rooms := map[string][]testRef{}
	for _, m := range chosen {
		rooms[m.test.folder()] = append(rooms[m.test.folder()], m.test)
	}
	for folder, tests := range rooms {
		functions := map[string]bool{}
		for _, test := range tests {
			function, _, _ := strings.Cut(test.name, "/")
			functions[function] = true
		}
		names := slices.Sorted(maps.Keys(functions))
		out, err := r.run(t, folder, "^("+strings.Join(names, "|")+")$", "")
		if err != nil {
			t.Fatalf("%s fails without a mutant: %v\n%s", folder, err, tail(out))
		}
		for _, test := range tests {
			if !strings.Contains(out, "=== RUN   "+test.name+"\n") {
				t.Fatalf("there is no test %s", test)
			}
		}
		t.Logf("%s: %d tests pass without a mutant", folder, len(names))
	}
}

// try runs a mutant's test on the mutated file. Nothing of the module is written.
func (r runner) try(t *testing.T, m mutant) verdict {
	t.Helper()
	began := time.Now()
	overlay, err := r.overlay(t, m)
	if err != nil {
		return verdict{outcome: broken, by: err.Error()}
	}
	out, err := r.run(t, m.test.folder(), m.test.pattern(), overlay)
	v := judge(out, err)
	v.took = time.Since(began)
	return v
}

// overlay writes the mutated file to a temporary folder, and an overlay file with which the
// go command builds it instead of the original.
func (r runner) overlay(t *testing.T, m mutant) (string, error) {
	t.Helper()
	original, err := filepath.Abs(filepath.Join(r.root, m.file))
	if err != nil {
		return "", err
	}
	text, err := sources{}.apply(r.root, m)
	if err != nil {
		return "", err
	}
	folder := t.TempDir()
	mutated := filepath.Join(folder, filepath.Base(m.file))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: mutated}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(mutated, []byte(text), 0o600); err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// run runs tests of a folder and returns their output. The overlay is in the environment, so
// that a test which builds the program builds the mutant.
func (r runner) run(t *testing.T, folder, pattern, overlay string) (string, error) {
	t.Helper()
	const grace = 30 * time.Second // the test's own limit reports more
	ctx, cancel := context.WithTimeout(t.Context(), 2*r.limit+grace)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-vet=off", "-failfast", "-v",
		"-timeout="+r.limit.String(), "-run="+pattern, "./"+folder)
	cmd.Dir = r.root
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -ldflags=-w")
	if overlay != "" {
		cmd.Env = append(cmd.Env, "GOFLAGS="+os.Getenv("GOFLAGS")+" -ldflags=-w -overlay="+overlay)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func judge(out string, err error) verdict {
	failed := regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`).FindAllStringSubmatch(out, -1)
	switch {
	case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"),
		strings.Contains(out, "no tests to run"), strings.HasPrefix(out, "build: "):
		return verdict{outcome: broken, by: tail(out)}
	case err == nil:
		return verdict{outcome: survived}
	case strings.Contains(out, "panic: test timed out"):
		return verdict{outcome: foundByLimit}
	case len(failed) > 0:
		by := failed[len(failed)-1][1]
		if promise := regexp.MustCompile(`(?m): violated: (.+)$`).FindStringSubmatch(out); promise != nil {
			by += " (" + promise[1] + ")"
		}
		return verdict{outcome: found, by: by}
	case strings.Contains(out, "panic: "), strings.Contains(out, "fatal error: "):
		return verdict{outcome: found, by: "a crash"}
	}
	return verdict{outcome: broken, by: fmt.Sprintf("%v\n%s", err, tail(out))}
}

func tail(text string) string {
	const most = 2_000
	return text[max(0, len(text)-most):]
}
