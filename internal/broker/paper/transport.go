package paper

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// Transport reaches the brokerage within the process: it runs the handler in the
// caller's goroutine, whatever the address of the request. When the request's
// context ends meanwhile the answer is lost, as over a broken connection; the
// request may have been carried out.
func (b *Brokerage) Transport() http.RoundTripper { return transport{b.Handler()} }

type transport struct{ handler http.Handler }

// RoundTrip performs one request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	defer r.Body.Close() //nolint:errcheck // a transport must close it, and has no use for the error
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := recorder{header: make(http.Header), status: http.StatusOK}
	whole := rec.record(t.handler, r.Clone(r.Context())) // the handler may change its request, a transport may not
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body io.Reader = &rec.body
	if !whole {
		if rec.body.Len() == 0 {
			return nil, io.EOF // as of a connection that was closed
		}
		body = io.MultiReader(body, broken{})
	}
	return &http.Response{
		Status:     strconv.Itoa(rec.status) + " " + http.StatusText(rec.status),
		StatusCode: rec.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        rec.header,
		Body:          io.NopCloser(body),
		ContentLength: -1, // unknown: the answer may be cut off
		Request:       r,
	}, nil
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is the answer's header.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader keeps the status.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write keeps a part of the body.
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

// record runs a handler and tells whether its answer is whole: one that breaks the
// connection off by http.ErrAbortHandler leaves what it had written.
func (r *recorder) record(h http.Handler, request *http.Request) (whole bool) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // the panic's own value
			panic(p)
		}
	}()
	h.ServeHTTP(r, request)
	return true
}

// broken is the rest of an answer that was cut off.
type broken struct{}

// Read fails.
func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
