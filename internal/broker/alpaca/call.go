package alpaca

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stockrewards/internal/rewards"
)

// call is one request to the broker.
type call struct {
	operation string // what is asked for, in errors and metrics: "clock"
	host      *host
	method    string // GET when empty
	path      string
	query     url.Values
	body      []byte // JSON, nil for none
	maxBody   int64  // bytes of the answer, 1 MiB when zero
	submit    bool   // it asks for an order: a failure must say whether there may be one
	optional  bool   // a broker may not offer it, as a 4xx says
}

// ask performs the call, when the rate limit allows it, and reads its answer. Any
// failure is a *rewards.BrokerError.
func ask[T any](ctx context.Context, c *Client, q call, read func(body []byte) (T, error)) (answer T, err error) {
	if err := q.host.pace.wait(ctx); err != nil {
		err = &rewards.BrokerError{
			Kind: rewards.BrokerWait, Code: rewards.NotSent, Message: "waiting for the rate limit", Err: err,
		}
		c.observe(q.operation, err, 0)
		return answer, err
	}
	started := time.Now()
	defer func() { c.observe(q.operation, err, time.Since(started)) }()
	body, err := c.do(ctx, q)
	if err != nil {
		return answer, err
	}
	if answer, err = read(body); err != nil {
		err = c.unreadable(q.operation, err)
	}
	return answer, err
}

// do performs the call and returns the body of a 2xx answer.
func (c *Client) do(ctx context.Context, q call) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := c.request(ctx, q)
	if err != nil {
		return nil, c.broken(err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(err)
	}
	defer resp.Body.Close() //nolint:errcheck // the answer has been read or given up
	q.host.pace.observe(resp.StatusCode, resp.Header)
	if resp.StatusCode/100 != 2 {
		body, _ := readBody(resp.Body, maxErrorBody) // a body that can't be read is no JSON either
		if q.optional && denies(resp.StatusCode) {
			return nil, &rewards.BrokerError{Kind: rewards.BrokerNotFound, Message: "status " + resp.Status}
		}
		return nil, classify(q.submit, resp.StatusCode, body, c.scrub)
	}
	if q.maxBody == 0 {
		q.maxBody = maxSmallBody
	}
	body, err := readBody(resp.Body, q.maxBody)
	if err != nil {
		return nil, c.broken(err)
	}
	return body, nil
}

// denies tells whether a status says that there is no such thing, for these credentials.
func denies(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusGone, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return true
	}
	return false
}

func (c *Client) request(ctx context.Context, q call) (*http.Request, error) {
	target := q.host.base + q.path
	if len(q.query) > 0 {
		// A comma is legal in a query; escaped, a long list of symbols would triple them.
		target += "?" + strings.ReplaceAll(q.query.Encode(), "%2C", ",")
	}
	method := q.method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	c.authorize(req.Header)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "stockrewards")
	if q.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// readBody reads at most limit bytes and fails when there are more.
func readBody(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("read answer: more than %d bytes", limit)
	}
	return body, nil
}

// broken is the error of an exchange that did not come to an answer.
func (c *Client) broken(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // its text repeats the method and the address
	}
	return &rewards.BrokerError{Kind: rewards.BrokerUnknown, Err: scrubbed{c.scrub(err.Error()), err}}
}

// unreadable is the error of a 2xx answer that does not say what it should.
func (c *Client) unreadable(what string, err error) error {
	return c.broken(fmt.Errorf("unreadable %s: %w", what, err))
}

// scrubbed is an error whose text is free of credentials.
type scrubbed struct {
	text string
	err  error
}

func (e scrubbed) Error() string { return e.text }
func (e scrubbed) Unwrap() error { return e.err }
