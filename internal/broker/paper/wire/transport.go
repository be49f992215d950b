package wire

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// Transport serves requests within the process; see paper.Brokerage.Transport.
func (s *Server) Transport() http.RoundTripper { return transport{s.Handler()} }

type transport struct{ handler http.Handler }

// RoundTrip performs one request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	inner := r.Clone(r.Context()) // the handler may change its request, a transport may not
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	defer inner.Body.Close() //nolint:errcheck // a transport must close the body and cannot use the error
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	rec := newRecorder()
	complete := rec.record(t.handler, inner)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body io.Reader = &rec.body
	if !complete {
		if rec.body.Len() == 0 {
			return nil, io.EOF // as when the connection was closed
		}
		body = io.MultiReader(body, broken{})
	}
	return &http.Response{
		Status:     strconv.Itoa(rec.status) + " " + http.StatusText(rec.status),
		StatusCode: rec.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        rec.header,
		Body:          io.NopCloser(body),
		ContentLength: -1, // unknown: the body may be truncated
		Request:       r,
	}, nil
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newRecorder() *recorder { return &recorder{header: make(http.Header), status: http.StatusOK} }

// Header returns the answer's headers.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader keeps the status.
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write appends to the body.
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

// record runs a handler and reports whether its answer is complete. A handler that aborts
// with http.ErrAbortHandler leaves what it had written.
func (r *recorder) record(h http.Handler, request *http.Request) (complete bool) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // the panic's own value
			panic(p)
		}
	}()
	h.ServeHTTP(r, request)
	return true
}

// send sends the first bytes of the body, with the headers of the complete answer.
func (r *recorder) send(w http.ResponseWriter, length int) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(r.body.Len()))
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body.Bytes()[:length]) // the client may have disconnected
	if f, ok := w.(http.Flusher); ok && length < r.body.Len() {
		f.Flush()
	}
}

// broken is the missing rest of a truncated body.
type broken struct{}

// Read fails.
func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
