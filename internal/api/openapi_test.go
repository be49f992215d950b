package api_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"stockrewards/internal/api"
)

// document loads and validates the API document.
var document = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(api.Document())
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background(), openapi3.EnableExamplesValidation(),
		openapi3.EnableSchemaPatternValidation(), openapi3.EnableSchemaDefaultsValidation())
})

func loadDocument(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := document()
	check(t, err)
	return doc
}

// formats checks the formats of the document that the library ignores by default.
var formats = sync.OnceValue(func() openapi3.SchemaValidationOption {
	return openapi3.WithStringFormatValidators(map[string]openapi3.StringFormatValidator{
		"uuid":      openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringForUUIDOfRFC9562),
		"date-time": openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringDateTime),
		"email":     openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringForEmail),
	})
})

// operationOf finds the documented operation of a request, or nil.
func operationOf(doc *openapi3.T, method, target string) (*routers.Route, map[string]string) {
	path, _, _ := strings.Cut(target, "?")
	given := strings.Split(path, "/")
	for template, item := range doc.Paths.Map() {
		if exact := doc.Paths.Value(path); exact != nil && item != exact {
			continue
		}
		params, ok := match(strings.Split(template, "/"), given)
		if operation := item.GetOperation(method); ok && operation != nil {
			return &routers.Route{
				Spec: doc, Server: doc.Servers[0], Path: template, PathItem: item, Method: method, Operation: operation,
			}, params
		}
	}
	return nil, nil
}

func match(template, given []string) (map[string]string, bool) {
	if len(template) != len(given) {
		return nil, false
	}
	params := make(map[string]string)
	for i, segment := range template {
		name, isParam := strings.CutPrefix(segment, "{")
		value, err := url.PathUnescape(given[i])
		switch {
		case isParam && given[i] != "" && err == nil:
			params[strings.TrimSuffix(name, "}")] = value
		case segment != given[i]:
			return nil, false
		}
	}
	return params, true
}

// validate checks a response against the document. It also checks the request if the
// service accepted it.
func validate(ctx context.Context, doc *openapi3.T, a answer) error {
	route, params := operationOf(doc, a.request.method, a.request.target)
	if route == nil {
		return nil // a 404 or a 405: see routes_test.go
	}
	sent, err := http.NewRequestWithContext(ctx, a.request.method, a.request.target, strings.NewReader(a.request.body))
	if err != nil {
		return err
	}
	sent.Header.Set("Content-Type", "application/json")
	options := &openapi3filter.Options{
		IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		SchemaValidationOptions: []openapi3.SchemaValidationOption{formats()},
	}
	input := &openapi3filter.RequestValidationInput{
		Request: sent, PathParams: params, Route: route, Options: options,
	}
	if a.status < http.StatusBadRequest && !bytes.Contains(a.body, []byte(`"refused":`)) ||
		bytes.HasSuffix(a.body, []byte(`"refused":0}}`)) { // a batch may have invalid items
		if err := openapi3filter.ValidateRequest(ctx, input); err != nil {
			return err
		}
	}
	shape := shapeOf(route.Operation.OperationID, a)
	if _, known := valid.Load(shape); known {
		return nil
	}
	err = openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: a.status, Header: a.header, Options: options,
		Body: io.NopCloser(strings.NewReader(string(a.body))),
	})
	if err == nil {
		valid.Store(shape, true)
	}
	return err
}

// valid has the shapes of valid responses. The library compiles a schema for every
// response, which takes longer than all the rest.
var valid sync.Map

// varying matches the valid ids, times and counters that make responses differ.
var varying = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|` +
	`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z|[a-z]-\d{6}"`)

func shapeOf(operation string, a answer) string {
	id := a.header.Get("X-Request-Id")
	if id != "" {
		id = "sent"
	}
	headers := strings.Join([]string{id, a.header.Get("Link"), a.header.Get("Retry-After"), a.header.Get("Content-Type")}, "|")
	body := varying.ReplaceAllStringFunc(string(a.body), func(s string) string {
		if len(s) == len(unknownID) {
			return "#" + s[14:15] // the version stays
		}
		return strings.Repeat("#", len(s))
	})
	return operation + strconv.Itoa(a.status) + headers + body
}

var requestIDForm = regexp.MustCompile(`^[0-9A-Za-z._-]{1,128}$`)

// checkAnswer checks what the specification promises of every response (sections 1
// and 7), and the response against the document.
func checkAnswer(t *testing.T, a answer) {
	t.Helper()
	id := a.header.Get("X-Request-Id")
	if !requestIDForm.MatchString(id) || len(a.header.Values("X-Request-Id")) != 1 {
		t.Errorf("%s %s: x-request-id is %q", a.request.method, a.request.target, a.header.Values("X-Request-Id"))
	}
	wantType := "application/json"
	if a.status == http.StatusOK && strings.HasPrefix(a.request.target, "/v1/events/stream") {
		wantType = "text/event-stream"
	}
	if a.status == http.StatusNoContent {
		wantType = ""
	}
	if got := a.header.Get("Content-Type"); got != wantType {
		t.Errorf("%s %s: Content-Type is %q", a.request.method, a.request.target, got)
	}
	if a.request.method == http.MethodHead {
		return
	}
	if length := a.header.Get("Content-Length"); length != "" && length != strconv.Itoa(len(a.body)) {
		t.Errorf("Content-Length is %s, the body has %d bytes", length, len(a.body))
	}
	if a.status >= http.StatusBadRequest {
		checkError(t, a, id)
	}
	if err := validate(t.Context(), loadDocument(t), a); err != nil {
		t.Errorf("%s %s %.300s -> %d %s\nviolates the document: %v",
			a.request.method, a.request.target, a.request.body, a.status, a.body, err)
	}
}

// checkError checks the error body (specification, section 7).
func checkError(t *testing.T, a answer, id string) {
	t.Helper()
	e, _ := a.at(t, "error").(object)
	if e["requestId"] != id {
		t.Errorf("requestId is %v, x-request-id is %q", e["requestId"], id)
	}
	codes := map[int]string{
		400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "bad_request",
		409: "conflict", 413: "bad_request", 415: "bad_request", 429: "forbidden", 422: "unprocessable_entity",
		500: "internal_error", 502: "upstream_error", 503: "internal_error",
	}
	if e["code"] != codes[a.status] || codes[a.status] == "" {
		t.Errorf("%s %s: status %d has the code %v", a.request.method, a.request.target, a.status, e["code"])
	}
	if message, _ := e["message"].(string); message == "" {
		t.Errorf("the error has no message: %s", a.body)
	}
	if _, present := e["details"]; present && e["details"] == nil {
		t.Errorf("details are null: %s", a.body)
	}
}
