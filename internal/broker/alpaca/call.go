package alpaca

import (
	"bytes"
	"cmp"
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

type call struct {
	operation string // in errors and metrics: "clock"
	host      *host
	method    string // GET when empty
	path      string
	query     url.Values
	body      []byte // JSON, nil for none
	maxBody   int64  // bytes of the answer, 1 MiB when zero
	submit    bool   // it places an order: a 404 means a wrong address, not a missing order
	optional  bool   // a broker may not offer it and answers with a 4xx
}

// ask performs the call, as soon as the rate limit allows it, and reads its decoded answer. Any
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
	defer resp.Body.Close() //nolint:errcheck // the answer has been read
	q.host.pace.observe(resp.StatusCode, resp.Header)
	if resp.StatusCode == http.StatusSwitchingProtocols { // its body is the connection, which no timeout ends
		return nil, c.broken(errors.New("status " + resp.Status))
	}
	if resp.StatusCode/100 != 2 {
		body, _ := readBody(resp.Body, maxErrorBody)                // an unreadable body counts as no JSON
		page := bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) // of a proxy
		if q.optional && denies(resp.StatusCode) && !page {
			return nil, &rewards.BrokerError{Kind: rewards.BrokerNotFound, Message: "status " + c.clean(resp.Status)}
		}
		return nil, classify(q.submit, resp.StatusCode, body, c.clean)
	}
	body, err := readBody(resp.Body, cmp.Or(q.maxBody, maxSmallBody))
	if err != nil {
		return nil, c.broken(err)
	}
	return body, nil
}

// denies reports whether a status means that the broker does not offer this to these credentials.
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
		// A comma is legal in a query. Escaping it would lengthen a list of symbols.
		target += "?" + strings.ReplaceAll(q.query.Encode(), "%2C", ",")
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(q.method, http.MethodGet), target, bytes.NewReader(q.body))
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

// readBody reads a body of at most limit bytes and fails for a longer one.
func readBody(r io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the answer: %w", err)
	}
	if int64(len(body)) > limit {
		return nil, fmt.Errorf("the answer has more than %d bytes", limit)
	}
	return body, nil
}

// broken is the error of an exchange without a readable answer.
func (c *Client) broken(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the wrapper repeats the method and the address
	}
	return &rewards.BrokerError{Kind: rewards.BrokerUnknown, Err: cleaned{c.clean(err.Error()), err}}
}

// unreadable is the error of a 2xx answer with invalid content.
func (c *Client) unreadable(what string, err error) error {
	return c.broken(fmt.Errorf("cannot read %s: %w", what, err))
}

// cleaned is an error whose message is clean.
type cleaned struct {
	message string
	err     error
}

func (e cleaned) Error() string { return e.message }
func (e cleaned) Unwrap() error { return e.err }
