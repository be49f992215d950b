package wire

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/faults"
)

// operation returns what a request asks for, as faults name it.
func operation(r *http.Request) string {
	if r.URL.Path == actionsPath {
		return faults.OpActions
	}
	path, found := strings.CutPrefix(r.URL.Path, "/v2/")
	if !found {
		return faults.OpOther
	}
	first, _, _ := strings.Cut(path, "/")
	switch {
	case first == "stocks":
		return faults.OpPrices
	case path == "orders" && r.Method == http.MethodPost:
		return faults.OpSubmit
	case path == "orders":
		return faults.OpList
	case first == "orders" && r.Method == http.MethodDelete:
		return faults.OpCancel
	case strings.HasPrefix(first, "orders"): // also orders:by_client_order_id
		return faults.OpLookup
	}
	switch first {
	case faults.OpPositions, faults.OpAccount, faults.OpAssets, faults.OpClock, faults.OpCalendar:
		return first
	}
	return faults.OpOther
}

// serveFaulty serves a request, or lets a fault strike it.
func (s *Server) serveFaulty(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	symbol := func() string { return orderSymbol(body) }
	if f, struck := s.faults.StrikeRequest(operation(r), symbol, s.now()); struck {
		s.misbehave(w, r, f, body)
		return
	}
	s.routes.ServeHTTP(w, r)
}

// orderSymbol returns the symbol of an order that is being submitted, and an empty string
// for any other body.
func orderSymbol(body []byte) string {
	var order struct {
		Symbol string `json:"symbol"`
	}
	if json.Unmarshal(body, &order) != nil {
		return ""
	}
	return order.Symbol
}

func (s *Server) misbehave(w http.ResponseWriter, r *http.Request, f faults.Fault, body []byte) {
	if f.Carried {
		s.carryOut(r, body)
	}
	switch f.Kind {
	case faults.LostRequest, faults.Outage:
		disconnect()
	case faults.LostAnswer:
		s.carryOut(r, body)
		disconnect()
	case faults.LateRequest:
		s.late(r, body, f.By)
		s.routes.ServeHTTP(w, r)
	case faults.LateAnswer:
		answer := s.carryOut(r, body)
		s.wait(r.Context(), f.By)
		answer.send(w, answer.body.Len())
	case faults.CutAnswer:
		answer := s.carryOut(r, body)
		answer.send(w, answer.body.Len()/2)
		disconnect()
	case faults.Duplicate:
		s.carryOut(r, body)
		s.routes.ServeHTTP(w, r)
	case faults.NoBuyingPower:
		s.fail(w, r, apierror.NoBuyingPower("0", "0"))
	case faults.RateLimit:
		reset := time.Now().Add(f.By + time.Second - 1).Unix() // whole seconds, rounded up
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(reset, 10))
		s.fail(w, r, apierror.RateLimited())
	case faults.EmptyBody:
		w.WriteHeader(f.Status)
	case faults.HTMLBody:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, "<html><body><h1>"+http.StatusText(f.Status)+"</h1></body></html>")
	default:
		s.fail(w, r, apierror.FromStatus(f.Status, strings.ToLower(http.StatusText(f.Status))))
	}
}

func disconnect() { panic(http.ErrAbortHandler) }

// carryOut carries out a request, even when its client has disconnected, and returns the
// answer without sending it.
func (s *Server) carryOut(r *http.Request, body []byte) *recorder {
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := newRecorder()
	s.routes.ServeHTTP(rec, r)
	return rec
}

// late holds a request back. When its client disconnects in the meantime, the request is
// still carried out at the same time, like one that is stuck in the network.
func (s *Server) late(r *http.Request, body []byte, by time.Duration) {
	until := time.Now().Add(by)
	if s.wait(r.Context(), by) {
		return
	}
	s.background.Go(func() {
		if s.wait(s.closing, time.Until(until)) {
			s.carryOut(r, body)
		}
	})
	disconnect()
}

// wait waits for a duration. It reports false when the context or the server ended first.
func (s *Server) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.closing.Done():
	}
	return false
}
