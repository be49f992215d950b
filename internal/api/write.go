package api

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"stockrewards/internal/rewards"
)

// The values of the headers of every response, never modified.
//
//nolint:gochecknoglobals // Go has no constant slices
var typeJSON, noStore, noSniff = []string{"application/json"}, []string{"no-store"}, []string{"nosniff"}

// begin starts the object of a response in a buffer of an earlier one.
func (s *server) begin() object {
	if b, ok := s.buffers.Get().(*[]byte); ok {
		return begin((*b)[:0])
	}
	return begin(nil)
}

// reuse keeps a buffer for begin, unless it is large. Nothing else may refer to it.
func (s *server) reuse(b []byte) {
	if 0 < cap(b) && cap(b) <= maxReused {
		s.buffers.Put(&b)
	}
}

// maxReused bounds the bytes of a buffer that is reused.
const maxReused = 64 << 10

// write sends the response.
func write(w http.ResponseWriter, a reply) {
	if a.stream != nil {
		a.stream(w)
		return
	}
	h := w.Header() // canonical names and shared values need no allocation
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = typeJSON, noStore, noSniff
	if a.policy != "" {
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", a.policy)
	}
	if a.link != "" {
		h.Set("Link", a.link)
	}
	if a.status == http.StatusNoContent {
		delete(h, "Content-Type")
	}
	if len(a.body) <= writtenAtOnce {
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body) // the client may have disconnected
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	writeParts(w, a.body, time.Now().Add(writeTimeout))
}

// The limits of a large response, which stays in memory until the client has read it.
const (
	writtenAtOnce = 64 << 10        // bytes per write
	writeProgress = 5 * time.Second // per write
)

// writeParts writes a body in parts, until a time unless that is zero. It gives up when the client stops
// reading, and reports whether everything was written.
func writeParts(w http.ResponseWriter, body []byte, until time.Time) bool {
	control := http.NewResponseController(w)
	for part := range slices.Chunk(body, writtenAtOnce) {
		deadline := time.Now().Add(writeProgress)
		if !until.IsZero() && deadline.After(until) {
			deadline = until
		}
		_ = control.SetWriteDeadline(deadline) // unsupported only by recorders in tests
		if _, err := w.Write(part); err != nil {
			return false
		}
	}
	return true
}

// setLimit sets the headers that say when to retry.
func setLimit(h http.Header, e rewards.Exceeded) {
	seconds := strconv.Itoa(max(1, int((e.Wait+time.Second-1)/time.Second)))
	h.Set("Retry-After", seconds)
	h.Set("RateLimit-Limit", strconv.Itoa(e.Limit))
	h.Set("RateLimit-Remaining", "0")
	h.Set("RateLimit-Reset", seconds)
}
