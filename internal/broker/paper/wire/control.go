package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/broker/paper/faults"
	"stockrewards/internal/money"
)

// isControl reports whether a request is for the control endpoints. They need the
// credentials, but have no rate limit and no faults.
func isControl(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/control/") }

// controls are the endpoints that set the clock and prices, close the market, script
// faults, show and bust actual orders, and announce corporate actions.
func (s *Server) controls() map[string]endpoint {
	return map[string]endpoint{
		"GET /control/clock":                     s.getTestClock,
		"PUT /control/clock":                     s.putTestClock,
		"POST /control/clock/advance":            s.advanceTestClock,
		"DELETE /control/clock":                  s.deleteTestClock,
		"GET /control/orders/{id}":               s.getActualOrder,
		"POST /control/orders/{id}/bust":         s.bustOrder,
		"GET /control/faults":                    s.getFaults,
		"POST /control/faults":                   s.postFaults,
		"DELETE /control/faults":                 s.deleteFaults,
		"DELETE /control/faults/{id}":            s.deleteFault,
		"PUT /control/prices/{symbol}":           s.putPrice,
		"PUT /control/market":                    s.putMarket,
		"GET /control/corporate-actions":         s.getAnnounced,
		"POST /control/corporate-actions":        s.postAction,
		"DELETE /control/corporate-actions/{id}": s.deleteAction,
	}
}

type testClock struct {
	Now       string `json:"now"`
	Test      bool   `json:"test"` // false: the real time
	Pace      int64  `json:"pace"` // seconds in each real second
	IsOpen    bool   `json:"isOpen"`
	NextOpen  string `json:"nextOpen"`
	NextClose string `json:"nextClose"`
}

func (s *Server) getTestClock(*http.Request) (any, error) {
	now := s.now()
	market := s.clock(now)
	return testClock{
		Now: timestamp(now), Test: s.books.Clock.Test() != nil, Pace: s.pace(),
		IsOpen: market.IsOpen, NextOpen: market.NextOpen, NextClose: market.NextClose,
	}, nil
}

func (s *Server) pace() int64 {
	if test := s.books.Clock.Test(); test != nil {
		return test.Pace
	}
	return 1
}

// putTestClock sets the time, the pace, or both.
func (s *Server) putTestClock(r *http.Request) (any, error) {
	in := struct {
		Now  time.Time `json:"now"`
		Pace *int64    `json:"pace"`
	}{Now: s.now()}
	if err := readControl(r, &in); err != nil {
		return nil, err
	}
	if in.Pace == nil {
		in.Pace = new(s.pace())
	}
	return s.setTestClock(r, in.Now, *in.Pace)
}

// advanceTestClock advances the time by a duration, or to the next open or close.
func (s *Server) advanceTestClock(r *http.Request) (any, error) {
	var in struct {
		By string `json:"by"`
		To string `json:"to"`
	}
	if err := readControl(r, &in); err != nil {
		return nil, err
	}
	now := s.now()
	session := s.exchange.SessionAt(now)
	switch {
	case in.To == "open" && in.By == "":
		if session.Contains(now) {
			session = s.exchange.SessionAt(session.Close)
		}
		return s.setTestClock(r, session.Open, s.pace())
	case in.To == "close" && in.By == "":
		return s.setTestClock(r, session.Close, s.pace())
	case in.To != "":
		return nil, apierror.BadRequest(`to must be "open" or "close", without by`)
	}
	by, err := faults.ParseDuration(in.By)
	if err != nil {
		return nil, apierror.BadRequest("by %s", err)
	}
	return s.setTestClock(r, now.Add(by), s.pace())
}

func (s *Server) setTestClock(r *http.Request, at time.Time, pace int64) (any, error) {
	if err := s.books.SetClock(r.Context(), at, pace); err != nil {
		return nil, apierror.BadRequest("%s", err)
	}
	return s.getTestClock(r)
}

func (s *Server) deleteTestClock(r *http.Request) (any, error) {
	if err := s.books.UseRealTime(r.Context()); err != nil {
		return nil, err
	}
	return s.getTestClock(r)
}

// putPrice sets the price of a stock.
func (s *Server) putPrice(r *http.Request) (any, error) {
	var in struct {
		Price jsontext.Value `json:"price"`
	}
	if err := readControl(r, &in); err != nil {
		return nil, err
	}
	text, _ := decimal(in.Price)
	price, err := money.ParsePrice(text)
	if err != nil || price < exchange.MinPrice || price > exchange.MaxPrice {
		return nil, apierror.BadRequest(`price must be a number of dollars such as "123.45", from %s to %s`,
			exchange.MinPrice, exchange.MaxPrice)
	}
	symbol, now := r.PathValue("symbol"), s.now()
	if err := s.books.MovePrice(r.Context(), symbol, price, now); err != nil {
		return nil, err
	}
	return map[string]string{"symbol": symbol, "price": price.String()}, nil
}

// putMarket closes the market until its next session, or opens it again.
func (s *Server) putMarket(r *http.Request) (any, error) {
	var in struct {
		Open *bool `json:"open"`
	}
	err := readControl(r, &in)
	switch {
	case err != nil:
	case in.Open == nil:
		err = apierror.BadRequest("open is required: true or false")
	case *in.Open:
		err = s.books.OpenMarket(r.Context(), s.now())
	default:
		err = s.books.CloseMarket(r.Context(), s.now())
	}
	if err != nil {
		return nil, err
	}
	return s.getTestClock(r)
}

// getActualOrder shows an order as the books have it.
func (s *Server) getActualOrder(r *http.Request) (any, error) {
	now := s.now()
	o, err := s.books.ActualOrder(r.Context(), r.PathValue("id"), now)
	if err != nil {
		return nil, err
	}
	return actual(o, now), nil
}

// bustOrder busts an order and shows it as the books have it then.
func (s *Server) bustOrder(r *http.Request) (any, error) {
	var in struct {
		FilledQty string `json:"filled_qty"`
	}
	if err := readControl(r, &in); err != nil {
		return nil, err
	}
	filled, err := money.ParseShares(in.FilledQty)
	if err != nil {
		return nil, apierror.BadRequest(`filled_qty must be a number of shares such as "1.5"`)
	}
	if err := s.books.Bust(r.Context(), r.PathValue("id"), filled, s.now()); err != nil {
		return nil, err
	}
	return s.getActualOrder(r)
}

// readControl reads a JSON object without unknown members.
func readControl(r *http.Request, in any) error {
	body, err := readBody(r)
	if err == nil {
		err = json.Unmarshal(body, in, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return apierror.BadRequest("the body must be a JSON object as docs/paper-brokerage.md describes: %s", err)
	}
	return nil
}

type rule struct {
	ID    int    `json:"id"`
	Fault string `json:"fault"`
	Added string `json:"added"`
	Seen  int    `json:"seen"`
	Hits  int    `json:"hits"`
}

func newRules(list []faults.Rule) []rule {
	rules := make([]rule, len(list))
	for i, r := range list {
		rules[i] = rule{r.ID, r.String(), timestamp(r.Added), r.Seen, r.Hits}
	}
	return rules
}

func (s *Server) getFaults(*http.Request) (any, error) { return newRules(s.faults.Rules()), nil }

// postFaults adds the faults of a body with one on each line: all of them or none.
func (s *Server) postFaults(r *http.Request) (any, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	var list []faults.Fault
	for line := range strings.Lines(string(body)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		f, err := faults.Parse(line)
		if err != nil {
			return nil, apierror.BadRequest("%s", err)
		}
		list = append(list, f)
	}
	if len(list) == 0 {
		return nil, apierror.BadRequest("the body must have a fault on each line: lost-answer on=submit times=1")
	}
	added, err := s.faults.Add(s.now(), list...)
	if err != nil {
		return nil, apierror.BadRequest("%s", err)
	}
	return newRules(added), nil
}

func (s *Server) deleteFaults(r *http.Request) (any, error) {
	s.faults.Remove(0)
	return s.getFaults(r)
}

func (s *Server) deleteFault(r *http.Request) (any, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id <= 0 || s.faults.Remove(id) == 0 {
		return nil, apierror.NotFound("there is no fault with the id %s", r.PathValue("id"))
	}
	return s.getFaults(r)
}
