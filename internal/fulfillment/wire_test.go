package fulfillment_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// wire carries requests to the brokerage, and fails as a test says.
type wire struct {
	next    http.RoundTripper
	fault   fault                      // answers in place of the brokerage; nil: none
	rewrite func(order map[string]any) // changes every order that the brokerage reports
	clock   func(clock map[string]any) // changes the brokerage's clock
}

// carrier passes a request on to the brokerage.
type carrier = func() (*http.Response, error)

// fault answers a request, with or without passing it on.
type fault = func(r *http.Request, carry carrier) (*http.Response, error)

var errCut = errors.New("the connection was cut")

func (x *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	carry := func() (*http.Response, error) {
		response, err := x.next.RoundTrip(r)
		change := x.rewrite
		switch {
		case ofClock(r):
			change = x.clock
		case !strings.Contains(r.URL.Path, "/v2/orders"):
			change = nil
		}
		if err != nil || change == nil || response.StatusCode != http.StatusOK {
			return response, err
		}
		return response, rewriteBody(response, change)
	}
	if x.fault == nil {
		return carry()
	}
	return x.fault(r, carry)
}

func rewriteBody(response *http.Response, change func(map[string]any)) error {
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	switch v := value.(type) {
	case map[string]any:
		change(v)
	case []any:
		for _, o := range v {
			order, ok := o.(map[string]any)
			if !ok {
				return errCut
			}
			change(order)
		}
	}
	body, err = json.Marshal(value)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("Content-Length")
	return err
}

// isSubmit and the like match the requests that a fault is about.
func isSubmit(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Path == "/v2/orders" }

func isList(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Path == "/v2/orders" }

func isLookUp(r *http.Request) bool { return r.URL.Path == "/v2/orders:by_client_order_id" }

func ofClock(r *http.Request) bool { return r.URL.Path == "/v2/clock" }

func ofPrices(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v2/stocks/") }

func ofActions(r *http.Request) bool { return r.URL.Path == "/v1/corporate-actions" }

func ofAccount(r *http.Request) bool { return r.URL.Path == "/v2/account" }

func ofActivities(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/v2/account/activities")
}

func ofPositions(r *http.Request) bool { return r.URL.Path == "/v2/positions" }

func loseRequest(*http.Request, carrier) (*http.Response, error) { return nil, errCut }

func loseAnswer(_ *http.Request, carry carrier) (*http.Response, error) {
	_, err := carry()
	return nil, errors.Join(err, errCut)
}

// says answers without passing the request on.
func says(code int, body string) fault {
	return func(r *http.Request, _ carrier) (*http.Response, error) {
		return &http.Response{
			StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
			Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	}
}

// takesBut passes a request on and answers something else.
func takesBut(code int, body string) fault {
	return func(r *http.Request, carry carrier) (*http.Response, error) {
		if _, err := carry(); err != nil {
			return nil, err
		}
		return says(code, body)(r, nil)
	}
}

// Answers of the broker.
var (
	down         = says(503, ``)
	hidden       = says(404, `{"code":40410000,"message":"order not found"}`)
	forbidden    = says(403, `{"message":"forbidden."}`)
	insufficient = says(403, `{"code":40310000,"message":"insufficient buying power"}`)
	duplicate    = takesBut(422, `{"code":40010001,"message":"client_order_id must be unique"}`)
)

// faulty applies a fault to the requests that match until off is called.
func (w *world) faulty(match func(*http.Request) bool, f fault) (off func()) {
	on := new(atomic.Bool)
	on.Store(true)
	w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
		if on.Load() && match(r) {
			return f(r, carry)
		}
		return carry()
	}
	return func() { on.Store(false) }
}

// sends answers the n-th submit as the n-th fault says and passes on the later ones.
func sends(faults ...fault) fault {
	n := 0
	return func(r *http.Request, carry carrier) (*http.Response, error) {
		if !isSubmit(r) || n >= len(faults) {
			return carry()
		}
		n++
		return faults[n-1](r, carry)
	}
}

// hides makes the list of orders empty and answers look-ups as given.
func hides(lookUp fault) fault {
	return func(r *http.Request, carry carrier) (*http.Response, error) {
		switch {
		case isList(r):
			return says(200, `[]`)(r, nil)
		case isLookUp(r):
			return lookUp(r, carry)
		}
		return carry()
	}
}

// order are members of an order as the broker reports it.
type order = map[string]any

// reported is an order with a status and a fill at $200.
func reported(status, filled string) order {
	return order{"status": status, "filled_qty": filled, "filled_avg_price": "200", "filled_at": nil}
}

// reports makes the brokerage's next order look as given from now on.
func (w *world) reports(members order) {
	w.wire.rewrite = func(o map[string]any) {
		id, _ := o["client_order_id"].(string)
		if w.reportedID == "" {
			w.reportedID = id
		}
		if id != w.reportedID {
			return
		}
		for name, value := range members {
			o[name] = value
		}
	}
}

// reportsTruth ends what reports began; the next call is about another order.
func (w *world) reportsTruth() { w.wire.rewrite, w.reportedID = nil, "" }

// reading is what the broker reports for a while.
type reading struct {
	members order
	lasts   time.Duration
}

// reads reports readings of the next order, one after the other.
func (w *world) reads(readings ...reading) {
	w.t.Helper()
	for _, r := range readings {
		w.reports(r.members)
		w.run(r.lasts)
	}
}
