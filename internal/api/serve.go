package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
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
	maxBody             = 64 << 10  // bytes
	maxBatchBody        = 4 << 20   // bytes of a batch
	maxDrained          = 16 << 20  // bytes of a refused body that drain reads
	maxStrangersDrained = 256 << 10 // the same without a valid key
	maxRequestID        = 128       // characters
)

// call is a request that a handler serves.
type call struct {
	*http.Request
	id        string // of the request
	parameter string // of the path; "" without one
	app       rewards.AppID
	body      []byte
	ticket    *admission.Ticket
}

// reply is a response.
type reply struct {
	status int
	body   []byte
	link   string                    // the Link header; "" for none
	policy string                    // the Content-Security-Policy of an HTML page; "" for JSON
	items  tally                     // of a batch
	left   bool                      // an error, after the client left
	fault  bool                      // a 503 that the app caused
	stream func(http.ResponseWriter) // writes the whole response instead; nil: body

	reusable bool // nothing else refers to body
}

// single replies with one object under a name, or with the error.
func single[T any](
	s *server, status int, name string, appendOne func([]byte, T) []byte, value T, err error,
) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	o := s.begin()
	appendObject(&o, name, appendOne, value)
	return o.reply(status), nil
}

// ServeHTTP implements http.Handler: what every request goes through.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	id := requestID(r.Header.Get("X-Request-Id"))
	w.Header()["X-Request-Id"] = []string{id}
	ctx := timed{r.Context(), started.Add(maxTime)}
	from := caller{address: s.Proxy.address(r)}
	defer from.ticket.Leave() // also after a panic of a stream
	body := awaitBody(r)
	rt, parameter := s.find(r.URL)
	answer, err := s.answer(ctx, rt, call{Request: r, id: id, parameter: parameter}, &from)
	if err != nil {
		answer = s.failure(ctx, w, err, id, from.key.AppID)
	}
	if from.disconnect || ctx.Err() != nil { // the context ended for the whole connection
		w.Header().Set("Connection", "close")
	}
	if answer.stream == nil {
		from.ticket.Answered(len(answer.body))
	}
	if body.awaited() {
		r.Body = body.ReadCloser // by its type net/http sees that nothing was sent; otherwise it waits for the body
	} else {
		drain(r, from.key.ID.IsZero())
	}
	write(w, answer)
	from.ticket.Leave()
	ended := time.Now()
	l := requestLog{
		at: ended, id: id, method: r.Method, route: rt.pattern, status: answer.status, took: ended.Sub(started),
		key: from.key, address: from.address, items: answer.items, fault: answer.fault,
	}
	if answer.left {
		l.status = statusLeft
	}
	if answer.reusable {
		l.line = answer.body[:0]
	}
	s.logRequest(&l)
	s.reuse(l.line)
}

// caller is who sent a request, as far as the checks have come.
type caller struct {
	address    string
	key        rewards.Key      // zero until it is found valid
	ticket     admission.Ticket // zero until admission
	disconnect bool             // close the connection after the response
}

// answer checks a request, in the order that the specification promises, and runs its handler.
func (s *server) answer(ctx context.Context, rt route, c call, from *caller) (a reply, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
		}
	}()
	if rt.methods == nil {
		return a, &rewards.Error{Code: rewards.CodeNotFound, Message: "no such route"}
	}
	run, ok := rt.methods[c.Method]
	if !ok {
		return a, errMethod{allow: allowed(rt)}
	}
	if !rt.open {
		if err := s.admit(ctx, rt, c.Request, from); err != nil {
			return a, err
		}
		c.app, c.ticket = from.key.AppID, &from.ticket
	}
	if c.Method != http.MethodGet {
		most := cmp.Or(rt.maxBody, maxBody)
		if c.body, err = readBody(ctx, &from.ticket, c.Request, most, rt.takesBody(c.Method)); err != nil {
			return a, err
		}
		c.Body = http.NoBody // drain finds nothing
		if err := from.ticket.Decode(ctx, len(c.body)); err != nil {
			return a, err
		}
	}
	return run(ctx, c)
}

// admit authenticates the app and waits for admission.
func (s *server) admit(ctx context.Context, rt route, r *http.Request, from *caller) (err error) {
	var app rewards.App
	presented := r.Header.Get("X-Api-Key")
	if from.key, app, err = s.Service.Authenticate(ctx, presented); err != nil {
		if s.KeyThrottle != nil && presented != "" && rewards.CodeOf(err) == rewards.CodeUnauthorized {
			from.disconnect = !s.KeyThrottle.Delay(ctx, parseAddr(from.address))
		}
		return err
	}
	kind := rt.reads
	if r.Method != http.MethodGet {
		kind = rt.writes
	}
	from.ticket, err = s.Gate.Enter(ctx, app, kind)
	return err
}

func allowed(rt route) string {
	return strings.Join(slices.Sorted(maps.Keys(rt.methods)), ", ")
}

// requestID keeps the client's id if it is short and harmless, and makes one otherwise.
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

// readBody reads a JSON body and checks its size and media type. An operation that takes no body ignores the type of
// an empty one, because some clients (axios, curl with an empty -d) always send one.
func readBody(ctx context.Context, t *admission.Ticket, r *http.Request, most int, taken bool) ([]byte, error) {
	if r.ContentLength > int64(most) {
		return nil, tooLarge(most)
	}
	size := r.ContentLength
	if size < 0 {
		size = int64(most)
	}
	if err := t.Hold(ctx, size); err != nil {
		return nil, err
	}
	body, err := readAll(r, int64(most))
	if len(body) > most {
		return nil, tooLarge(most)
	}
	if err == nil && len(body) == 0 && !taken {
		return nil, nil
	}
	if refused := checkMediaType(r.Header); refused != nil || err == nil {
		return body, refused
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		message := fmt.Sprintf("the body did not arrive within %.0f seconds", readTimeout.Seconds())
		return nil, rewards.Unavailable(message, errSlowBody)
	}
	return nil, badRequest(rewards.Issue{Message: "the body could not be read"})
}

// readAll reads a body, and of one without an announced length one byte beyond the most.
func readAll(r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(io.LimitReader(r.Body, most+1))
	}
	body := make([]byte, r.ContentLength)
	n, err := io.ReadFull(r.Body, body)
	return body[:n], err
}

// drain reads the rest of a refused body, so that a client that is still writing gets
// to read the response. If the announced length is beyond the limit it reads nothing, and
// the connection closes after the response.
func drain(r *http.Request, stranger bool) {
	if r.Body == http.NoBody {
		return
	}
	limit := int64(maxDrained)
	if stranger {
		limit = maxStrangersDrained
	}
	if r.ContentLength > limit {
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, limit) // an error ends the drain early, no more
}

// awaitedBody is the body of a request whose client waits for 100 Continue: it sends nothing unless somebody reads.
// nil is any other body.
type awaitedBody struct {
	io.ReadCloser
	read bool
}

// awaitBody makes the body of a request note whether it is read, if its client waits for 100 Continue. HTTP/1.0 has
// none.
func awaitBody(r *http.Request) *awaitedBody {
	if r.Header.Get("Expect") == "" || !r.ProtoAtLeast(1, 1) || r.Body == http.NoBody {
		return nil
	}
	b := &awaitedBody{ReadCloser: r.Body}
	r.Body = b
	return b
}

// Read implements io.Reader.
func (b *awaitedBody) Read(p []byte) (int, error) {
	b.read = true
	return b.ReadCloser.Read(p)
}

// awaited reports whether the client still waits, so that there is nothing to read.
func (b *awaitedBody) awaited() bool { return b != nil && !b.read }

// failure returns the response to a failed request of an app, or of nobody known. Failures of the service are logged;
// their text does not leave it.
func (s *server) failure(
	ctx context.Context, w http.ResponseWriter, err error, id string, app rewards.AppID,
) reply {
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
	answer := reply{status: status, body: appendError(nil, code, e, id)}
	if status < http.StatusInternalServerError {
		return answer
	}
	if answer.left = left(ctx, err); !answer.left { // the line of the request is enough for one that left
		answer.fault = appFault(err)
		f := failed{id, app, err}
		s.Log.LogAttrs(ctx, f.level(), "request failed", f.attrs(slog.Int("status", status))...)
	}
	return answer
}
