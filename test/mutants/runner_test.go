package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	check(t, os.WriteFile(path, []byte(text), 0o600))
}

// The runner distinguishes mutants that are found, survive, hang or do not compile, on a
// module of one function.
func TestRunner(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "go.mod", "module small\n\ngo 1.26\n")
	write(t, folder, "internal/sum/sum.go", `package sum

// Up adds the numbers up to n.
func Up(n int) (sum int) {
	for i := 1; i <= n; i++ {
		sum += i
	}
	return sum
}
`)
	write(t, folder, "internal/sum/sum_test.go", `package sum

import "testing"

func TestUp(t *testing.T) {
	t.Run("to three", func(t *testing.T) {
		if got := Up(3); got != 6 {
			t.Fatal(got)
		}
	})
}
`)
	mutants, err := parse("small.txt", `
= found
bug: it leaves the last one out
test: sum TestUp/to_three
file: internal/sum/sum.go
-i <= n
+i < n

= survives
bug: it begins at zero
test: sum TestUp
file: internal/sum/sum.go
-i := 1
+i := 0

= hangs
bug: it never ends
test: sum TestUp
file: internal/sum/sum.go
 	for i := 1; i <= n; i++ {
-		sum += i
+		sum += i
+		i--

= no-program
bug: none
test: sum TestUp
file: internal/sum/sum.go
-	return sum
+	return summ

= no-test
bug: none
test: sum TestDown
file: internal/sum/sum.go
-	return sum
+	return 0

= old
bug: none
test: sum TestUp
file: internal/sum/sum.go
-sum
+mus
`)
	check(t, err)
	r := runner{root: folder, limit: 4 * time.Second}
	r.baseline(t, mutants[:4])
	got := map[string]verdict{}
	for _, m := range mutants {
		v := r.try(t, m)
		v.took = 0
		if v.outcome == broken {
			v.by = ""
		}
		got[m.name] = v
	}
	want := map[string]verdict{
		"found": {outcome: found, by: "TestUp/to_three"}, "survives": {}, "hangs": {outcome: foundByLimit},
		"no-program": {outcome: broken}, "no-test": {outcome: broken}, "old": {outcome: broken},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(verdict{})); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if n := len(choose(t, mutants, 2, "o")); n != 2 {
		t.Errorf("%d chosen, want every other of found, no-program, no-test and old", n)
	}
}

// Errors in a file of mutants name file and line.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const head = "= name\nrow: A | b\n"
	for want, text := range map[string]string{
		"f.txt:1: \"row: x\" comes before":     "row: x",
		"f.txt:3: color is unknown":            head + "color: red",
		"f.txt:4: test is unknown or occurs":   head + "test: a TestX\ntest: a TestX",
		"f.txt:4: why occurs twice":            head + "why: a\nwhy: b",
		"f.txt:3: test \"TestX\": must be":     head + "test: TestX",
		"f.txt:3: \"file\": must be KEY":       head + "file",
		"f.txt:1: name: no test":               head,
		"f.txt:1: A B: a name must consist of": "= A B\nbug: x\nwhy: y",
		"f.txt:1: name: why excludes":          head + "why: so\nfile: a.go",
		"f.txt:1: name: rows or a bug":         "= name\nwhy: so",
		"or no change":                         head + "test: a TestX\nfile: a.go\n-x\n+x",
	} {
		if _, err := parse("dir/f.txt", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
