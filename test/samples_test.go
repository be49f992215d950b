package test

import (
	"fmt"
	"html"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
)

// Every sample of the reference runs as the page shows it, in all four languages: the guides
// from top to bottom as one program, and each operation with the example of the document. The
// service answers all of them without an error, apart from those that show one.
func TestSamplesRun(t *testing.T) {
	t.Parallel()
	s := newService(t, t.TempDir())
	s.start("--pooling-window", "50ms")
	s.command("action", "enter", "cash_dividend", "AAPL", "--ex-date", "2099-12-01", "--rate", "0.25", "--reason", "to be read")
	document, err := openapi3.NewLoader().LoadFromFile(documentPath)
	noError(t, err)
	guides, operations := samplesOf(string(s.must(200, "GET", "/docs", "").body), document)
	if len(guides) < 10 || len(operations) < 14 {
		t.Fatalf("%d guides, %d operations", len(guides), len(operations))
	}
	typescript := typescriptClient(t)
	for language, run := range map[string]func(*testing.T, []string, string, []string){
		"sh":     runShell,
		"python": runPython,
		"go":     runGo,
		"ts": func(t *testing.T, setup []string, code string, env []string) {
			t.Helper()
			runTypeScript(t, typescript, setup, code, env)
		},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			setup := guides[0].code[language]
			app := s.sampleApp(t, "guides-"+language)
			var all []string
			for _, g := range guides[1:] {
				all = append(all, g.code[language])
			}
			env := []string{"API_URL=" + app.url, "API_KEY=" + app.key, "WEBHOOK_SECRET=whsec_c2VjcmV0"}
			run(t, []string{setup}, strings.Join(all, "\n"), env)

			app = s.sampleApp(t, "operations-"+language)
			proxy := &rewriter{t: t, document: document, target: app.url, ids: map[string]string{}, met: map[string]bool{}}
			front := httptest.NewServer(proxy)
			defer front.Close()
			var want []string
			all = nil
			for _, o := range inOrder(operations) {
				if code, found := o.code[language]; found {
					want = append(want, o.id)
					all = append(all, alone(language, code))
				}
			}
			run(t, []string{setup}, strings.Join(all, "\n"), []string{"API_URL=" + front.URL, "API_KEY=" + app.key})
			slices.Sort(want)
			if diff := cmp.Diff(want, proxy.seen("listAssets")); diff != "" {
				t.Errorf("operations that a sample calls (-shown +called):\n%s", diff)
			}
		})
	}
}

// sampleApp is a new app whose user holds a stock with a corporate action.
func (s *service) sampleApp(t *testing.T, name string) *service {
	t.Helper()
	app := &service{t: t, folder: s.folder, url: s.url}
	app.key = strings.TrimSpace(app.command("app", "create", name))
	app.await(app.give(app.newUser("holder"), "the first award", "5", "AAPL").ID, "executed", 20*time.Second)
	return app
}

// snippets are the samples of a guide or an operation, by language.
type snippets struct {
	id, method string
	code       map[string]string
}

var (
	heading    = regexp.MustCompile(`<h3 id="([^"]+)">`)
	codeSample = regexp.MustCompile(`(?s)<div class="sample (\w+)">.*?<pre tabindex="0"><code>(.*?)</code></pre>`)
)

// samplesOf finds the samples of the page.
func samplesOf(page string, document *openapi3.T) (guides, operations []snippets) {
	methods := map[string]string{}
	for _, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			methods[operation.OperationID] = method
		}
	}
	headings := heading.FindAllStringSubmatchIndex(page, -1)
	for i, at := range headings {
		end := len(page)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		found := snippets{id: page[at[2]:at[3]], code: map[string]string{}}
		for _, m := range codeSample.FindAllStringSubmatch(page[at[1]:end], -1) {
			found.code[m[1]] += html.UnescapeString(m[2]) + "\n"
		}
		switch found.method = methods[found.id]; {
		case strings.HasPrefix(found.id, "guide-"):
			guides = append(guides, found)
		case found.method != "":
			operations = append(operations, found)
		}
	}
	return guides, operations
}

// inOrder puts what deletes at the end.
func inOrder(operations []snippets) []snippets {
	list := slices.Clone(operations)
	slices.SortStableFunc(list, func(a, b snippets) int {
		return strings.Compare(fmt.Sprint(a.method == "DELETE"), fmt.Sprint(b.method == "DELETE"))
	})
	return list
}

// alone gives a sample a scope for its variables.
func alone(language, code string) string {
	switch language {
	case "ts":
		return "{\n" + code + "}"
	case "go":
		return "if err := func() error {\n" + code + "\nreturn nil\n}(); err != nil {\n\treturn err\n}"
	default:
		return code
	}
}

func runShell(t *testing.T, setup []string, code string, env []string) {
	t.Helper()
	script := "set -euo pipefail\n" + strings.Join(setup, "\n") + code
	runWith(t, t.TempDir(), env, "bash", "-c", script)
}

func runPython(t *testing.T, setup []string, code string, env []string) {
	t.Helper()
	folder := t.TempDir()
	noError(t, os.WriteFile(filepath.Join(folder, "main.py"), []byte(strings.Join(setup, "\n")+code), 0o600))
	runWith(t, folder, env, "python3", "main.py")
}

// runGo runs the samples in a function that returns an error. The page does not repeat the
// imports, which an editor adds.
func runGo(t *testing.T, setup []string, code string, env []string) {
	t.Helper()
	body := strings.Join(setup, "\n") + code
	packages := []string{"stockrewards/client"}
	for _, path := range []string{"encoding/json", "errors", "fmt", "io", "net/http", "os"} {
		if regexp.MustCompile(`\b` + path[strings.LastIndex(path, "/")+1:] + `\.`).MatchString(body) {
			packages = append(packages, path)
		}
	}
	program := "package main\n\nimport (\n\t\"context\"\n\t\"log\"\n\t\"" + strings.Join(packages, "\"\n\t\"") + "\"\n)\n\n" +
		"func main() {\n\tif err := run(context.Background()); err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n\n" +
		"func run(ctx context.Context) error {\n" + body + "\nreturn nil\n}\n"
	path := filepath.Join(t.TempDir(), "main.go")
	noError(t, os.WriteFile(path, []byte(program), 0o600))
	runWith(t, "..", env, "go", "run", path)
}

func runTypeScript(t *testing.T, client string, setup []string, code string, env []string) string {
	t.Helper()
	folder := t.TempDir()
	scope := filepath.Join(folder, "node_modules", "@stockrewards")
	noError(t, os.MkdirAll(scope, 0o700))
	noError(t, os.Symlink(client, filepath.Join(scope, "client")))
	noError(t, os.Symlink(filepath.Join(client, "node_modules", "@types"), filepath.Join(folder, "node_modules", "@types")))
	noError(t, os.WriteFile(filepath.Join(folder, "package.json"), []byte(`{"type":"module"}`), 0o600))
	noError(t, os.WriteFile(filepath.Join(folder, "main.ts"), []byte(strings.Join(setup, "\n")+code), 0o600))
	runIn(t, folder, filepath.Join(client, "node_modules", ".bin", "tsc"), "--strict", "--module", "nodenext", "--target", "es2022",
		"--lib", "es2022,dom,dom.iterable", "--types", "node", "main.ts")
	return runWith(t, folder, env, "node", "main.js")
}

const typescriptFolder = "../clients/typescript"

var typescriptOnce sync.Once

// typescriptClient builds the client, once for all tests, with types of the document as it is.
// It returns the folder.
func typescriptClient(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(filepath.Dir(binary), "typescript-client") // removed with the binary
	typescriptOnce.Do(func() { buildTypescript(t, folder) })
	if _, err := os.Stat(filepath.Join(folder, "dist", "src", "index.js")); err != nil {
		t.Fatalf("the client was not built: %v", err)
	}
	return folder
}

func buildTypescript(t *testing.T, folder string) {
	t.Helper()
	noError(t, os.MkdirAll(folder, 0o700))
	for _, name := range []string{"src", "test", "scripts"} {
		noError(t, os.CopyFS(filepath.Join(folder, name), os.DirFS(filepath.Join(typescriptFolder, name))))
	}
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json", "README.md", "LICENSE"} {
		copyFile(t, filepath.Join(typescriptFolder, name), filepath.Join(folder, name))
	}
	document, err := filepath.Abs(documentPath)
	noError(t, err)
	runIn(t, folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	runIn(t, folder, "npm", "run", "generate", "--", document)
	runIn(t, folder, "npm", "run", "build")
}
