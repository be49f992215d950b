package test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
)

const documentPath = "../internal/api/openapi.json"

// A client that somebody generated with oapi-codegen compiles, reads every documented
// answer, and loses no money.
func TestGeneratedGoClient(t *testing.T) {
	t.Parallel()
	folder := copyFolder(t, "clients/go")
	generated := filepath.Join(folder, "api")
	if err := os.Mkdir(generated, 0o700); err != nil {
		t.Fatal(err)
	}
	document, err := filepath.Abs(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	runIn(t, folder, "go", "tool", "oapi-codegen", "-generate", "types,client", "-package", "api",
		"-o", filepath.Join(generated, "api.gen.go"), document)
	runIn(t, folder, "go", "build", "-o", "client", ".")
	checkClient(t, folder, "./client")
}

// The same in TypeScript, strict, by openapi-typescript.
func TestGeneratedTypeScriptClient(t *testing.T) {
	t.Parallel()
	folder := copyFolder(t, "clients/typescript")
	document, err := filepath.Abs(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	runIn(t, folder, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	runIn(t, folder, "npm", "exec", "--offline", "openapi-typescript", "--", document, "-o", "api.d.ts")
	runIn(t, folder, "npm", "exec", "--offline", "tsc", "--", "--project", ".")
	checkClient(t, folder, "node", "out/main.js")
}

// copyFolder copies a flat folder of this one to a temporary one.
func copyFolder(t *testing.T, from string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return folder
}

// runIn runs a program in a folder and returns what it prints.
func runIn(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	return runWith(t, folder, nil, name, args...)
}

func runWith(t *testing.T, folder string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// checkClient runs a client's program against the service. It must meet every answer
// of the document.
func checkClient(t *testing.T, folder, name string, args ...string) {
	t.Helper()
	s := newService(t, t.TempDir())
	suspended := strings.TrimSpace(s.command("app", "create", "suspended"))
	s.command("app", "suspend", "suspended")
	s.start("--pooling-window", "50ms")
	document, err := openapi3.NewLoader().LoadFromFile(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(faulty(t, document, s.url))
	t.Cleanup(front.Close)
	all, faults := documented(document)
	env := []string{
		"REWARDS_URL=" + front.URL, "REWARDS_KEY=" + s.key, "REWARDS_SUSPENDED_KEY=" + suspended,
		"REWARDS_FAULTS=" + strings.Join(faults, " "),
	}
	out := runWith(t, folder, env, name, args...)
	met := map[string]bool{}
	for line := range strings.Lines(out) {
		met[strings.TrimSpace(line)] = true
	}
	if diff := cmp.Diff(all, slices.Sorted(maps.Keys(met))); diff != "" {
		t.Errorf("(-documented +met by the client):\n%s", diff)
	}
}

// documented lists the answers of the document, "getUser 404", and those which only a
// fault of the service or a limit causes, "getUser/500".
func documented(document *openapi3.T) (all, faults []string) {
	all = []string{"any 404", "any 405"}
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			for status := range operation.Responses.Map() {
				all = append(all, operation.OperationID+" "+status)
				if number, err := strconv.Atoi(status); err == nil && (number >= 500 || number == http.StatusTooManyRequests) {
					faults = append(faults, operation.OperationID+"/"+status)
				}
			}
		}
	}
	slices.Sort(all)
	return all, faults
}

// faulty passes requests on to the service. Those under /fault/STATUS get the
// document's example of that answer; internal/api holds the examples and real answers
// to one schema.
func faulty(t *testing.T, document *openapi3.T, target string) http.Handler {
	t.Helper()
	service, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", httputil.NewSingleHostReverseProxy(service))
	mux.HandleFunc("/fault/{status}/", func(w http.ResponseWriter, r *http.Request) {
		for _, response := range document.Components.Responses {
			if operationAnswers(document, r.PathValue("status"), response.Value) {
				writeExample(t, w, r.PathValue("status"), response.Value)
				return
			}
		}
		http.NotFound(w, r)
	})
	return mux
}

// operationAnswers tells whether some operation documents this response for the status.
func operationAnswers(document *openapi3.T, status string, response *openapi3.Response) bool {
	for _, item := range document.Paths.Map() {
		for _, operation := range item.Operations() {
			if r := operation.Responses.Value(status); r != nil && r.Value == response {
				return true
			}
		}
	}
	return false
}

func writeExample(t *testing.T, w http.ResponseWriter, status string, response *openapi3.Response) {
	t.Helper()
	example := response.Content["application/json"].Example
	body, err := json.Marshal(example)
	if err != nil || example == nil {
		t.Errorf("%s has no example: %v", status, err)
	}
	var failure struct{ Error struct{ RequestID string } }
	if err := json.Unmarshal(body, &failure); err != nil {
		t.Error(err)
	}
	for name, header := range response.Headers {
		if header.Value.Example != nil {
			w.Header().Set(name, strings.Trim(toJSON(t, header.Value.Example), `"`))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", failure.Error.RequestID)
	number, err := strconv.Atoi(status)
	if err != nil {
		t.Error(err)
	}
	w.WriteHeader(number)
	_, _ = w.Write(body) // the client may have gone
}

func toJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
