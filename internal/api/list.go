package api

import (
	"net/http"
	"net/url"
	"strconv"

	"stockrewards/internal/rewards"
)

// listing is a list of the app's items.
type listing[T any] struct {
	name   string                                     // the member of the body
	read   func(place []byte, limit int) ([]T, error) // what comes after a place; nil: from the first
	place  func(T) []byte                             // of an item in the list, for a cursor
	append func([]byte, T) []byte
}

// pageOf returns the page after the item with the id that is the place.
func pageOf[T any](place []byte, limit int) rewards.Page[T] {
	page := rewards.Page[T]{Limit: limit}
	copy(page.Before[:], place)
	return page
}

// nextLink is the Link header (RFC 8288) of the next page, relative to the request.
func (c call) nextLink(q url.Values) string {
	return "<" + (&url.URL{Path: c.URL.Path}).EscapedPath() + "?" + q.Encode() + `>; rel="next"`
}

// reply returns the page that the query asks for. A Link header names the next page, if there is one.
func (l listing[T]) reply(s *server, c call, q *query) (reply, error) {
	limit := q.limit()
	var place []byte
	if cursor, ok := q.one("cursor"); ok {
		if place, ok = s.decodeCursor(c, q, cursor); !ok {
			q.issue("cursor", "is not a cursor of this list")
		}
	}
	if err := q.err(); err != nil {
		return reply{}, err
	}
	items, err := l.read(place, limit+1) // the extra item shows that there is a next page
	if err != nil {
		return reply{}, err
	}
	var link string
	if len(items) > limit {
		items = items[:limit]
		next := q.filters()
		next.Set("cursor", s.encodeCursor(c, q, l.place(items[limit-1])))
		next.Set("limit", strconv.Itoa(limit))
		link = c.nextLink(next)
	}
	o := s.begin()
	appendList(&o, l.name, items, l.append)
	r := o.reply(http.StatusOK)
	r.link = link
	return r, nil
}
