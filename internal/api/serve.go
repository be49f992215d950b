package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"stockrewards/internal/admission"
	"stockrewards/internal/rewards"
)

// The limits of a request.
const (
	maxBody    = 64 << 10 // bytes
	maxDrained = 16 << 20 // bytes of an app's refused body that are read so that the answer arrives
	// maxStrangersDrained is the same without a valid key.
	maxStrangersDrained = 256 << 10
	maxRequestID        = 128 // characters
	// maxTime bounds a request; below the server's write time-out, so that the answer
	// still leaves.
	maxTime = 25 * time.Second
)

// call is a request on its way through an endpoint.
type call struct {
	*http.Request
	app  rewards.AppID
	body []byte
}

// reply is an answer on its way out.
type reply struct {
	status int
	body   []byte
	link   string // the Link header; "" for none
}

// serve is the path of every request: what is checked, and in which order.
func (s *server) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		id := requestID(r.Header.Get("X-Request-Id"))
		w.Header().Set("X-Request-Id", id)
		ctx, cancel := context.WithTimeout(r.Context(), maxTime)
		defer cancel()
		p := pass{from: s.Proxy.address(r)}
		answer, err := s.answer(ctx, rt, r, &p)
		if err != nil {
			answer = s.failure(ctx, w, err, id)
		}
		if p.last {
			w.Header().Set("Connection", "close")
		}
		p.ticket.Answered(len(answer.body))
		drain(r, p.key.ID.IsZero())
		write(w, answer)
		p.ticket.Leave()
		s.tell(ctx, told{
			id: id, method: r.Method, route: rt.pattern, status: answer.status, took: time.Since(started), key: p.key,
			from: p.from,
		})
	})
}

// pass is what a request has got on its way: zero until then.
type pass struct {
	from   string // the client's address
	key    rewards.Key
	ticket admission.Ticket
	last   bool // the connection ends with the answer
}

// answer checks a request and runs its endpoint.
func (s *server) answer(ctx context.Context, rt route, r *http.Request, p *pass) (a reply, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
		}
	}()
	if rt.methods == nil {
		return a, &rewards.Error{Code: rewards.CodeNotFound, Message: "no such route"}
	}
	run, ok := rt.methods[r.Method]
	if !ok {
		return a, errMethod{allow: allowed(rt)}
	}
	c := call{Request: r}
	if !rt.open {
		if err := s.admit(ctx, rt, r, p); err != nil {
			return a, err
		}
		c.app = p.key.AppID
	}
	if r.Method == http.MethodPost {
		if c.body, err = readBody(r); err != nil {
			return a, err
		}
	}
	return run(ctx, c)
}

// admit finds the app, and waits until its request may be worked on.
func (s *server) admit(ctx context.Context, rt route, r *http.Request, p *pass) (err error) {
	var app rewards.App
	presented := r.Header.Get("X-Api-Key")
	if p.key, app, err = s.Service.Authenticate(ctx, presented); err != nil {
		if s.KeyThrottle != nil && presented != "" && rewards.CodeOf(err) == rewards.CodeUnauthorized {
			p.last = !s.KeyThrottle.Delay(ctx, addressOf(p.from))
		}
		return err
	}
	kind := rt.reads
	if r.Method == http.MethodPost {
		kind = admission.Write
	}
	p.ticket, err = s.gate.Enter(ctx, app, kind)
	return err
}

func allowed(rt route) string {
	methods := make([]string, 0, len(rt.methods))
	for m := range rt.methods {
		methods = append(methods, m)
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

// cleanPath tells whether a path is written the one way that routes are.
func cleanPath(p string) bool { return strings.HasPrefix(p, "/") && path.Clean(p) == p }

// requestID keeps a caller's id when it is harmless.
func requestID(given string) string {
	if given == "" || len(given) > maxRequestID {
		return uuid.NewString()
	}
	for i := range len(given) {
		c := given[i]
		harmless := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
			c == '.' || c == '_' || c == '-'
		if !harmless {
			return uuid.NewString()
		}
	}
	return given
}

// readBody reads a JSON body: its size and its type are checked, not its content.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, errTooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if len(body) > maxBody {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, badRequest(rewards.Issue{Message: "the body could not be read"})
	}
	return body, checkMediaType(r.Header)
}

// drain reads what is left of a refused body, so that a client that still writes
// gets to read the answer. A body that announces more than the limit is not read at
// all, and the connection ends with the answer. A client that waits for 100 Continue
// sends no body; in HTTP/1.0 nothing waits for it.
func drain(r *http.Request, stranger bool) {
	if r.Header.Get("Expect") != "" && r.ProtoAtLeast(1, 1) {
		return
	}
	limit := int64(maxDrained)
	if stranger {
		limit = maxStrangersDrained
	}
	if r.ContentLength > limit {
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, limit) // the answer matters, not the rest
}

// failure is the answer to a request that failed. Only what is meant for clients
// leaves; the rest is logged.
func (s *server) failure(ctx context.Context, w http.ResponseWriter, err error, id string) reply {
	status, code, e := describe(err)
	if method, ok := errors.AsType[errMethod](err); ok {
		w.Header().Set("Allow", method.allow)
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	if limit, ok := errors.AsType[rewards.Exceeded](err); ok {
		setLimit(w.Header(), limit)
	}
	if status >= http.StatusInternalServerError {
		s.Log.LogAttrs(ctx, slog.LevelError, "request failed",
			slog.String("request_id", id), slog.Int("status", status), slog.Any("error", err))
	}
	return reply{status: status, body: appendError(nil, code, e, id)}
}
