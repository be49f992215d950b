package paper

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The limits of a list of corporate actions.
const (
	defaultActions = 100
	maxActions     = 1_000
)

// actionFilter says which corporate actions to list.
type actionFilter struct {
	symbols, types, ids []string // empty: all
	start, end          string   // of the process date, inclusive
	after               string   // the id that ended the page before
	limit               int
	descending          bool
}

// getActions lists announcements as Alpaca's market data API does.
func (b *Brokerage) getActions(r *http.Request) (any, error) {
	now := b.clock.micros()
	f, err := readActionFilter(r.URL.Query(), now.In(b.market.newYork).Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	list, err := b.actions(r, now)
	if err != nil {
		return nil, err
	}
	page, next, err := f.page(list)
	if err != nil {
		return nil, err
	}
	groups := make(map[string][]jsontext.Value)
	for _, a := range page {
		group := actionTypes()[a.kind].group
		groups[group] = append(groups[group], jsontext.Value(a.body))
	}
	return map[string]any{"corporate_actions": groups, "next_page_token": next}, nil
}

// actions are all in the books, up to date, in order of announcement.
func (b *Brokerage) actions(r *http.Request, now time.Time) ([]*action, error) {
	if err := b.progress(r.Context(), now); err != nil {
		return nil, err
	}
	return scanActions(b.books.reader.QueryContext(r.Context(), "SELECT "+actionColumns+" FROM actions ORDER BY seq"))
}

func readActionFilter(q url.Values, today string) (actionFilter, error) {
	f := actionFilter{
		symbols: listOf(q, "symbols"), types: listOf(q, "types"), ids: listOf(q, "ids"),
		start: cmp.Or(q.Get("start"), today), end: cmp.Or(q.Get("end"), today),
		after: q.Get("page_token"), limit: defaultActions, descending: q.Get("sort") == "desc",
	}
	for _, date := range []string{f.start, f.end} {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return f, badRequest("invalid date " + strconv.Quote(date) + ": must be YYYY-MM-DD")
		}
	}
	for _, kind := range f.types {
		if _, known := actionTypes()[kind]; !known && !slices.Contains(otherTypes(), kind) {
			return f, badRequest("invalid type " + strconv.Quote(kind))
		}
	}
	if sort := q.Get("sort"); sort != "" && sort != "asc" && sort != "desc" {
		return f, badRequest("invalid sort: must be asc or desc")
	}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxActions {
			return f, badRequest("invalid limit: must be from 1 to 1000")
		}
		f.limit = n
	}
	return f, nil
}

// otherTypes are types that Alpaca knows and that cannot be announced here.
func otherTypes() []string {
	return []string{"unit_split", "redemption", "rights_distribution", "partial_call", "reorganization"}
}

func listOf(q url.Values, name string) []string {
	if text := q.Get(name); text != "" {
		return strings.Split(text, ",")
	}
	return nil
}

// page is a page of the list, and what the next one is asked for with; nil when there
// is none.
func (f actionFilter) page(list []*action) ([]*action, *string, error) {
	list = slices.DeleteFunc(list, func(a *action) bool { return !f.wants(a) })
	slices.SortStableFunc(list, func(x, y *action) int {
		order := cmp.Or(cmp.Compare(x.processDate, y.processDate), cmp.Compare(x.seq, y.seq))
		if f.descending {
			return -order
		}
		return order
	})
	if f.after != "" {
		i := slices.IndexFunc(list, func(a *action) bool { return a.id == f.after })
		if i < 0 {
			return nil, nil, badRequest("invalid page_token")
		}
		list = list[i+1:]
	}
	if len(list) <= f.limit {
		return list, nil, nil
	}
	return list[:f.limit], &list[f.limit-1].id, nil
}

func (f actionFilter) wants(a *action) bool {
	if a.state == actionWithdrawn {
		return false
	}
	if len(f.ids) > 0 {
		return slices.Contains(f.ids, a.id)
	}
	named := func(symbol string) bool { return slices.Contains(f.symbols, symbol) }
	return a.processDate >= f.start && a.processDate <= f.end &&
		(len(f.types) == 0 || slices.Contains(f.types, a.kind)) &&
		(len(f.symbols) == 0 || slices.ContainsFunc(a.symbols(), named))
}

// symbols are all that the announcement names.
func (a *action) symbols() []string {
	var n notice
	if json.Unmarshal([]byte(a.body), &n) != nil {
		return []string{a.symbol}
	}
	var symbols []string
	for name := range n {
		if strings.HasSuffix(name, memberSymbol) {
			symbols = append(symbols, n.text(name))
		}
	}
	return symbols
}

// getAnnounced lists what was announced, with its type and state.
func (b *Brokerage) getAnnounced(r *http.Request) (any, error) {
	list, err := b.actions(r, b.clock.micros())
	if err != nil {
		return nil, err
	}
	wire := make([]notice, len(list))
	for i, a := range list {
		if err := json.Unmarshal([]byte(a.body), &wire[i]); err != nil {
			return nil, err
		}
		wire[i][memberType], wire[i]["status"] = quoted(a.kind), quoted(a.state)
	}
	return wire, nil
}

func quoted(text string) jsontext.Value {
	b, _ := jsontext.AppendQuote(nil, text) // the words of this package
	return b
}
