package paper

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxRequestBody bounds the body of a request, in bytes.
const maxRequestBody = 1 << 20

// Handler serves Alpaca's Trading API and market data API, both under the same
// address.
func (b *Brokerage) Handler() http.Handler { return http.HandlerFunc(b.serve) }

// serve is the seam that each request passes: what goes for all of them happens
// here, and nowhere else.
func (b *Brokerage) serve(w http.ResponseWriter, r *http.Request) {
	var visit visit
	if !isControl(r) {
		visit = b.gate.enter(r.URL.Path, b.clock.realMicros())
		visit.tell(w.Header())
	}
	if err := visit.check(b.gate, r); err != nil {
		b.fail(w, r, err)
		return
	}
	if err := b.learnChanges(r.Context()); err != nil {
		b.fail(w, r, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxRequestBody)
	if isControl(r) {
		b.routes.ServeHTTP(w, r)
		return
	}
	b.serveFaulty(w, r)
}

// endpoint is the work of one route: a value to be written as JSON, or an error.
// A nil value is an answer without a body.
type endpoint func(r *http.Request) (any, error)

func (b *Brokerage) routeTable(control bool) http.Handler {
	table := map[string]endpoint{
		"POST /v2/orders":                       b.postOrder,
		"GET /v2/orders":                        b.getOrders,
		"GET /v2/orders/{id}":                   b.getOrder,
		"DELETE /v2/orders/{id}":                b.deleteOrder,
		"GET /v2/orders:by_client_order_id":     b.getOrderByClientID,
		"GET /v2/positions":                     b.getPositions,
		"GET /v2/positions/{asset}":             b.getPosition,
		"GET /v2/account":                       b.getAccount,
		"GET /v2/clock":                         b.getClock,
		"GET /v2/calendar":                      b.getCalendar,
		"GET /v2/assets":                        b.getAssets,
		"GET /v2/assets/{asset}":                b.getAsset,
		"GET /v2/stocks/trades/latest":          b.getLatestTrades,
		"GET /v2/stocks/{symbol}/trades/latest": b.getLatestTrade,
		"GET /v2/stocks/bars/latest":            b.getLatestBars,
		"GET /v2/stocks/snapshots":              b.getSnapshots,
		"GET /v2/stocks/{symbol}/snapshot":      b.getSnapshot,
		"GET /v2/account/activities":            b.getActivities,
		"GET /v2/account/activities/{type}":     b.getActivities,
		"GET /v1/corporate-actions":             b.getActions,
		"/":                                     noSuchEndpoint,
	}
	if control {
		maps.Copy(table, b.controls())
	}
	mux := http.NewServeMux()
	for pattern, e := range table {
		mux.Handle(pattern, b.route(e))
	}
	return mux
}

// route answers with what the endpoint returns. The answer is whole before its
// first byte goes out, so that a failure can't leave half of one.
func (b *Brokerage) route(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value, err := e(r)
		var body []byte
		if err == nil && value != nil {
			body, err = json.Marshal(value)
		}
		switch {
		case err != nil:
			b.fail(w, r, err)
		case value == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			write(w, statusOf(value), body)
		}
	})
}

// statusOf is the status of an answer that is not an error.
func statusOf(value any) int {
	if _, made := value.(created); made {
		return http.StatusCreated
	}
	return http.StatusOK
}

// created is an answer that is a 201.
type created struct{ jsontext.Value }

// fail answers with the error in Alpaca's words; one that has none is ours alone.
func (b *Brokerage) fail(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		b.logger.ErrorContext(r.Context(), "the paper brokerage failed",
			slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Any("error", err))
		e = internal()
	}
	write(w, e.status, e.body())
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}

func noSuchEndpoint(*http.Request) (any, error) {
	return nil, &apiError{status: http.StatusNotFound, message: "endpoint not found."}
}

// readRequest is the body of a request, up to the limit.
func readRequest(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, badRequest("request body can't be read")
	}
	return body, nil
}
