package reference

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// TryOptions configure the forms of the development server.
type TryOptions struct {
	Next  http.Handler      // the API
	Key   string            // of the app that the forms send; never shown
	Known map[string]string // values for parameters and members of these names, such as "userId"
}

// The limits of a form.
const (
	maxForm    = 256 << 10 // bytes
	maxShown   = 256 << 10 // bytes of an answer
	maxAttempt = 25 * time.Second
)

// attempt is what a form sent, and the answer.
type attempt struct {
	Operation *operation
	Target    string   // the path with the query
	Status    string   // such as "201 Created"
	Good      bool     // the status is below 400
	Headers   []string // those that a client reads
	Body      string
}

type tryHandler struct {
	TryOptions
	view *view
	page []byte
}

// Try returns the page with a form for each operation, and serves the forms. It sends them to
// o.Next with the key, which no page contains. The caller refuses requests that other sites
// or machines send.
func Try(document []byte, o TryOptions) (http.Handler, error) {
	v, err := newView(document)
	if err != nil {
		return nil, err
	}
	v.Try = true
	for _, g := range v.Groups {
		for _, op := range g.Operations {
			op.prefill(o.Known)
		}
	}
	page, err := v.html("page")
	return &tryHandler{o, v, page}, err
}

// prefill fills a form with what is known, and with the examples of the body.
func (o *operation) prefill(known map[string]string) {
	o.Values = map[string]string{}
	for _, p := range o.Parameters {
		if p.Where == "path" {
			o.Values[p.Name] = known[p.Name]
		}
	}
	if o.Body != nil {
		o.BodyValue = o.Body.example.replaced(known).json()
	}
}

// replaced returns a value in which members of the known names have the known strings.
func (n node) replaced(known map[string]string) node {
	n.items = slices.Clone(n.items)
	for i := range n.items {
		n.items[i] = n.items[i].replaced(known)
		if n.isObject() && known[n.names[i]] != "" && n.items[i].kind == jsontext.KindString {
			n.items[i].text = known[n.names[i]]
		}
	}
	return n
}

// tryPolicy is the Content-Security-Policy of a page with forms.
func tryPolicy() string {
	return strings.Replace(Policy(), "form-action 'none'", "form-action 'self'", 1)
}

// ServeHTTP implements http.Handler.
func (h *tryHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		serve(w, tryPolicy(), h.page)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "cannot read the form; nothing was sent", http.StatusBadRequest)
		return
	}
	a, err := h.send(r.Context(), r.PostForm)
	if err != nil {
		http.Error(w, err.Error()+"; nothing was sent", http.StatusBadRequest)
		return
	}
	v := *h.view
	v.Attempt = a
	body, err := v.html("attempt")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	serve(w, tryPolicy(), body)
}

// operation returns a copy of an operation; nil when it is unknown.
func (h *tryHandler) operation(id string) *operation {
	for _, g := range h.view.Groups {
		for _, op := range g.Operations {
			if op.ID == id && !op.Stream {
				found := *op
				return &found
			}
		}
	}
	return nil
}

// send sends what a form says to the API.
func (h *tryHandler) send(ctx context.Context, form url.Values) (*attempt, error) {
	op := h.operation(form.Get("operation"))
	if op == nil {
		return nil, errors.New("the operation is unknown")
	}
	op.Attempt, op.Values, op.BodyValue = true, map[string]string{}, form.Get("body")
	target, query := op.Path, url.Values{}
	header := http.Header{"X-Api-Key": {h.Key}, "Content-Type": {"application/json"}}
	for _, p := range op.Parameters {
		value := form.Get("in-" + p.Name)
		op.Values[p.Name] = value
		switch {
		case p.Where == "path":
			target = strings.ReplaceAll(target, "{"+p.Name+"}", url.PathEscape(value))
		case value == "":
		case p.Where == "query":
			query.Set(p.Name, value)
		default:
			header.Set(p.Name, value)
		}
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	ctx, cancel := context.WithTimeout(ctx, maxAttempt)
	defer cancel()
	r, err := http.NewRequestWithContext( //nolint:gosec // it goes to a handler of this process, not to a host
		ctx, op.Method, "http://localhost"+target, strings.NewReader(op.BodyValue))
	if err != nil {
		return nil, fmt.Errorf("cannot make the request: %w", err)
	}
	if op.Body == nil {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	r.Header, r.RequestURI, r.RemoteAddr = header, target, "127.0.0.1:0"
	answer := &recorder{header: http.Header{}}
	h.Next.ServeHTTP(answer, r)
	return answer.attempt(op, target), nil
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

func (r *recorder) attempt(op *operation, target string) *attempt {
	a := &attempt{
		Operation: op, Target: target, Good: r.status < http.StatusBadRequest,
		Status: fmt.Sprint(r.status, " ", http.StatusText(r.status)), Body: r.body.String(),
	}
	if value := jsontext.Value(r.body.Bytes()); value.Indent(jsontext.WithIndent("  ")) == nil {
		a.Body = value.String()
	}
	if len(a.Body) > maxShown {
		a.Body = strings.ToValidUTF8(a.Body[:maxShown], "") + "\n… and more"
	}
	for _, name := range []string{"X-Request-Id", "Link", "Retry-After", "Allow"} {
		if value := r.header.Get(name); value != "" {
			a.Headers = append(a.Headers, strings.ToLower(name)+": "+value)
		}
	}
	return a
}
