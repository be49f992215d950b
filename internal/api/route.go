package api

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"stockrewards/internal/admission"
	"stockrewards/internal/reference"
)

// route is a path with its handlers by method.
type route struct {
	pattern string // such as "/v1/users/{userId}"; at most one segment is a parameter
	methods map[string]handler
	open    bool           // no key required
	reads   admission.Kind // of a GET
	writes  admission.Kind // of a request with another method
	maxBody int            // bytes of a POST's body; 0 means maxBody
	noBody  bool           // a POST takes none
}

// takesBody reports whether the operation of a method has a body.
func (rt route) takesBody(method string) bool { return method != http.MethodDelete && !rt.noBody }

// routes lists every route. The API document describes each except the page made of it; a
// test compares them.
func (s *server) routes() []route {
	return append(s.webhookRoutes(), []route{
		{pattern: "/v1/users", reads: admission.List, methods: map[string]handler{
			http.MethodGet: s.listUsers, http.MethodPost: s.createUser,
		}},
		{pattern: "/v1/users/{userId}", reads: admission.Lookup, methods: map[string]handler{
			http.MethodGet: s.getUser, http.MethodPatch: s.changeUser,
		}},
		{pattern: "/v1/users/{userId}/portfolio", reads: admission.Lookup, methods: map[string]handler{
			http.MethodGet: s.getPortfolio,
		}},
		{pattern: "/v1/users/{userId}/activity", reads: admission.List, methods: map[string]handler{
			http.MethodGet: s.listActivity,
		}},
		{pattern: "/v1/rewards", reads: admission.List, methods: map[string]handler{
			http.MethodGet: s.listRewards, http.MethodPost: s.createReward,
		}},
		{pattern: "/v1/rewards/batches", writes: admission.Batch, maxBody: maxBatchBody, methods: map[string]handler{
			http.MethodPost: s.createRewards,
		}},
		{pattern: "/v1/rewards/{rewardId}", reads: admission.Lookup, methods: map[string]handler{
			http.MethodGet: s.getReward,
		}},
		{pattern: "/v1/rewards/{rewardId}/reversals", methods: map[string]handler{http.MethodPost: s.createReversal}},
		{pattern: "/v1/reversals", reads: admission.List, methods: map[string]handler{http.MethodGet: s.listReversals}},
		{pattern: "/v1/reversals/{reversalId}", reads: admission.Lookup, methods: map[string]handler{
			http.MethodGet: s.getReversal,
		}},
		{pattern: "/v1/rewards/{rewardId}/timeline", reads: admission.List, methods: map[string]handler{
			http.MethodGet: s.getTimeline,
		}},
		{pattern: "/v1/assets", reads: admission.Lookup, methods: map[string]handler{http.MethodGet: s.listAssets}},
		{pattern: "/v1/budgets", reads: admission.Lookup, methods: map[string]handler{http.MethodGet: s.listBudgets}},
		{pattern: "/v1/corporate-actions", reads: admission.List, methods: map[string]handler{
			http.MethodGet: s.listActions,
		}},
		{pattern: "/v1/corporate-actions/{corporateActionId}", reads: admission.Lookup, methods: map[string]handler{
			http.MethodGet: s.getAction,
		}},
		{
			pattern: "/v1/corporate-actions/{corporateActionId}/effects", reads: admission.List,
			methods: map[string]handler{http.MethodGet: s.listEffects},
		},
		{pattern: "/v1/events", reads: admission.List, methods: map[string]handler{
			http.MethodGet: s.listEvents,
		}},
		{pattern: "/v1/events/stream", reads: admission.List, methods: map[string]handler{
			http.MethodGet: s.streamEvents,
		}},
		{pattern: "/v1/events/{eventId}", reads: admission.Lookup, methods: map[string]handler{
			http.MethodGet: s.getEvent,
		}},
		{pattern: "/openapi.json", open: true, methods: map[string]handler{http.MethodGet: getDocument}},
		{pattern: reference.Path, open: true, methods: map[string]handler{http.MethodGet: s.getReference}},
	}...)
}

// webhookRoutes are the routes about webhook endpoints.
func (s *server) webhookRoutes() []route {
	all := []route{
		{pattern: "/v1/webhook-endpoints", reads: admission.List, methods: map[string]handler{
			http.MethodGet: s.listEndpoints, http.MethodPost: s.createEndpoint,
		}},
		{pattern: "/v1/webhook-endpoints/{webhookEndpointId}", reads: admission.Lookup, methods: map[string]handler{
			http.MethodGet: s.getEndpoint, http.MethodPatch: s.changeEndpoint, http.MethodDelete: s.deleteEndpoint,
		}},
		{pattern: "/v1/webhook-endpoints/{webhookEndpointId}/rotate-secret", noBody: true, methods: map[string]handler{
			http.MethodPost: s.rotateSecret,
		}},
		{pattern: "/v1/webhook-endpoints/{webhookEndpointId}/test", noBody: true, methods: map[string]handler{
			http.MethodPost: s.testEndpoint,
		}},
		{pattern: "/v1/webhook-endpoints/{webhookEndpointId}/replay", methods: map[string]handler{
			http.MethodPost: s.replay,
		}},
		{
			pattern: "/v1/webhook-endpoints/{webhookEndpointId}/deliveries", reads: admission.List,
			methods: map[string]handler{http.MethodGet: s.listDeliveries},
		},
	}
	for i := range all {
		all[i].writes = admission.Change
	}
	return all
}

// find returns the route of a path and the value of its parameter. The route of an unknown
// path has no methods. A path that is not in its canonical form is unknown: nothing redirects.
func (s *server) find(u *url.URL) (rt route, parameter string) {
	p := u.Path
	if u.RawPath != "" || strings.Contains(p, "/.") {
		if path.Clean(p) != p {
			return route{}, ""
		}
		// An encoded slash separates nothing. As NUL it makes a parameter that is no id.
		encoded := strings.NewReplacer("%2F", "\x00", "%2f", "\x00").Replace(u.EscapedPath())
		p, _ = url.PathUnescape(encoded) // it was valid when the request was read
	}
	for _, rt := range s.table {
		if parameter, found := rt.match(p); found {
			return rt, parameter
		}
	}
	return route{}, ""
}

// match compares a path with the pattern.
func (rt route) match(p string) (parameter string, found bool) {
	before, rest, _ := strings.Cut(rt.pattern, "{")
	if p, found = strings.CutPrefix(p, before); !found {
		return "", false
	}
	_, after, parameterized := strings.Cut(rest, "}")
	parameter, found = strings.CutSuffix(p, after)
	return parameter, found && (parameter != "") == parameterized && !strings.Contains(parameter, "/")
}
