package wire

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"stockrewards/internal/broker/paper/apierror"
)

// actionFilter says which corporate actions to list.
type actionFilter struct {
	symbols, types, ids []string // empty: all
	start, end          string   // of the process date, inclusive
	after               string   // the last id of the previous page
	limit               int
	descending          bool
}

// getActions lists corporate actions as Alpaca's market data API does.
func (s *Server) getActions(r *http.Request) (any, error) {
	now := s.now()
	f, err := readActionFilter(r.URL.Query(), s.exchange.NewYork(now).Format(time.DateOnly))
	if err != nil {
		return nil, err
	}
	list, err := s.books.Actions(r.Context(), now)
	if err != nil {
		return nil, err
	}
	var all []notice
	for _, a := range list {
		listed, err := notices(a, now)
		if err != nil {
			return nil, err
		}
		all = append(all, listed...)
	}
	page, next, err := f.page(all)
	if err != nil {
		return nil, err
	}
	groups := make(map[string][]jsontext.Value)
	for _, n := range page {
		body, err := n.body()
		if err != nil {
			return nil, err
		}
		group := actionTypes()[n.kind].group
		groups[group] = append(groups[group], body)
	}
	return map[string]any{"corporate_actions": groups, "next_page_token": next}, nil
}

func readActionFilter(q url.Values, today string) (actionFilter, error) {
	const usual, limit = 100, 1_000
	f := actionFilter{
		symbols: readList(q, "symbols"), types: readList(q, "types"), ids: readList(q, "ids"),
		start: cmp.Or(q.Get("start"), today), end: cmp.Or(q.Get("end"), today),
		after: q.Get("page_token"), descending: q.Get("sort") == "desc",
	}
	for _, date := range []string{f.start, f.end} {
		if _, err := time.Parse(time.DateOnly, date); err != nil {
			return f, apierror.BadRequest("invalid date %q: must be YYYY-MM-DD", date)
		}
	}
	for _, kind := range f.types {
		if _, known := actionTypes()[kind]; !known && !slices.Contains(unsupportedTypes(), kind) {
			return f, apierror.BadRequest("invalid type %q", kind)
		}
	}
	if sort := q.Get("sort"); sort != "" && sort != "asc" && sort != "desc" {
		return f, apierror.BadRequest("invalid sort: must be asc or desc")
	}
	var valid bool
	if f.limit, valid = readLimit(q, "limit", usual, limit); !valid {
		return f, apierror.BadRequest("invalid limit: must be from 1 to %d", limit)
	}
	return f, nil
}

// unsupportedTypes are Alpaca's types that cannot be announced here.
func unsupportedTypes() []string {
	return []string{"unit_split", "redemption", "rights_distribution", "partial_call", "reorganization"}
}

// page returns a page of a list in order of announcement, and the token of the next page,
// nil after the last one.
func (f actionFilter) page(list []notice) ([]notice, *string, error) {
	list = slices.DeleteFunc(list, func(n notice) bool { return !f.matches(n) })
	slices.SortStableFunc(list, func(a, b notice) int { return cmp.Compare(a.processDate, b.processDate) })
	if f.descending {
		slices.Reverse(list)
	}
	if f.after != "" {
		i := slices.IndexFunc(list, func(n notice) bool { return n.id == f.after })
		if i < 0 {
			return nil, nil, apierror.BadRequest("invalid page_token")
		}
		list = list[i+1:]
	}
	if len(list) <= f.limit {
		return list, nil, nil
	}
	return list[:f.limit], &list[f.limit-1].id, nil
}

func (f actionFilter) matches(n notice) bool {
	if len(f.ids) > 0 {
		return slices.Contains(f.ids, n.id)
	}
	asked := func(symbol string) bool { return slices.Contains(f.symbols, symbol) }
	return n.processDate >= f.start && n.processDate <= f.end &&
		(len(f.types) == 0 || slices.Contains(f.types, n.kind)) &&
		(len(f.symbols) == 0 || slices.ContainsFunc(n.symbols(), asked))
}

// symbols returns all symbols of an announcement.
func (n announcement) symbols() []string {
	var symbols []string
	for name := range n {
		if strings.HasSuffix(name, memberSymbol) {
			symbols = append(symbols, n.str(name))
		}
	}
	return symbols
}

// getAnnounced lists all announcements as they were posted, with their type, state and faults.
func (s *Server) getAnnounced(r *http.Request) (any, error) {
	actions, err := s.books.Actions(r.Context(), s.now())
	if err != nil {
		return nil, err
	}
	list := make([]announcement, len(actions))
	for i, a := range actions {
		if err := json.Unmarshal([]byte(a.Body), &list[i]); err != nil {
			return nil, err
		}
		list[i][memberType], list[i]["status"] = quoted(a.Type), quoted(a.State)
		if len(a.Fates) > 0 {
			list[i]["faults"] = quoted(a.Fate())
		}
	}
	return list, nil
}

func quoted(s string) jsontext.Value {
	b, _ := jsontext.AppendQuote(nil, s) // fails only for invalid UTF-8
	return b
}
