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

func write(w http.ResponseWriter, a reply) {
	h := w.Header() // canonical names and shared values need no allocation
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = typeJSON, noStore, noSniff
	if a.link != "" {
		h.Set("Link", a.link)
	}
	if len(a.body) <= writtenAtOnce {
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body) // the client may have disconnected
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	writeLarge(w, a.body)
}

// The limits of a large response, which stays in memory until the client has read it.
const (
	writtenAtOnce = 64 << 10        // bytes per write
	writeProgress = 5 * time.Second // per write
)

// writeLarge writes a body in parts. It gives up when the client stops reading.
func writeLarge(w http.ResponseWriter, body []byte) {
	control := http.NewResponseController(w)
	end := time.Now().Add(writeTimeout)
	for part := range slices.Chunk(body, writtenAtOnce) {
		deadline := time.Now().Add(writeProgress)
		if deadline.After(end) {
			deadline = end
		}
		_ = control.SetWriteDeadline(deadline) // unsupported only by recorders in tests
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// setLimit sets the headers that say when to retry.
func setLimit(h http.Header, e rewards.Exceeded) {
	seconds := strconv.Itoa(max(1, int((e.Wait+time.Second-1)/time.Second)))
	h.Set("Retry-After", seconds)
	h.Set("RateLimit-Limit", strconv.Itoa(e.Limit))
	h.Set("RateLimit-Remaining", "0")
	h.Set("RateLimit-Reset", seconds)
}
