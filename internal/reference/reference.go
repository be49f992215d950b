// Package reference renders the API document as a page for people, at GET /docs: guides by
// task, operations with their members, limits, errors and code samples, and the objects.
// The page has no script, loads nothing from other hosts and can be printed. Start with New;
// renderer.go walks the document, schema.go describes types, sample.go writes code, and
// guide.go reads the guides. try.go adds forms to the page of the development server.
package reference

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"sync"
)

// Path is where the page is served.
const Path = "/docs"

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// Reference is the page. It is safe for concurrent use.
type Reference struct {
	render func() ([]byte, error)
}

// New returns the page of an OpenAPI 3.1 document. It is rendered when it is first used.
func New(document []byte) *Reference {
	return &Reference{sync.OnceValues(func() ([]byte, error) {
		v, err := newView(document)
		if err != nil {
			return nil, err
		}
		return v.html("page")
	})}
}

// HTML returns the page, which the caller must not change. It fails when the document is not
// valid JSON.
func (r *Reference) HTML() ([]byte, error) { return r.render() }

// Policy is the Content-Security-Policy of the page: its own style, and nothing else.
func Policy() string {
	return "default-src 'none'; style-src " + styleHash() +
		"; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
}

func styleHash() string {
	sum := sha256.Sum256([]byte(pageCSS))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// ServeHTTP serves the page.
func (r *Reference) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	body, err := r.render()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	serve(w, Policy(), body)
}

func serve(w http.ResponseWriter, policy string, body []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body) // the browser may have disconnected
}

// view is what the template shows.
type view struct {
	Title, Summary, Version string
	Intro                   template.HTML
	Topics                  []struct{ ID, Name string } // the sections of Intro
	Languages               []struct{ ID, Name string }
	Guides                  []guide
	Groups                  []group
	Refusals                []refusal
	Objects                 []object
	Try                     bool     // each operation has a form
	Attempt                 *attempt // what a form was answered; nil on the page
	templates               *template.Template
}

// group is the operations of a tag.
type group struct {
	ID, Name   string
	Text       template.HTML
	Operations []*operation
}

// operation is a method of a path.
type operation struct {
	ID, Method, Path, Summary string
	Text                      template.HTML
	Parameters, Members       []member
	Body                      *body // nil without one
	Answers                   []answer
	Refusals                  []answer
	Samples                   []sample
	Stream                    bool // the answer does not end
	Open                      bool // no key is needed

	// The form of the development server.
	Values    map[string]string // by parameter
	BodyValue string
	Attempt   bool // the form was sent
}

// body is a request's body.
type body struct {
	Text    template.HTML
	example node
}

// answer is a status of an operation.
type answer struct {
	Status  string
	Name    string // of the refusal's section; "" when it has none
	Text    template.HTML
	Object  string
	Members []member // of an answer without a named object
	Headers []string
	Example string
}

// refusal is an answer that several operations share.
type refusal struct {
	Name, Example string
	Text          template.HTML
	Members       []member
	Headers       []member
}

// object is a schema that members refer to.
type object struct {
	Name    string
	Text    template.HTML
	Members []member
}

func (v *view) html(name string) ([]byte, error) {
	var out bytes.Buffer
	if err := v.templates.ExecuteTemplate(&out, name, v); err != nil {
		return nil, fmt.Errorf("cannot render the reference: %w", err)
	}
	return out.Bytes(), nil
}

// CSS is the page's style.
func (*view) CSS() template.CSS { return template.CSS(pageCSS) } //nolint:gosec // a constant
