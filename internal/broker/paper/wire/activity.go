package wire

import (
	"net/http"
	"net/url"
	"time"

	"stockrewards/internal/broker/paper/apierror"
	"stockrewards/internal/broker/paper/books"
	"stockrewards/internal/broker/paper/exchange"
)

func (s *Server) getActivities(r *http.Request) (any, error) {
	f, err := readActivityFilter(r.URL.Query(), r.PathValue("type"))
	if err != nil {
		return nil, err
	}
	return s.books.Activities(r.Context(), f, s.now())
}

// readActivityFilter reads a query for the activities of one type, or of all when it is
// empty.
func readActivityFilter(q url.Values, kind string) (books.ActivityFilter, error) {
	const limit = 100 // of a page, and the default
	f := books.ActivityFilter{
		Types: readList(q, "activity_types"), Token: q.Get("page_token"), Descending: q.Get("direction") != "asc",
	}
	if kind != "" {
		f.Types = []string{kind}
	}
	switch category := q.Get("category"); {
	case category != "" && len(f.Types) > 0:
		return f, apierror.Unprocessable("only one of category and activity_types is accepted")
	case category == "trade_activity":
		f.Types = []string{books.ActivityFill}
	case category == "non_trade_activity":
		f.Types = books.NonTrades()
	case category != "":
		return f, apierror.Unprocessable("invalid category %q", category)
	}
	var valid bool
	if f.Limit, valid = readLimit(q, "page_size", limit, limit); !valid {
		return f, apierror.Unprocessable("invalid page_size: must be from 1 to %d", limit)
	}
	var err error
	if f.After, err = readTime(q, "after"); err != nil {
		return f, err
	}
	if f.Until, err = readTime(q, "until"); err != nil {
		return f, err
	}
	day, err := readTime(q, "date")
	if err == nil && !day.IsZero() {
		f.After, f.Until = day.Add(-time.Microsecond), exchange.NextDay(day)
	}
	return f, err
}
