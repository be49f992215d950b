package api_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/api"
	"stockrewards/internal/reference"
)

func TestDocumentListsExactlyTheRoutes(t *testing.T) {
	t.Parallel()
	documented := make(map[string][]string)
	for path, item := range loadDocument(t).Paths.Map() {
		documented[path] = slices.Sorted(maps.Keys(item.Operations()))
	}
	served := make(map[string][]string)
	for _, e := range api.Endpoints() {
		served[e.Route] = append(served[e.Route], e.Method)
		slices.Sort(served[e.Route])
	}
	documented["/docs"] = []string{http.MethodGet} // a page of the document, for people
	if diff := cmp.Diff(documented, served); diff != "" {
		t.Errorf("(-documented +served):\n%s", diff)
	}
}

// Decisions, requests in general: a wrong method is 405 with Allow. It needs no key, and
// precedes every other error but an unknown path.
func TestUndocumentedMethodsAreNotAllowed(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	c.key = "none"
	methods := []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions, http.MethodTrace, "BREW",
	}
	for path, item := range loadDocument(t).Paths.Map() {
		allowed := slices.Sorted(maps.Keys(item.Operations()))
		target := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "malformed")
		for _, method := range methods {
			a := c.send(t, request{method: method, target: target + "?limit=0"})
			if slices.Contains(allowed, method) {
				want := http.StatusUnauthorized
				if path == "/openapi.json" {
					want = http.StatusOK
				}
				a.wantStatus(t, want)
				continue
			}
			a.wantStatus(t, http.StatusMethodNotAllowed)
			if got, want := a.header.Get("Allow"), strings.Join(allowed, ", "); got != want {
				t.Errorf("%s %s: Allow is %q, want %q", method, target, got, want)
			}
			if method != http.MethodHead {
				a.wantError(t, http.StatusMethodNotAllowed, "bad_request", nil)
			}
		}
	}
}

func TestDocumentIsServedToEveryone(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	for _, key := range []string{"", "none", c.key} {
		c.key = key
		a := c.get(t, "/openapi.json").wantStatus(t, http.StatusOK)
		if !bytes.Equal(a.body, api.Document()) {
			t.Errorf("with the key %q, the body is not the document", key)
		}
	}
	api.Document()[0] = 'x'
	if api.Document()[0] != '{' {
		t.Error("Document returns its own bytes, not a copy")
	}
}

// The reference is a page for everyone, without a key and without scripts. It is not in the
// document.
func TestReferenceIsServedToEveryone(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	res, err := http.Get(c.base + "/docs")
	check(t, err)
	body, err := io.ReadAll(res.Body)
	check(t, errors.Join(err, res.Body.Close()))
	if res.StatusCode != http.StatusOK || !bytes.HasPrefix(body, []byte("<!DOCTYPE html>")) || len(body) < 100_000 {
		t.Errorf("%d, %d bytes", res.StatusCode, len(body))
	}
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": reference.Policy(),
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if id := res.Header.Get("X-Request-Id"); !uuidForm.MatchString(id) {
		t.Errorf("the x-request-id is %q", id)
	}
	a := c.send(t, request{method: http.MethodPost, target: "/docs"})
	a.wantError(t, http.StatusMethodNotAllowed, "bad_request", nil)
	if got := a.header.Get("Allow"); got != "GET" {
		t.Errorf("Allow is %q", got)
	}
}

// Specification, section 9.
func TestDocumentCarriesTheVersion(t *testing.T) {
	t.Parallel()
	doc := loadDocument(t)
	got := []string{doc.OpenAPI, doc.Info.Title, doc.Info.Version, doc.Info.License.Identifier}
	if diff := cmp.Diff([]string{"3.1.0", "Stock Rewards Service", "1.0.0", "Apache-2.0"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for place, extensions := range map[string]map[string]any{"document": doc.Extensions, "info": doc.Info.Extensions} {
		if got := extensions["x-additions-version"]; got != "1.1.0" {
			t.Errorf("%s: the additions have the version %v", place, got)
		}
	}
	for path := range doc.Paths.Map() {
		if path != "/openapi.json" && !strings.HasPrefix(path, "/v1/") {
			t.Errorf("%s is not under /v1", path)
		}
	}
}

// Every operation except getDocument needs a key. TestEveryDocumentedResponseOccurs
// compares their statuses.
func TestDocumentOfEveryOperation(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for path, item := range loadDocument(t).Paths.Map() {
		for method, operation := range item.Operations() {
			name := operation.OperationID
			if name == "" || seen[name] || operation.Summary == "" || operation.Description == "" || len(operation.Tags) != 1 {
				t.Errorf("%s %s: operationId, summary, description or tag is missing or not unique", method, path)
			}
			seen[name] = true
			open := operation.Security != nil && len(*operation.Security) == 0
			if open != (path == "/openapi.json") || !open && operation.Security != nil {
				t.Errorf("%s needs a key: %v", name, !open)
			}
			for status, response := range operation.Responses.Map() {
				if h := response.Value.Headers["x-request-id"]; h == nil || !h.Value.Required {
					t.Errorf("%s %s does not require x-request-id", name, status)
				}
			}
		}
	}
}
