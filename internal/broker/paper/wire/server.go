// Package wire serves Alpaca's Trading API and market data API over the books of the paper
// brokerage: the JSON shapes, the endpoints, the rate limit, and the faults that strike
// requests, answers and prices. Further endpoints under /control/ set the clock and script
// faults. Read Server.serve for the path of every request.
package wire

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/books"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/broker/paper/random"
)

// maxRequestBody is the largest body of a request, in bytes.
const maxRequestBody = 1 << 20

// Options say what to serve.
type Options struct {
	Books  *books.Books
	Faults *faults.Set
	IDs    *random.IDs
	Logger *slog.Logger

	KeyID             string // when it is empty, no credentials are asked for
	SecretKey         string
	RequestsPerMinute int  // 0: no limit
	Control           bool // serves the endpoints under /control/
}

// Server serves the API. It is safe for concurrent use.
type Server struct {
	books    *books.Books
	exchange *exchange.Exchange
	faults   *faults.Set
	ids      *random.IDs
	gate     *gate
	logger   *slog.Logger
	routes   http.Handler

	background sync.WaitGroup  // requests that outlive their client: see late
	closing    context.Context //nolint:containedctx // ends with the server, not with a call
	close      context.CancelFunc
}

// New returns a server, to be closed before its books. It takes only the values of ctx.
func New(ctx context.Context, o Options) *Server {
	s := &Server{
		books: o.Books, exchange: o.Books.Exchange, faults: o.Faults, ids: o.IDs, logger: o.Logger,
		gate: newGate(o.KeyID, o.SecretKey, o.RequestsPerMinute),
	}
	s.routes = s.mux(o.Control)
	s.closing, s.close = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

// Close drops the requests that a fault holds back.
func (s *Server) Close() {
	s.close()
	s.background.Wait()
}

// Handler serves the trading and the market data API, both at the same address.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// serve is the path of every request: rate limit, credentials, what has
// fallen due, faults, and its route.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	control := isControl(r)
	var err error
	if !control {
		err = s.gate.count(w.Header(), r.URL.Path, s.books.Clock.RealNow())
	}
	if err == nil {
		err = s.gate.authenticate(r)
	}
	if err == nil {
		err = s.books.Refresh(r.Context(), s.now())
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxRequestBody)
	if control || s.faults.Empty() {
		s.routes.ServeHTTP(w, r)
		return
	}
	s.serveFaulty(w, r)
}

// endpoint is the work of a route. It returns a value to be written as JSON, nil for an
// answer without a body, or an error.
type endpoint func(r *http.Request) (any, error)

func (s *Server) mux(control bool) http.Handler {
	table := map[string]endpoint{
		"POST /v2/orders":                       s.postOrder,
		"GET /v2/orders":                        s.getOrders,
		"GET /v2/orders/{id}":                   s.getOrder,
		"DELETE /v2/orders/{id}":                s.deleteOrder,
		"GET /v2/orders:by_client_order_id":     s.getOrderByClientID,
		"GET /v2/positions":                     s.getPositions,
		"GET /v2/positions/{asset}":             s.getPosition,
		"GET /v2/account":                       s.getAccount,
		"GET /v2/clock":                         s.getClock,
		"GET /v2/calendar":                      s.getCalendar,
		"GET /v2/assets":                        s.getAssets,
		"GET /v2/assets/{asset}":                s.getAsset,
		"GET /v2/stocks/trades/latest":          s.getLatestTrades,
		"GET /v2/stocks/{symbol}/trades/latest": s.getLatestTrade,
		"GET /v2/stocks/bars/latest":            s.getLatestBars,
		"GET /v2/stocks/snapshots":              s.getSnapshots,
		"GET /v2/stocks/{symbol}/snapshot":      s.getSnapshot,
		"GET /v2/account/activities":            s.getActivities,
		"GET /v2/account/activities/{type}":     s.getActivities,
		"GET " + actionsPath:                    s.getActions,
		"/":                                     noSuchEndpoint,
	}
	if control {
		maps.Copy(table, s.controls())
	}
	mux := http.NewServeMux()
	for pattern, e := range table {
		mux.Handle(pattern, s.route(e))
	}
	return mux
}

// created is an answer with the status 201.
type created struct{ jsontext.Value }

// route answers with what the endpoint returns. It encodes the answer before the first
// byte is sent, so that a failure cannot truncate it.
func (s *Server) route(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		value, err := e(r)
		if err == nil && value == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		var body []byte
		if err == nil {
			body, err = json.Marshal(value)
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		status := http.StatusOK
		if _, isCreated := value.(created); isCreated {
			status = http.StatusCreated
		}
		write(w, status, body)
	})
}

// fail answers with an error. One that is not Alpaca's is logged and answered as internal.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := errors.AsType[*apierror.Error](err)
	if !ok {
		s.logger.ErrorContext(r.Context(), "paper brokerage failed",
			slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Any("error", err))
		e = apierror.FromStatus(http.StatusInternalServerError, "internal server error occurred")
	}
	write(w, e.Status, e.Body())
}

func write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have disconnected
}

func noSuchEndpoint(*http.Request) (any, error) {
	return nil, &apierror.Error{Status: http.StatusNotFound, Message: "endpoint not found."}
}

// readBody reads the body of a request, up to the limit.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, apierror.BadRequest("request body can't be read")
	}
	return body, nil
}

func (s *Server) now() time.Time { return s.books.Clock.Now() }
