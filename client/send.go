package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// request is one request, however often it is sent.
type request struct {
	method, path string
	body         []byte // nil without one
	repeatable   bool   // sending it twice has the effect of once
}

func newRequest(method, path string, body any) (request, error) {
	r := request{method: method, path: path, repeatable: method != http.MethodPost}
	if body == nil {
		return r, nil
	}
	var encoded bytes.Buffer
	e := json.NewEncoder(&encoded)
	e.SetEscapeHTML(false) // metadata is the caller's own JSON, and six bytes for a "<" may be too many
	if err := e.Encode(body); err != nil {
		return r, fmt.Errorf("cannot encode the body: %w", err)
	}
	r.body = encoded.Bytes()
	if !r.repeatable {
		r.repeatable = hasKey(r.body)
	}
	return r, nil
}

// hasKey reports whether a body has an idempotency key, or is a batch whose items all have one.
func hasKey(body []byte) bool {
	var keyed struct {
		IdempotencyKey string
		Rewards        []struct{ IdempotencyKey string }
	}
	if json.Unmarshal(body, &keyed) != nil {
		return false
	}
	for _, r := range keyed.Rewards {
		if r.IdempotencyKey == "" {
			return false
		}
	}
	return keyed.IdempotencyKey != "" || len(keyed.Rewards) > 0
}

// outcome is how a request ended.
type outcome struct {
	header http.Header
	// uncertain reports that an earlier attempt may have had an effect.
	uncertain bool
}

// send sends a request, and again while that is safe and may help.
func (c *Client) send(ctx context.Context, r request, answer any) (o outcome, err error) {
	for attempt := 1; ; attempt++ {
		var wait time.Duration
		if o.header, err = c.once(ctx, r, answer); err == nil {
			return o, nil
		}
		again, harmless := retryable(err)
		if !again || !harmless && !r.repeatable || attempt >= c.Attempts || ctx.Err() != nil {
			return o, err
		}
		o.uncertain = o.uncertain || !harmless
		if wait = delay(err, attempt); wait > c.MaxWait {
			return o, err
		}
		if ended := pause(ctx, wait); ended != nil {
			return o, fmt.Errorf("cannot send the request again: %w; the last attempt: %w", ended, err)
		}
	}
}

// retryable reports whether another attempt may succeed, and whether this one certainly had
// no effect.
func retryable(err error) (again, harmless bool) {
	e, answered := errors.AsType[*Error](err)
	if !answered {
		dial, ok := errors.AsType[*net.OpError](err)
		return true, ok && dial.Op == "dial"
	}
	switch e.Status {
	case http.StatusTooManyRequests:
		return true, true
	case http.StatusBadGateway:
		return e.Code != CodeUpstream, false // from a proxy; a missing price does not come back so soon
	case http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, false
	}
	return false, false
}

// delay is the time before the next attempt: what the service asks for, or a random part of
// a time that doubles.
func delay(err error, attempt int) time.Duration {
	const first, most, doublings = 200 * time.Millisecond, 5 * time.Second, 5
	jitter := rand.N(min(first<<min(attempt-1, doublings), most)) //nolint:gosec // it only spreads retries
	if e, ok := errors.AsType[*Error](err); ok && e.RetryAfter > 0 {
		return e.RetryAfter + min(jitter, first)
	}
	return jitter
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// maxAnswer limits an answer, in bytes. The largest is that of a batch.
const maxAnswer = 64 << 20

// once sends a request once.
func (c *Client) once(ctx context.Context, r request, answer any) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, c.URL+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, &Error{Method: r.method, Path: r.path, Message: "cannot make the request: " + err.Error()}
	}
	req.Header.Set("X-Api-Key", strings.TrimSpace(c.Key)) // of a file it may end with a line break
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	sender := *cmp.Or(c.HTTP, http.DefaultClient)
	sender.CheckRedirect = stay
	res, err := sender.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: no answer: %w", r.method, r.path, err)
	}
	defer func() { _ = res.Body.Close() }() // it was read

	if res.StatusCode == http.StatusSwitchingProtocols { // its body is the connection, which no timeout ends
		return nil, newError(r, res, nil)
	}
	content, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s: cannot read the answer: %w", r.method, r.path, err)
	case res.StatusCode >= http.StatusMultipleChoices:
		return res.Header, newError(r, res, content)
	case answer == nil || res.StatusCode == http.StatusNoContent:
		return res.Header, nil
	}
	strange := func(what string) *Error {
		return &Error{Status: res.StatusCode, Method: r.method, Path: r.path, Message: what}
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return res.Header, strange("cannot decode the answer: " + err.Error())
	}
	if a, ok := answer.(partial); ok && a.missing() {
		return res.Header, strange("the answer lacks what was asked for")
	}
	return res.Header, nil
}

// newError reads the body of an error. A proxy's error has another body.
func newError(r request, res *http.Response, content []byte) *Error {
	var body struct{ Error *Error }
	e := &Error{}
	if json.Unmarshal(content, &body) == nil && body.Error != nil {
		e = body.Error
	} else {
		e.Message = http.StatusText(res.StatusCode)
	}
	e.Status, e.Method, e.Path = res.StatusCode, r.method, r.path
	e.RetryAfter = retryAfter(res.Header.Get("Retry-After"))
	return e
}

// retryAfter parses a Retry-After, which is in seconds or a date. It returns 0 for anything else
// and for a date that has passed, and the longest time for seconds that are out of range.
func retryAfter(header string) time.Duration {
	const decimal, bits = 10, 31
	seconds, err := strconv.ParseUint(header, decimal, bits)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(header); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}
