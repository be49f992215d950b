package alpaca

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// actionsPage is the number of announcements in a page, Alpaca's maximum.
const actionsPage = 1_000

// Announcements reads a page of the corporate actions of all stocks with a process date from one
// day to another, both included. token is "" for the first page, then next of the page before;
// next is "" on the last page. Rates keep their digits. It fails with BrokerNotFound when the
// broker does not offer announcements.
func (c *Client) Announcements(
	ctx context.Context, from, to rewards.Date, token string,
) (page []rewards.Announcement, next string, err error) {
	query := url.Values{
		"start": {string(from)}, "end": {string(to)}, "limit": {strconv.Itoa(actionsPage)}, "sort": {"asc"},
	}
	if token != "" {
		query.Set("page_token", token)
	}
	p, err := ask(ctx, c, call{
		operation: opActions, host: c.data, path: "/v1/corporate-actions", query: query, maxBody: maxPageBody,
		optional: true,
	}, object(c.readActions))
	if err == nil && p.next == token && token != "" {
		err = c.unreadable(opActions, errors.New("the next page is the same page"))
	}
	return p.list, p.next, err
}

type actionPage struct {
	list []rewards.Announcement
	next string
}

type wireActions struct {
	Groups map[string]actionGroup `json:"corporate_actions"`
	Next   string                 `json:"next_page_token"` // null on the last page
}

// actionGroup are the announcements of one type, at most a page of them.
type actionGroup []jsontext.Value

// UnmarshalJSONFrom reads a list.
func (g *actionGroup) UnmarshalJSONFrom(d *jsontext.Decoder) (err error) {
	*g, err = entries(d, actionsPage)
	return err
}

func (c *Client) readActions(w wireActions) (actionPage, error) {
	if w.Groups == nil {
		return actionPage{}, errMissing
	}
	p := actionPage{next: w.Next}
	for group, values := range w.Groups {
		if len(p.list)+len(values) > actionsPage {
			return actionPage{}, tooMany(actionsPage)
		}
		for _, value := range values {
			a, err := c.readAction(strings.TrimSuffix(group, "s"), value)
			if err != nil {
				return actionPage{}, err
			}
			p.list = append(p.list, a)
		}
	}
	slices.SortFunc(p.list, func(a, b rewards.Announcement) int { return strings.Compare(a.ID, b.ID) })
	return p, nil
}

// readAction reads an announcement. Members differ by type, and new types may come: of several
// names for one fact the first that is present counts.
func (c *Client) readAction(kind string, value jsontext.Value) (rewards.Announcement, error) {
	m, err := c.members(value)
	if err != nil {
		return rewards.Announcement{}, err
	}
	a := rewards.Announcement{
		ID: m.text("id"), ProcessDate: rewards.Date(m.text("process_date")),
		Terms: rewards.Terms{
			Type:      rewards.ActionType(c.clean(kind)),
			Symbol:    m.text("symbol", "old_symbol", "source_symbol", "acquiree_symbol"),
			NewSymbol: m.text("new_symbol", "acquirer_symbol"),
			OldRate:   m.rate("old_rate", "source_rate", "acquiree_rate"),
			NewRate:   m.rate("new_rate", "acquirer_rate"),
			Rate:      m.rate("rate", "cash_rate"),
			ExDate:    rewards.Date(m.text("ex_date", "effective_date", "process_date")),
			PayDate:   rewards.Date(m.text("payable_date")),
		},
	}
	if legs := m.list("stock_movements"); len(legs) == 1 { // of a reorganization; terms have room for one
		a.NewSymbol = legs[0].text("symbol")
		a.OldRate, a.NewRate = legs[0].rate("source_rate"), legs[0].rate("new_rate")
	}
	if err := value.Format(jsontext.ReorderRawObjects(true)); err != nil { // bodies are compared: order must not matter
		return a, err
	}
	a.Body = c.scrub(string(value))
	if !readableID(a.ID) {
		return a, errors.New("no readable id of a corporate action")
	}
	return a, nil
}

// maxID bounds the identifier of an announcement or an activity, in bytes.
const maxID = 100

// readableID reports whether a cleaned string identifies something.
func readableID(id string) bool {
	return id != "" && len(id) <= maxID && !strings.Contains(id, " ") // clean leaves spaces
}

// unreadableRate stands for a rate that is not a number.
const unreadableRate = "?"

// members are those of a JSON object, by name.
type members struct {
	values map[string]jsontext.Value
	clean  func(string) string
}

func (c *Client) members(value jsontext.Value) (members, error) {
	m := members{clean: c.clean}
	err := decode(value, &m.values)
	return m, err
}

// text returns the first of these members that is a string and not empty.
func (m members) text(names ...string) string {
	for _, name := range names {
		if m.values[name].Kind() != jsontext.KindString {
			continue
		}
		if text, err := jsontext.AppendUnquote(nil, m.values[name]); err == nil && len(text) > 0 {
			return m.clean(string(text))
		}
	}
	return ""
}

// rate returns the first of these members that is present, with its digits as written, or
// unreadableRate.
func (m members) rate(names ...string) string {
	for _, name := range names {
		n := m.number(name)
		if n == "" {
			continue
		}
		if _, err := money.ParseDecimal(string(n)); err != nil {
			return unreadableRate
		}
		return string(n)
	}
	return ""
}

// number returns a member that is a number or a string; "" if it is missing or null.
func (m members) number(name string) (n number) {
	if value, exists := m.values[name]; exists && n.UnmarshalJSON(value) != nil {
		return unreadableRate
	}
	return n
}

// list returns a member that is a list of objects; nil if it is not.
func (m members) list(name string) []members {
	var objects []map[string]jsontext.Value
	if decode(m.values[name], &objects) != nil {
		return nil
	}
	legs := make([]members, len(objects))
	for i, values := range objects {
		legs[i] = members{values, m.clean}
	}
	return legs
}

// Sessions lists the market's days from one day to another, both included, in order.
func (c *Client) Sessions(ctx context.Context, from, to rewards.Date) ([]rewards.Date, error) {
	return ask(ctx, c, call{
		operation: opCalendar, host: c.trading, path: "/v2/calendar",
		query: url.Values{"start": {string(from)}, "end": {string(to)}},
	}, object(readCalendar))
}

type wireDay struct {
	Date rewards.Date `json:"date"`
}

func readCalendar(days []wireDay) ([]rewards.Date, error) {
	list := make([]rewards.Date, len(days))
	for i, day := range days {
		if !day.Date.Valid() {
			return nil, errors.New("invalid date")
		}
		list[i] = day.Date
	}
	slices.Sort(list)
	return list, nil
}
