package test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// rewriter passes the requests of samples on to a service. It replaces the example ids of the
// document by ids that earlier answers had, so that samples run as they are shown.
type rewriter struct {
	t        *testing.T
	document *openapi3.T
	target   string

	mu  sync.Mutex
	ids map[string]string // by the name of a parameter, such as "userId"
	met map[string]bool   // operations
}

// seen lists the operations that were called, with more.
func (p *rewriter) seen(more ...string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range more {
		p.met[id] = true
	}
	return slices.Sorted(maps.Keys(p.met))
}

// ServeHTTP implements http.Handler.
func (p *rewriter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		p.t.Error(err)
	}
	var content any
	if len(body) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		if err := decoder.Decode(&content); err != nil {
			p.t.Errorf("%s %s: %v in %s", r.Method, r.URL, err, body)
		}
		if body, err = json.Marshal(p.replaced(content)); err != nil {
			p.t.Error(err)
		}
	}
	path, operation := p.path(r)
	p.met[operation] = true
	req, err := http.NewRequestWithContext(r.Context(), r.Method, p.target+path, bytes.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return
	}
	req.Header = r.Header
	res, err := client.Do(req)
	if err != nil {
		p.t.Errorf("%s: %v", operation, err)
		return
	}
	defer res.Body.Close()
	maps.Copy(w.Header(), res.Header)
	w.Header().Del("Content-Length")
	w.WriteHeader(res.StatusCode)
	if res.Header.Get("Content-Type") == "text/event-stream" {
		return // the sample shows that it is served
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= http.StatusBadRequest {
		p.t.Errorf("%s: %s %s: %d %s %v", operation, r.Method, path, res.StatusCode, answer, err)
	}
	var found any
	if json.Unmarshal(answer, &found) == nil {
		p.harvest("", found)
	}
	_, _ = w.Write(answer) // the sample may have ended
}

// path is the request's path with real ids, and the operation that it calls.
func (p *rewriter) path(r *http.Request) (path, operation string) {
	given := strings.Split(r.URL.Path, "/")
	for template, item := range p.document.Paths.Map() {
		found := item.GetOperation(r.Method)
		if found == nil {
			continue
		}
		params, ok := matchPath(strings.Split(template, "/"), given)
		if !ok {
			continue
		}
		path = template
		for name, value := range params {
			actual, known := p.ids[name]
			if !known {
				p.t.Errorf("%s: no earlier answer had the id %s", found.OperationID, name)
				actual = value
			}
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(actual))
		}
		query := r.URL.Query()
		for name := range query {
			if actual, known := p.ids[name]; known {
				query.Set(name, actual)
			}
		}
		if len(query) > 0 {
			path += "?" + query.Encode()
		}
		if len(params) == 0 {
			return path, found.OperationID // before any template
		}
		operation = found.OperationID
	}
	return path, operation
}

// matchPath compares a path with a template, and returns the parameters.
func matchPath(template, given []string) (map[string]string, bool) {
	params := map[string]string{}
	for i := range template {
		switch {
		case len(template) != len(given):
			return nil, false
		case strings.HasPrefix(template[i], "{"):
			params[strings.Trim(template[i], "{}")] = given[i]
		case template[i] != given[i]:
			return nil, false
		}
	}
	return params, true
}

// replaced gives members that are known ids their real values.
func (p *rewriter) replaced(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, item := range v {
			v[name] = p.replaced(item)
			if actual, known := p.ids[name]; known {
				v[name] = actual
			}
		}
	case []any:
		for i := range v {
			v[i] = p.replaced(v[i])
		}
	}
	return v
}

// harvest remembers the first id of each kind of object: of "user", and of "users".
func (p *rewriter) harvest(name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if id, isString := v["id"].(string); isString && p.ids[name+"Id"] == "" {
			p.ids[name+"Id"] = id
		}
		for inner, item := range v {
			p.harvest(inner, item)
		}
	case []any:
		for _, item := range v {
			p.harvest(strings.TrimSuffix(name, "s"), item)
		}
	}
}
