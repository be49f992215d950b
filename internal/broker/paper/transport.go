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
	t.handler.ServeHTTP(&rec, r.Clone(r.Context())) // the handler may change its request, a transport may not
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status:     strconv.Itoa(rec.status) + " " + http.StatusText(rec.status),
		StatusCode: rec.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        rec.header,
		Body:          io.NopCloser(&rec.body),
		ContentLength: int64(rec.body.Len()),
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
