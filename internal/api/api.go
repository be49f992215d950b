// Package api serves the HTTP interface /v1. Every response is JSON with an
// x-request-id header. Checks run in a fixed order before any work: route, method,
// key, limits, size, media type, content. No response contains the text of an
// internal error. Start with routes in route.go, then serve.go for the path of a
// request; each resource has its own file.
package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"stockrewards/internal/admission"
	"stockrewards/internal/reference"
	"stockrewards/internal/rewards"
)

// Options are the dependencies and settings of the API.
type Options struct {
	Service   *rewards.Service
	CursorKey []byte // authenticates list cursors; the same in every process
	Log       *slog.Logger
	// RequestLog, if not nil, gets one JSON line per response, in one Write.
	RequestLog io.Writer
	// Observe, if not nil, is called once per response with the method as received, the
	// route's pattern ("" when no route matched), the status, whether the app caused a 503, and the duration. The
	// status is 499 when the client left before it.
	Observe func(method, route string, status int, appFault bool, took time.Duration)
	Proxy   Proxy
	// KeyThrottle, if not nil, delays responses to wrong keys.
	KeyThrottle *admission.KeyThrottle
	// Gate, if not nil, admits requests; whoever observes commits reports them to Gate.Committed.
	Gate *admission.Gate
	// Reference, if not nil, is the page of Document that GET /docs serves.
	Reference *reference.Reference
}

// Endpoint is a route with one of its methods.
type Endpoint struct {
	Method string
	Route  string // the pattern, such as "/v1/users/{userId}"
}

// Endpoints lists every endpoint.
func Endpoints() []Endpoint {
	var list []Endpoint
	for _, r := range (&server{}).routes() {
		for method := range r.methods {
			list = append(list, Endpoint{Method: method, Route: r.pattern})
		}
	}
	return list
}

type server struct {
	Options
	table    []route
	decoders sync.Pool     // of *jsontext.Decoder
	buffers  sync.Pool     // of *[]byte, for responses and log lines
	draining chan struct{} // closed when followers must end
}

// handler serves a request that has passed the checks of serve.
type handler func(ctx context.Context, c call) (reply, error)

// The limits of a connection.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 15 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 60 * time.Second
	maxHeaderBytes = 16 << 10
)

// NewServer returns a server of the whole interface with its limits.
func NewServer(o Options) *http.Server {
	server := &http.Server{
		ConnContext:       withConn,
		ConnState:         onState,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),

		DisableGeneralOptionsHandler: true, // its response would not be JSON
	}
	s := newHandler(o)
	server.RegisterOnShutdown(sync.OnceFunc(func() { close(s.draining) }))
	Front(server, s)
	return server
}

func newHandler(o Options) *server {
	s := &server{Options: o, draining: make(chan struct{})}
	if s.Gate == nil {
		s.Gate = admission.New()
	}
	if s.Reference == nil {
		s.Reference = reference.New(document)
	}
	s.table = s.routes()
	return s
}
