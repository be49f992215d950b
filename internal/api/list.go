package api

import (
	"net/http"
	"strconv"

	"stockrewards/internal/rewards"
)

// listing is a list of the app's items, newest first.
type listing[T any] struct {
	name   string // the member of the body
	read   func(rewards.Page[T]) ([]T, error)
	id     func(T) rewards.ID[T]
	append func([]byte, T) []byte
}

// reply returns the page that the query asks for. A Link header (RFC 8288) names the
// next page, if there is one, relative to the request.
func (l listing[T]) reply(s *server, c call, q *query) (reply, error) {
	limit := q.limit()
	page := rewards.Page[T]{Limit: limit + 1} // the extra item shows that there is a next page
	if cursor, ok := q.one("cursor"); ok {
		if page.Before, ok = decodeCursor[T](s, c, q, cursor); !ok {
			q.issue("cursor", "is not a cursor of this list")
		}
	}
	if err := q.err(); err != nil {
		return reply{}, err
	}
	items, err := l.read(page)
	if err != nil {
		return reply{}, err
	}
	r := reply{status: http.StatusOK}
	if len(items) > limit {
		items = items[:limit]
		next := q.filters()
		next.Set("cursor", encodeCursor(s, c, q, l.id(items[limit-1])))
		next.Set("limit", strconv.Itoa(limit))
		r.link = "<" + c.URL.Path + "?" + next.Encode() + `>; rel="next"`
	}
	o := begin(nil)
	appendList(&o, l.name, items, l.append)
	r.body = o.end()
	return r, nil
}
