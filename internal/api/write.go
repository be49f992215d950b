package api

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"stockrewards/internal/rewards"
)

// The headers of every answer; they are only read.
//
//nolint:gochecknoglobals // constants, were there constants of this kind
var typeJSON, noStore, noSniff = []string{"application/json"}, []string{"no-store"}, []string{"nosniff"}

func write(w http.ResponseWriter, a reply) {
	h := w.Header() // by their canonical names, without making each anew
	h["Content-Type"], h["Cache-Control"], h["X-Content-Type-Options"] = typeJSON, noStore, noSniff
	if a.link != "" {
		h.Set("Link", a.link)
	}
	if len(a.body) <= writtenAtOnce {
		w.WriteHeader(a.status)
		_, _ = w.Write(a.body) // the client may have gone
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	writeLarge(w, a.body)
}

// The limits of a large answer, whose bytes are in memory until the client has read them.
const (
	writtenAtOnce = 64 << 10        // bytes
	writeProgress = 5 * time.Second // for so many bytes
)

// writeLarge writes an answer in parts, and gives it up when the client does not read on.
func writeLarge(w http.ResponseWriter, body []byte) {
	control := http.NewResponseController(w)
	end := time.Now().Add(writeTimeout)
	for part := range slices.Chunk(body, writtenAtOnce) {
		deadline := time.Now().Add(writeProgress)
		if deadline.After(end) {
			deadline = end
		}
		_ = control.SetWriteDeadline(deadline) // where there is none, as in tests, nothing is slow
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// setLimit says when to ask again.
func setLimit(h http.Header, e rewards.Exceeded) {
	seconds := strconv.Itoa(max(1, int((e.Wait+time.Second-1)/time.Second)))
	h.Set("Retry-After", seconds)
	h.Set("RateLimit-Limit", strconv.Itoa(e.Limit))
	h.Set("RateLimit-Remaining", "0")
	h.Set("RateLimit-Reset", seconds)
}
