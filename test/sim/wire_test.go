package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"stockrewards/internal/rewards"
)

// wire sends a process's requests to the brokerage. Each is an effect.
type wire struct{ p *process }

func (x wire) RoundTrip(r *http.Request) (response *http.Response, err error) {
	if x.p.dead {
		return nil, errKilled
	}
	l := x.p.lab
	var body []byte
	if r.Body != nil {
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	name, rows := l.describe(r, body)
	status := 0
	err = x.p.do(effect{name: name, row: rows[0], wire: true}, func() (err error) {
		before := l.faultHits()
		response, err = l.brokerage.Transport().RoundTrip(l.withBrokerSymbols(r, body))
		l.struck(name, before, rows)
		if err == nil {
			l.withPresentSymbols(response)
			status = response.StatusCode
		}
		return err
	})
	l.transcribe(x.p.name, r.Method, r.URL.String(), string(body), fmt.Sprint(status))
	if err != nil {
		if response != nil {
			err = errors.Join(err, response.Body.Close())
		}
		return nil, err
	}
	return response, nil
}

func (l *lab) describe(r *http.Request, body []byte) (name string, rows []string) {
	path := strings.TrimPrefix(r.URL.Path, "/v2/")
	switch {
	case path == "orders" && r.Method == http.MethodPost:
		return "submit", []string{l.checkSubmit(body)}
	case path == "orders":
		states := map[string]bool{}
		for _, o := range l.live {
			if row := rowOf(o); !states[row] && row != rowPlanned && row != rowQuarantined && row != rowResolved {
				states[row] = true
				rows = append(rows, row)
			}
		}
		if len(rows) == 0 {
			rows = []string{rowCompared}
		}
		slices.Sort(rows)
		return "list", rows
	case strings.HasPrefix(path, "orders:by_client_order_id"):
		o, _ := l.order(r.URL.Query().Get("client_order_id"))
		return "lookup", []string{rowOf(o)}
	}
	return path, []string{rowMarket}
}

// checkSubmit checks that a sent order is durable and as planned.
func (l *lab) checkSubmit(body []byte) string {
	var sent struct {
		ClientOrderID string `json:"client_order_id"`
		Symbol        string `json:"symbol"`
		Side          string `json:"side"`
		Notional      string `json:"notional"`
	}
	l.check(json.Unmarshal(body, &sent))
	o, _ := l.order(sent.ClientOrderID)
	late := l.nested || len(l.procs) > 1 // another process may have changed its state
	switch {
	case o.ClientOrderID == "":
		l.violate("an order is sent only when it is in the books", sent.ClientOrderID, "%s", body)
	case o.State != rewards.OrderSubmitted && !late, o.Attempts == 0:
		l.violate("an attempt is durable before it is sent", sent.ClientOrderID, "it is %s", o.State)
	case sent.Symbol != o.Symbol || sent.Side != "buy" || sent.Notional != o.Notional.String():
		l.violate("an order is sent as it was planned", sent.ClientOrderID, "%s, planned %+v", body, o)
	}
	l.checkSymbol(sent.Symbol, o)
	return rowOf(o)
}

func (l *lab) faultHits() map[int]int {
	counts := map[int]int{}
	for _, r := range l.brokerage.Faults() {
		counts[r.ID] = r.Hits
	}
	return counts
}

func (l *lab) struck(name string, before map[int]int, rows []string) {
	for _, r := range l.brokerage.Faults() {
		n := r.Hits - before[r.ID]
		if n <= 0 {
			continue
		}
		l.strikes += n
		if name != "submit" && (len(r.On) == 0 || r.On[0] == "submit") && !slices.Contains(quotes(), r.Kind) {
			continue // it struck a late request of an order sent before
		}
		for _, row := range rows {
			l.cover.hit(row, r.Kind)
		}
		l.note("the broker: %s (%v)", r.Fault, rows)
	}
}
