package paper

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// controlPath is what the paths of the control endpoints begin with. Neither the
// rate limit nor any fault touches them; credentials are asked for as elsewhere.
const controlPath = "/control/"

func isControl(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, controlPath) }

// controls are the endpoints by which a test sets the clock, scripts faults, reads
// what is true of an order, busts one, and announces corporate actions.
func (b *Brokerage) controls() map[string]endpoint {
	return map[string]endpoint{
		"GET /control/clock":                     b.getTestClock,
		"PUT /control/clock":                     b.putTestClock,
		"POST /control/clock/advance":            b.advanceTestClock,
		"DELETE /control/clock":                  b.deleteTestClock,
		"GET /control/orders/{id}":               b.getRecord,
		"POST /control/orders/{id}/bust":         b.bustOrder,
		"GET /control/faults":                    b.getFaults,
		"POST /control/faults":                   b.postFaults,
		"DELETE /control/faults":                 b.deleteFaults,
		"DELETE /control/faults/{id}":            b.deleteFault,
		"GET /control/corporate-actions":         b.getAnnounced,
		"POST /control/corporate-actions":        b.postAction,
		"DELETE /control/corporate-actions/{id}": b.deleteAction,
	}
}

// wireTestClock is the clock as the control endpoints tell it.
type wireTestClock struct {
	Now       string `json:"now"`
	Test      bool   `json:"test"` // false: the real time
	Pace      int64  `json:"pace"` // seconds in each real second
	IsOpen    bool   `json:"isOpen"`
	NextOpen  string `json:"nextOpen"`
	NextClose string `json:"nextClose"`
}

func (b *Brokerage) getTestClock(*http.Request) (any, error) {
	now, test := b.Now()
	market := b.wireClock(now)
	w := wireTestClock{
		Now: timestamp(now), Test: test != nil, Pace: 1,
		IsOpen: market.IsOpen, NextOpen: market.NextOpen, NextClose: market.NextClose,
	}
	if test != nil {
		w.Pace = test.Pace
	}
	return w, nil
}

// pace is the pace of the clock as it runs now.
func (b *Brokerage) pace() int64 {
	if _, test := b.Now(); test != nil {
		return test.Pace
	}
	return 1
}

// putTestClock sets the time, the pace, or both.
func (b *Brokerage) putTestClock(r *http.Request) (any, error) {
	now, _ := b.Now()
	in := struct {
		Now  time.Time `json:"now"`
		Pace *int64    `json:"pace"`
	}{Now: now}
	if err := readControl(r, &in); err != nil {
		return nil, err
	}
	pace := b.pace()
	if in.Pace != nil {
		pace = *in.Pace
	}
	return b.setTestClock(r, in.Now, pace)
}

// advanceTestClock moves the time by a duration, or to the next open or close.
func (b *Brokerage) advanceTestClock(r *http.Request) (any, error) {
	var in struct {
		By string `json:"by"`
		To string `json:"to"`
	}
	if err := readControl(r, &in); err != nil {
		return nil, err
	}
	now, _ := b.Now()
	s := b.market.at(now)
	switch {
	case in.To == "open" && in.By == "":
		if s.contains(now) {
			s = b.market.at(s.close)
		}
		return b.setTestClock(r, s.open, b.pace())
	case in.To == "close" && in.By == "":
		return b.setTestClock(r, s.close, b.pace())
	case in.To != "":
		return nil, badRequest(`to must be "open" or "close", without by`)
	}
	by, err := parseDuration(in.By)
	if err != nil {
		return nil, badRequest("by " + err.Error())
	}
	return b.setTestClock(r, now.Add(by), b.pace())
}

func (b *Brokerage) setTestClock(r *http.Request, at time.Time, pace int64) (any, error) {
	if err := b.SetClock(r.Context(), at, pace); err != nil {
		return nil, badRequest(err.Error())
	}
	return b.getTestClock(r)
}

func (b *Brokerage) deleteTestClock(r *http.Request) (any, error) {
	if err := b.UseRealTime(r.Context()); err != nil {
		return nil, err
	}
	return b.getTestClock(r)
}

func readControl(r *http.Request, in any) error {
	body, err := readRequest(r)
	if err == nil {
		err = json.Unmarshal(body, in, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return badRequest("the body must be a JSON object as docs/paper-brokerage.md describes: " + err.Error())
	}
	return nil
}

// wireRule is a fault as the control endpoints tell it.
type wireRule struct {
	ID    int    `json:"id"`
	Fault string `json:"fault"`
	Added string `json:"added"`
	Seen  int    `json:"seen"`
	Hits  int    `json:"hits"`
}

func toWire(rules []Rule) []wireRule {
	list := make([]wireRule, len(rules))
	for i, r := range rules {
		list[i] = wireRule{r.ID, r.String(), timestamp(r.Added), r.Seen, r.Hits}
	}
	return list
}

func (b *Brokerage) getFaults(*http.Request) (any, error) { return toWire(b.Faults()), nil }

// postFaults adds the faults of a text, one on each line: all of them or none.
func (b *Brokerage) postFaults(r *http.Request) (any, error) {
	body, err := readRequest(r)
	if err != nil {
		return nil, err
	}
	var list []Fault
	for line := range strings.Lines(string(body)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		f, err := ParseFault(line)
		if err != nil {
			return nil, badRequest(err.Error())
		}
		list = append(list, f)
	}
	if len(list) == 0 || len(list)+len(b.Faults()) > maxFaults {
		return nil, badRequest("the body must have from one to a thousand lines, each a fault: " +
			"lost-answer on=submit times=1")
	}
	added := make([]Rule, len(list))
	for i, f := range list {
		if added[i], err = b.AddFault(f); err != nil {
			return nil, badRequest(err.Error())
		}
	}
	return toWire(added), nil
}

func (b *Brokerage) deleteFaults(*http.Request) (any, error) {
	b.RemoveFault(0)
	return toWire(b.Faults()), nil
}

func (b *Brokerage) deleteFault(r *http.Request) (any, error) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id <= 0 || b.RemoveFault(id) == 0 {
		return nil, notFound("there is no fault with the id %s", r.PathValue("id"))
	}
	return toWire(b.Faults()), nil
}
