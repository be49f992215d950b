package page

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"stockrewards/internal/rewards"
)

// panel holds the fields of the brokerage's panel, and what became of the last request.
type panel struct{ Key, Symbol, Price, Done, Problem string }

// press is a button that was pressed on a form of the panel.
type press struct{ key, control, symbol, price string }

// maxPresses limits the presses that are remembered.
const maxPresses = 64

// command is a request to the brokerage's control endpoints.
type command struct{ method, path, body string }

// What the panel can do.
const (
	movePrice   = "price"
	splitStock  = "split"
	closeMarket = "close"
	openMarket  = "open"
	rejectOrder = "reject"
)

// panelDone words what the panel has just done, by the query of its redirect; "" for nothing.
func panelDone(query url.Values) string {
	symbol := query.Get("symbol")
	if len(symbol) > rewards.MaxSymbol {
		return ""
	}
	switch query.Get("done") {
	case movePrice:
		return "The price of " + symbol + " moved."
	case splitStock:
		return symbol + " was split 4:1."
	case closeMarket:
		return "The market is closed."
	case openMarket:
		return "The market is open."
	case rejectOrder:
		return "The next order will be rejected."
	}
	return ""
}

// operate answers a form of the panel.
func (h *handler) operate(w http.ResponseWriter, r *http.Request) {
	p := panel{
		Key:    r.PostForm.Get("key"),
		Symbol: rewards.UpperSymbol(strings.TrimSpace(r.PostForm.Get("symbol"))),
		Price:  strings.TrimPrefix(strings.TrimSpace(r.PostForm.Get("price")), "$"),
	}
	name := r.PostForm.Get("control")
	err := h.carryOut(r.Context(), name, p)
	if err == nil {
		query := url.Values{"done": {name}, "symbol": {p.Symbol}}
		http.Redirect(w, r, "/?"+query.Encode(), http.StatusSeeOther)
		return
	}
	v, viewErr := h.page(r.Context(), url.Values{})
	if viewErr != nil {
		h.fail(w, r, viewErr)
		return
	}
	p.Key, p.Problem = v.Panel.Key, err.Error()
	v.Panel = &p
	h.render(w, r, http.StatusUnprocessableEntity, "page", v)
}

// carryOut does what a button of the panel asks for. A form that is sent twice is carried out once.
func (h *handler) carryOut(ctx context.Context, name string, p panel) error {
	if !validKey(p.Key) {
		return incomplete()
	}
	pressed := press{p.Key, name, p.Symbol, p.Price}
	h.panel.Lock()
	defer h.panel.Unlock()
	if slices.Contains(h.presses, pressed) {
		return nil
	}
	c, err := h.command(ctx, name, p)
	if err != nil {
		return err
	}
	if _, err := h.ask(ctx, c); err != nil {
		return err
	}
	h.presses = append(h.presses[max(0, len(h.presses)+1-maxPresses):], pressed)
	return nil
}

// command returns the request of a button.
func (h *handler) command(ctx context.Context, name string, p panel) (command, error) {
	switch name {
	case movePrice:
		body, err := json.Marshal(map[string]string{"price": p.Price})
		return command{http.MethodPut, "/control/prices/" + url.PathEscape(p.Symbol), string(body)}, err
	case splitStock:
		day, err := h.pastDay(ctx)
		if err != nil {
			return command{}, err
		}
		body, err := json.Marshal(map[string]any{
			"type": "forward_split", "symbol": p.Symbol, "old_rate": 1, "new_rate": 4, "ex_date": day,
		})
		return command{http.MethodPost, "/control/corporate-actions", string(body)}, err
	case closeMarket:
		return command{http.MethodPut, "/control/market", `{"open":false}`}, nil
	case openMarket:
		return command{http.MethodPut, "/control/market", `{"open":true}`}, nil
	case rejectOrder:
		return command{http.MethodPost, "/control/faults", "reject times=1"}, nil
	}
	return command{}, incomplete()
}

// pastDay returns the latest date whose 02:30 in New York has passed by the brokerage's clock:
// a corporate action of that date happens at once.
func (h *handler) pastDay(ctx context.Context) (string, error) {
	const happens = 2*time.Hour + 30*time.Minute
	body, err := h.ask(ctx, command{http.MethodGet, "/control/clock", ""})
	if err != nil {
		return "", err
	}
	var clock struct {
		Now time.Time `json:"now"`
	}
	if err := json.Unmarshal(body, &clock); err != nil {
		return "", fmt.Errorf("cannot read the brokerage's clock: %w", err)
	}
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		return "", fmt.Errorf("cannot load the time zone of New York: %w", err)
	}
	return clock.Now.In(newYork).Add(-happens).Format(time.DateOnly), nil
}

// ask sends a command within the process and returns the answer's body. It fails with the
// brokerage's message.
func (h *handler) ask(ctx context.Context, c command) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, c.method, c.path, strings.NewReader(c.body))
	if err != nil {
		return nil, fmt.Errorf("cannot ask the brokerage: %w", err)
	}
	a := answer{header: http.Header{}, status: http.StatusOK}
	h.Control.ServeHTTP(&a, r)
	if a.status < http.StatusMultipleChoices {
		return a.body.Bytes(), nil
	}
	var refused struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(a.body.Bytes(), &refused) != nil || refused.Message == "" {
		refused.Message = fmt.Sprintf("the brokerage answered %d", a.status)
	}
	return nil, refusal(refused.Message)
}

// answer keeps what a handler answers.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the answer's headers.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader keeps the status.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write appends to the body.
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
