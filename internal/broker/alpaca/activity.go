package alpaca

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const (
	activitiesPage = 100    // the broker's maximum
	activityFill   = "FILL" // the type of the fills of orders
)

// Activities reads a page of the account's activities of a category, or of all types when it is empty, in order of
// time. after is when the broker created them (zero: ever), rounded down to a second, so that activities of that
// second may come again. An activity's id does not show when it was created: an entry of today may
// have a date of last week.
// token is "" for the first page, then next of the page before; next is "" on the last page. It
// fails with BrokerNotFound when the broker does not offer activities.
func (c *Client) Activities(
	ctx context.Context, category rewards.ActivityCategory, after time.Time, token string,
) (page []rewards.Activity, next string, err error) {
	query := url.Values{"direction": {"asc"}, "page_size": {strconv.Itoa(activitiesPage)}}
	if category != "" {
		query.Set("category", string(category))
	}
	if !after.IsZero() {
		query.Set("after", after.UTC().Format(time.RFC3339)) // fractions of a second are not documented
	}
	if token != "" {
		query.Set("page_token", token)
	}
	page, err = ask(ctx, c, call{
		operation: opActivities, host: c.trading, path: "/v2/account/activities", query: query, optional: true,
	}, list(activitiesPage, c.readActivities))
	if err == nil && len(page) >= activitiesPage {
		next = page[len(page)-1].ID
	}
	if next != "" && next == token {
		return nil, "", c.unreadable(opActivities, errors.New("the next page is the same page"))
	}
	return page, next, err
}

func (c *Client) readActivities(raw []jsontext.Value) ([]rewards.Activity, error) {
	page := make([]rewards.Activity, len(raw))
	for i, value := range raw {
		var err error
		if page[i], err = c.readActivity(value); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// readActivity reads one activity of any type. It fails only for an activity without a readable
// id; an unreadable quantity or date only sets Problem.
func (c *Client) readActivity(value jsontext.Value) (rewards.Activity, error) {
	m, err := c.members(value)
	if err != nil {
		return rewards.Activity{}, err
	}
	a := rewards.Activity{
		ID: m.text("id"), Type: m.text("activity_type"), SubType: m.text("activity_sub_type", "type"),
		Status: m.text("status"), GroupID: m.text("group_id"), Previous: m.text("previous_id"),
		OrderID: m.text("order_id"), Symbol: m.text("symbol"),
	}
	if !readableID(a.ID) {
		return a, errors.New("no readable id of an activity")
	}
	if problem := m.measure(&a); problem != nil {
		a.Problem = problem.Error()
	}
	if err := value.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return a, err
	}
	a.Body = c.scrub(string(value))
	return a, nil
}

// measure reads the quantities and times of an activity. It returns the first problem.
func (m members) measure(a *rewards.Activity) (problem error) {
	note := func(member string, err error) {
		if err != nil && problem == nil {
			problem = errors.New(member + ": " + err.Error())
		}
	}
	var err error
	a.Qty, err = quantity(m, "qty", money.ParseShares)
	note("qty", err)
	if price := m.number("price"); price != "" {
		a.Price, err = price.price()
		note("price", err)
	}
	a.Net, err = quantity(m, "net_amount", money.ParseUSDDown)
	note("net_amount", err)
	if currency := m.text("currency"); currency != "" && currency != "USD" {
		a.Net = 0
		note("currency", errors.New("not USD"))
	}
	if a.PerShare = m.rate("per_share_amount"); a.PerShare == unreadableRate {
		a.PerShare = ""
		note("per_share_amount", money.ErrSyntax)
	}
	a.CreatedAt, err = instant(m.text("transaction_time", "created_at"))
	note("time", err)
	day, _, _ := strings.Cut(m.text("date"), "T") // a day, or its midnight
	if a.Date = rewards.Date(day); day != "" && !a.Date.Valid() {
		a.Date = ""
		note("date", errors.New("not a date"))
	}
	if a.Type == activityFill {
		a.CumQty, err = m.number("cum_qty").shares() // without it a fill would take back all shares
		note("cum_qty", err)
		if a.OrderID == "" {
			note("order_id", errMissing)
		}
		if strings.HasPrefix(m.text("side"), "sell") {
			a.Qty = -a.Qty
		}
	}
	return problem
}

// quantity reads a member that is a number; it is 0 if the member is missing, null or empty.
func quantity[Q ~int64](m members, name string, parse func(string) (Q, error)) (Q, error) {
	n := m.number(name)
	if n == "" {
		return 0, nil
	}
	q, err := parse(string(n))
	if err != nil {
		return 0, err
	}
	return q, nil
}
