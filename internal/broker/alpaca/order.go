package alpaca

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"stockrewards/internal/rewards"
)

const (
	ordersPerPage = 500   // the broker's maximum
	maxOrderPages = 1_000 // half a million orders

	// pageOverlap is how far a page reaches back into the one before, so that orders of one
	// instant are not lost. A microsecond also covers a broker that stores microseconds and
	// reports nanoseconds.
	pageOverlap = time.Microsecond
)

// Submit places a market order, good for the day, to buy for the notional. After BrokerUnknown the
// broker may have the order. Sending the same client order id again is safe: a second copy fails
// with BrokerDuplicate.
func (c *Client) Submit(ctx context.Context, r rewards.OrderRequest) (rewards.BrokerOrder, error) {
	body, err := json.Marshal(struct {
		Symbol        string `json:"symbol"`
		Notional      string `json:"notional"`
		Side          string `json:"side"`
		Type          string `json:"type"`
		TimeInForce   string `json:"time_in_force"`
		ClientOrderID string `json:"client_order_id"`
	}{r.Symbol, r.Notional.String(), "buy", "market", "day", r.ClientOrderID})
	if err != nil {
		return rewards.BrokerOrder{}, &rewards.BrokerError{
			Kind: rewards.BrokerRefused, Code: codeOrderRefused, Message: "cannot write it as JSON", Err: err,
		}
	}
	return ask(ctx, c, call{
		operation: opSubmit, host: c.trading, method: http.MethodPost, path: "/v2/orders", body: body, submit: true,
	}, object(c.oneOrder(r.ClientOrderID)))
}

// OrderByClientID reads an order by its client order id. BrokerNotFound does not prove that it will
// never appear.
func (c *Client) OrderByClientID(ctx context.Context, clientOrderID string) (rewards.BrokerOrder, error) {
	return ask(ctx, c, call{
		operation: opOrder, host: c.trading, path: "/v2/orders:by_client_order_id",
		query: url.Values{"client_order_id": {clientOrderID}},
	}, object(c.oneOrder(clientOrderID)))
}

// OrderByID reads an order by the broker's id, whoever placed it in the account. It fails with BrokerNotFound without a
// request for what cannot be an id.
func (c *Client) OrderByID(ctx context.Context, id string) (rewards.BrokerOrder, error) {
	if _, err := uuid.Parse(id); err != nil {
		return rewards.BrokerOrder{}, &rewards.BrokerError{Kind: rewards.BrokerNotFound, Message: err.Error()}
	}
	return ask(ctx, c, call{
		operation: opOrder, host: c.trading, path: "/v2/orders/" + url.PathEscape(id),
	}, object(c.matching(func(o rewards.BrokerOrder) bool { return o.ID == id }, "id")))
}

// oneOrder returns a reader of an answer about the order with that client order id.
func (c *Client) oneOrder(clientOrderID string) func(wireOrder) (rewards.BrokerOrder, error) {
	return c.matching(func(o rewards.BrokerOrder) bool { return o.ClientOrderID == clientOrderID }, "client_order_id")
}

// matching returns a reader of an answer that fails unless is accepts the order; member names what that compares.
func (c *Client) matching(
	is func(rewards.BrokerOrder) bool, member string,
) func(wireOrder) (rewards.BrokerOrder, error) {
	return func(w wireOrder) (rewards.BrokerOrder, error) {
		o, err := c.readOrder(w)
		if err == nil && !is(o) {
			err = errors.New("another " + member)
		}
		if err != nil {
			return rewards.BrokerOrder{}, err
		}
		return o, nil
	}
}

// Orders lists all orders, open and closed, submitted after an instant (zero: ever), in order of
// submission and each once. It reads all pages, and calls between (nil: nothing) before each one but the first: many
// pages take longer than a lease. An error of it ends the list.
func (c *Client) Orders(
	ctx context.Context, after time.Time, between func(context.Context) error,
) ([]rewards.BrokerOrder, error) {
	var all []rewards.BrokerOrder
	seen := make(map[string]bool)
	for n := range c.maxPages {
		if n > 0 && between != nil {
			if err := between(ctx); err != nil {
				return nil, err
			}
		}
		page, err := c.orderPage(ctx, after)
		if err != nil {
			return nil, err
		}
		known := len(all)
		for _, o := range page {
			if key := o.ID + " " + o.ClientOrderID; !seen[key] {
				seen[key] = true
				all = append(all, o)
			}
		}
		if len(page) < ordersPerPage {
			return all, nil
		}
		if len(all) == known {
			return nil, c.unreadable(opOrders, errors.New("a page without a new order"))
		}
		if after, err = nextPageAfter(page); err != nil {
			return nil, c.unreadable(opOrders, err)
		}
	}
	return nil, c.unreadable(opOrders, errors.New("more than "+strconv.Itoa(c.maxPages)+" pages"))
}

func (c *Client) orderPage(ctx context.Context, after time.Time) ([]rewards.BrokerOrder, error) {
	query := url.Values{
		"status": {"all"}, "direction": {"asc"}, "limit": {strconv.Itoa(ordersPerPage)}, "nested": {"false"},
	}
	if !after.IsZero() {
		query.Set("after", after.UTC().Format(time.RFC3339Nano))
	}
	return ask(ctx, c, call{
		operation: opOrders, host: c.trading, path: "/v2/orders", query: query, maxBody: maxPageBody,
	}, list(ordersPerPage, c.readOrders))
}

// readOrders reads the entries of a list of orders. One that cannot be read has a Problem. It keeps its client order id
// if possible, because an order with our prefix must not go unnoticed.
func (c *Client) readOrders(raw []jsontext.Value) ([]rewards.BrokerOrder, error) {
	page := make([]rewards.BrokerOrder, len(raw))
	for i, value := range raw {
		var w wireOrder
		err := decode(value, &w)
		if err == nil {
			page[i], err = c.readOrder(w)
		} else {
			page[i].ClientOrderID = c.clean(laxly(value))
		}
		if err != nil && page[i].Problem == "" {
			page[i].Problem = c.clean("order: " + err.Error())
		}
	}
	return page, nil
}

// laxly returns the client order id of an order that cannot be decoded; "" if it has none.
func laxly(value jsontext.Value) string {
	var w struct {
		ClientOrderID string `json:"client_order_id"`
	}
	if json.Unmarshal(value, &w, lax()) != nil {
		return ""
	}
	return w.ClientOrderID
}

// nextPageAfter returns the instant after which the next page begins.
func nextPageAfter(page []rewards.BrokerOrder) (time.Time, error) {
	var newest time.Time
	for _, o := range page {
		if o.SubmittedAt.After(newest) {
			newest = o.SubmittedAt
		}
	}
	if newest.IsZero() {
		return newest, errors.New("a page without a time of submission")
	}
	return newest.Add(-pageOverlap), nil
}

// wireOrder is an order in Alpaca's JSON, as far as the service needs it.
type wireOrder struct {
	ID             string `json:"id"`
	ClientOrderID  string `json:"client_order_id"`
	AssetID        string `json:"asset_id"`
	Symbol         string `json:"symbol"`
	Side           string `json:"side"`
	Status         string `json:"status"`
	Notional       number `json:"notional"`
	FilledQty      number `json:"filled_qty"`
	FilledAvgPrice number `json:"filled_avg_price"`
	SubmittedAt    string `json:"submitted_at"`
	FilledAt       string `json:"filled_at"`
}

// readOrder reads one order. It fails when the value is no order; an unreadable quantity only sets
// Problem.
func (c *Client) readOrder(w wireOrder) (rewards.BrokerOrder, error) {
	o := rewards.BrokerOrder{
		ID: c.clean(w.ID), ClientOrderID: c.clean(w.ClientOrderID), // they are shown in logs and alarms
		AssetID: c.clean(w.AssetID), Symbol: c.clean(w.Symbol), Side: c.clean(w.Side), Status: c.clean(w.Status),
	}
	var problem error
	note := func(member string, err error) {
		if err != nil && problem == nil {
			problem = errors.New(member + ": " + err.Error())
		}
	}
	var err error
	if w.Notional != "" { // an order by quantity has none
		o.Notional, err = w.Notional.usd()
		note("notional", err)
	}
	o.FilledQty, err = w.FilledQty.shares()
	note("filled_qty", err)
	if w.FilledAvgPrice != "" { // null until something is filled
		o.FilledAvgPrice, err = w.FilledAvgPrice.price()
		note("filled_avg_price", err)
	}
	o.SubmittedAt, err = instant(w.SubmittedAt)
	note("submitted_at", err)
	o.FilledAt, err = instant(w.FilledAt)
	note("filled_at", err)
	if problem != nil {
		o.Problem = problem.Error()
	}
	if o.ID == "" || o.ClientOrderID == "" || o.Symbol == "" || o.Status == "" {
		return o, errors.New("missing id, client_order_id, symbol or status")
	}
	return o, nil
}
