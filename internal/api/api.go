// Package api is the interface over HTTP, /v1 of the specification. It promises
// that every answer is JSON with an x-request-id, that a request is checked in one
// fixed order (route, method, key, size, type, content) before anything is done,
// and that no text of an internal error leaves. Read routes in this file for what
// there is, serve.go for the path of a request, and one file per noun for the rest.
package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"stockrewards/internal/admission"
	"stockrewards/internal/rewards"
)

// Options says what the API is made of.
type Options struct {
	Service   *rewards.Service
	CursorKey []byte // authenticates the cursors of lists; the same on every process
	Log       *slog.Logger
	// Observe is told of every request that was answered, once: its method as it came,
	// the route's pattern ("" when there was none), the status and the time it took. It
	// may be nil.
	Observe func(method, route string, status int, took time.Duration)
	Proxy   Proxy
	// KeyThrottle delays the answers to wrong keys; nil: none is delayed.
	KeyThrottle *admission.KeyThrottle
}

// Endpoint is a method that a route has.
type Endpoint struct {
	Method string
	Route  string // the pattern: "/v1/users/{userId}"
}

// Endpoints lists all there are.
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
	cursors cursors
	gate    *admission.Gate
}

// endpoint answers a request that was found to be in order so far.
type endpoint func(ctx context.Context, c call) (reply, error)

// route is one path with what it answers by method.
type route struct {
	pattern string
	methods map[string]endpoint
	open    bool           // needs no key
	reads   admission.Kind // what a GET needs; a POST is a Write
}

// routes are all there is; the API document describes each (a test compares).
func (s *server) routes() []route {
	return []route{
		{pattern: "/v1/users", reads: admission.List, methods: map[string]endpoint{
			http.MethodGet: s.listUsers, http.MethodPost: s.createUser,
		}},
		{pattern: "/v1/users/{userId}", reads: admission.Lookup, methods: map[string]endpoint{
			http.MethodGet: s.getUser,
		}},
		{pattern: "/v1/users/{userId}/portfolio", reads: admission.Lookup, methods: map[string]endpoint{
			http.MethodGet: s.getPortfolio,
		}},
		{pattern: "/v1/rewards", reads: admission.List, methods: map[string]endpoint{
			http.MethodGet: s.listRewards, http.MethodPost: s.createReward,
		}},
		{pattern: "/v1/rewards/{rewardId}", reads: admission.Lookup, methods: map[string]endpoint{
			http.MethodGet: s.getReward,
		}},
		{pattern: "/v1/assets", reads: admission.Lookup, methods: map[string]endpoint{http.MethodGet: s.listAssets}},
		{pattern: "/openapi.json", open: true, methods: map[string]endpoint{http.MethodGet: getDocument}},
	}
}

// The limits of a connection.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 15 * time.Second
	writeTimeout   = 30 * time.Second
	idleTimeout    = 60 * time.Second
	maxHeaderBytes = 16 << 10
)

// NewServer makes the server of the whole interface, with its limits.
func NewServer(o Options) *http.Server {
	server := &http.Server{
		ConnContext:       withConn,
		ConnState:         betweenRequests,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),

		DisableGeneralOptionsHandler: true, // its answer would be no JSON
	}
	Front(server, New(o))
	return server
}

// New makes the handler of the whole interface.
func New(o Options) http.Handler {
	s := &server{Options: o, cursors: cursors{key: o.CursorKey}, gate: admission.New()}
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		mux.Handle(r.pattern, s.serve(r))
	}
	unknown := s.serve(route{})
	mux.Handle("/", unknown)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !cleanPath(r.URL.Path) {
			unknown.ServeHTTP(w, r) // the mux would redirect
			return
		}
		mux.ServeHTTP(w, r)
	})
}
