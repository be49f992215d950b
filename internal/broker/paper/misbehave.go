package paper

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// operation is what a request asks for, in the words of faults.
func operation(r *http.Request) string {
	if r.URL.Path == actionsPath {
		return opActions
	}
	path, found := strings.CutPrefix(r.URL.Path, "/v2/")
	if !found {
		return opOther
	}
	first, _, _ := strings.Cut(path, "/")
	switch {
	case first == "stocks":
		return opPrices
	case path == "orders" && r.Method == http.MethodPost:
		return opSubmit
	case path == "orders":
		return opList
	case first == "orders" && r.Method == http.MethodDelete:
		return opCancel
	case strings.HasPrefix(first, "orders"): // also orders:by_client_order_id
		return opLookup
	case first == opPositions, first == opAccount, first == opAssets, first == opClock, first == opCalendar:
		return first
	}
	return opOther
}

// serveFaulty carries a request out, or lets a fault strike it.
func (b *Brokerage) serveFaulty(w http.ResponseWriter, r *http.Request) {
	if !b.faults.any() {
		b.routes.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		b.fail(w, r, badRequest("request body can't be read"))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	op := operation(r)
	f, struck := b.faults.strike(groupWire, op, func() string { return symbolOf(body) }, b.clock.micros())
	if !struck {
		b.routes.ServeHTTP(w, r)
		return
	}
	b.misbehave(w, r, f, body)
}

// symbolOf is the symbol of an order that is being sent, empty for what is none.
func symbolOf(body []byte) string {
	var order struct {
		Symbol string `json:"symbol"`
	}
	if json.Unmarshal(body, &order) != nil {
		return ""
	}
	return order.Symbol
}

// misbehave answers a request as the fault says.
func (b *Brokerage) misbehave(w http.ResponseWriter, r *http.Request, f Fault, body []byte) {
	if f.Carried {
		b.carry(r, body)
	}
	switch f.Kind {
	case lostRequest, outage:
		cut()
	case lostAnswer:
		b.carry(r, body)
		cut()
	case lateRequest:
		b.late(r, body, f.By)
		b.routes.ServeHTTP(w, r)
	case lateAnswer:
		answer := b.carry(r, body)
		b.pause(r.Context(), f.By)
		answer.send(w, len(answer.body))
	case cutAnswer:
		answer := b.carry(r, body)
		answer.send(w, len(answer.body)/2)
		cut()
	case duplicate:
		b.carry(r, body)
		b.routes.ServeHTTP(w, r)
	case noBuyingPower:
		e := forbidden("insufficient buying power")
		e.more = []member{{"buying_power", "0"}, {"cost_basis", "0"}}
		b.fail(w, r, e)
	case rateLimit:
		reset := time.Now().Add(f.By + time.Second - 1).Unix() // whole seconds, rounded up
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(reset, 10))
		b.fail(w, r, rateLimited())
	case emptyBody:
		w.WriteHeader(f.Status)
	case htmlBody:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, "<html><body><h1>"+http.StatusText(f.Status)+"</h1></body></html>")
	default:
		b.fail(w, r, &apiError{
			status: f.Status, code: f.Status*100_000 + 10_000, message: strings.ToLower(http.StatusText(f.Status)),
		})
	}
}

// cut breaks the connection off.
func cut() { panic(http.ErrAbortHandler) }

// answer is a whole answer that has not been sent.
type answer struct {
	header http.Header
	status int
	body   []byte
}

// carry carries a request out, whether its client is still there or not, and keeps
// the answer.
func (b *Brokerage) carry(r *http.Request, body []byte) answer {
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := recorder{header: make(http.Header), status: http.StatusOK}
	b.routes.ServeHTTP(&rec, r)
	return answer{rec.header, rec.status, rec.body.Bytes()}
}

// send sends the first bytes of an answer whose length is told whole.
func (a answer) send(w http.ResponseWriter, length int) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body[:length]) // a client that has gone needs no answer
	if f, ok := w.(http.Flusher); ok && length < len(a.body) {
		f.Flush()
	}
}

// late holds a request back. When its client has gone meanwhile it is carried out
// all the same, at the same time: so it is with a request that is stuck on the way.
func (b *Brokerage) late(r *http.Request, body []byte, by time.Duration) {
	until := time.Now().Add(by)
	if b.pause(r.Context(), by) {
		return
	}
	b.background.Go(func() {
		if b.pause(b.closing, time.Until(until)) {
			b.carry(r, body)
		}
	})
	cut()
}

// pause waits and tells whether the whole time passed.
func (b *Brokerage) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-b.closing.Done():
	}
	return false
}
