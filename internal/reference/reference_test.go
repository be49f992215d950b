package reference_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stockrewards/internal/api"
	"stockrewards/internal/reference"
)

func render(t *testing.T, document string) string {
	t.Helper()
	page, err := reference.New([]byte(document)).HTML()
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// find lists what a pattern's group matches.
func find(pattern, text string) []string {
	var list []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		list = append(list, html.UnescapeString(m[1]))
	}
	return list
}

// The page has every operation, member, parameter and error of the document.
func TestPageIsComplete(t *testing.T) {
	t.Parallel()
	page := render(t, string(api.Document()))
	var document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
			}
			Responses, Parameters map[string]struct{ Name string }
		}
	}
	if err := json.Unmarshal(api.Document(), &document); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for path, item := range document.Paths {
		want[`<code>`+path+`</code>`] = true
		for method, content := range item {
			var operation struct{ OperationID, Summary string }
			if method != "parameters" && json.Unmarshal(content, &operation) == nil {
				want[`<h3 id="`+operation.OperationID+`">`+html.EscapeString(operation.Summary)] = true
				want[`<a href="#`+operation.OperationID+`">`] = true
			}
		}
	}
	for name := range document.Components.Responses {
		want[`<h3 id="error-`+name+`">`] = true
	}
	for _, p := range document.Components.Parameters {
		want[`<dt><code>`+p.Name+`</code>`] = true
	}
	for name, schema := range document.Components.Schemas {
		if strings.HasSuffix(name, "Details") { // a part of an error
			continue
		}
		for property := range schema.Properties {
			if !regexp.MustCompile(`<code>(\w|\.|\[\])*` + property + `</code>`).MatchString(page) {
				t.Errorf("no member %s of %s", property, name)
			}
		}
	}
	for text := range want {
		if !strings.Contains(page, text) {
			t.Errorf("no %s", text)
		}
	}
	for _, limit := range []string{"8 to 128 characters", "greater than 0, at most 1000000", "1 to 1000 elements", "1 to 200, default 100", "or null"} {
		if !strings.Contains(page, limit) {
			t.Errorf("no limit %q", limit)
		}
	}
}

// The page has no script, loads nothing, and its links lead to what is there.
func TestPageIsClosed(t *testing.T) {
	t.Parallel()
	page := render(t, string(api.Document()))
	if found := find(`(?i)(<script|<iframe|<link rel="stylesheet|\son\w+="|url\(|@import)`, page); len(found) > 0 {
		t.Errorf("active content: %v", found)
	}
	ids := find(`\sid="([^"]*)"`, page)
	if unique := len(slices.Compact(slices.Sorted(slices.Values(ids)))); unique != len(ids) || unique < 50 {
		t.Errorf("%d ids, %d of them different", len(ids), unique)
	}
	for _, target := range find(`\s(?:href|src|action|aria-labelledby)="([^"]*)"`, page) {
		name, isAnchor := strings.CutPrefix(target, "#")
		switch {
		case isAnchor && !slices.Contains(ids, name):
			t.Errorf("the link %s leads nowhere", target)
		case isAnchor, strings.HasPrefix(target, "data:image/"), target == "/openapi.json", slices.Contains(ids, target):
		default:
			t.Errorf("the page refers to %s", target)
		}
	}
	for _, want := range []string{"default-src 'none'", "form-action 'none'", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(reference.Policy(), want) {
			t.Errorf("no %s in %s", want, reference.Policy())
		}
	}
	if strings.Contains(reference.Policy(), "unsafe") {
		t.Error(reference.Policy())
	}
}

// A reader who uses no mouse, or hears the page, finds headings in order and names of regions.
func TestPageIsAccessible(t *testing.T) {
	t.Parallel()
	page := render(t, string(api.Document()))
	level := byte('1')
	_, main, _ := strings.Cut(page, "<main")
	for _, h := range find(`<h([1-6])[ >]`, main) {
		if h[0] > level+1 {
			t.Errorf("a heading of level %s follows one of level %c", h, level)
		}
		level = h[0]
	}
	for _, want := range []string{
		`<html lang="en">`, `<a class="skip" href="#main">`, `<main id="main"`, `<nav aria-label="Contents" tabindex="0">`, `<legend>Samples in</legend>`,
	} {
		if strings.Count(page, want) != 1 {
			t.Errorf("%d times %s", strings.Count(page, want), want)
		}
	}
	if scrolling := strings.Count(page, "<pre"); scrolling != strings.Count(page, `<pre tabindex="0"`) {
		t.Error("a code block cannot be scrolled with the keyboard")
	}
	names := find(`<h[2-6] id="[^"]*">([^<]*[^< ])`, page)
	slices.Sort(names)
	for i, name := range names[1:] {
		if name == names[i] {
			t.Errorf("two regions have the name %q", name)
		}
	}
}

const small = `{"openapi":"3.1.0","info":{"title":"T","summary":"S","version":"1","description":"Use ` + "`DELETE /v1/things/{thingId}`" +
	`.\n\n## Some limits\n\n<b>no</b>"},"tags":[],
"paths":{"/v1/things/{thingId}":{"delete":{"operationId":"dropThing","tags":["New"],"summary":"Drop <it>","description":"It's gone.",
"parameters":[{"name":"thingId","in":"path","required":true,"schema":{"type":"string","format":"uuid"},"example":"t-1"},
{"name":"why","in":"query","required":true,"schema":{"type":"string"},"example":"age"}],
"responses":{"204":{"description":"Gone."},"404":{"description":"Never there."}}}},
"/v1/things":{"post":{"operationId":"addThing","tags":["New"],"summary":"Add","description":"D",
"requestBody":{"content":{"application/json":{"schema":{"type":"object","required":["costUsd"],"properties":{
"costUsd":{"type":["number","null"],"format":"double","minimum":1.5},"days":{"type":"integer","default":7},
"parts":{"type":"array","items":{"type":"object","properties":{"a-b":{"const":"x"}}}}}},
"example":{"costUsd":0.000001,"days":3,"parts":[{"a-b":"it's","none":null,"yes":true}]}}}},
"responses":{"200":{"description":"Done.","content":{"text/event-stream":{}}}}}}}}`

// Any document is rendered: tags, types and answers that the page has not seen before.
func TestAnotherDocument(t *testing.T) {
	t.Parallel()
	page := render(t, strings.Replace(small, "text/event-stream", "text/plain", 1))
	for _, want := range []string{
		`<a href="#dropThing"><code>DELETE /v1/things/{thingId}</code></a>`, `Drop &lt;it&gt;`, `<a href="#some-limits">Some limits</a>`, `<h2 id="tag-New">New</h2>`,
		`<code>parts[].a-b</code>`, `always x`, `decimal or null, at least 1.5`, `integer, default 7`, `Never there.`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(page, "<b>no</b>") {
		t.Error("a description is markup")
	}
	_, operations, _ := strings.Cut(page, `<h3 id="dropThing">`)
	samples := find(`(?s)<div class="sample \w+">.*?<code>(.*?)</code></pre>`, operations)
	want := []string{
		`curl -sS --fail-with-body -X DELETE "$API_URL/v1/things/t-1?why=age" -H "x-api-key: $API_KEY"`,
		`const { data } = await rewards.DELETE("/v1/things/{thingId}", {params: {path: {thingId: "t-1"}, query: {why: "age"}}});` +
			"\nconsole.log(data);",
		"var answer json.RawMessage\nerr := rewards.Do(ctx, \"DELETE\", \"/v1/things/t-1?why=age\", nil, &answer)\n" +
			"if err != nil {\n\treturn err\n}\nfmt.Println(string(answer))",
		`print(call("DELETE", "/v1/things/t-1?why=age"))`,
	}
	if len(samples) != 8 || !slices.Equal(samples[:4], want) {
		t.Errorf("the samples are %q", samples)
	}
	for i, part := range []string{
		`"parts": [{"a-b": "it'\''s", "none": null, "yes": true}]`, `costUsd: "0.000001"`, `"costUsd": 0.000001`, `"none": None, "yes": True`,
	} {
		if !strings.Contains(samples[4+i], part) {
			t.Errorf("no %s in %s", part, samples[4+i])
		}
	}
	if stream := render(t, small); strings.Count(stream, `class="sample sh"`) == strings.Count(stream, `class="sample go"`) {
		t.Error("a stream has samples that wait for its end")
	}
}

// A document that is not JSON is an error, not an empty page.
func TestBrokenDocument(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", `{"a":1}x`, `{"a":1,"a":2}`} {
		if page, err := reference.New([]byte(text)).HTML(); err == nil {
			t.Errorf("%q: %d bytes", text, len(page))
		}
		w := httptest.NewRecorder()
		reference.New([]byte(text)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, reference.Path, http.NoBody))
		if w.Code != http.StatusInternalServerError {
			t.Errorf("%q: %d", text, w.Code)
		}
	}
}
