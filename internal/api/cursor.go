package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"

	"stockrewards/internal/rewards"
)

// cursors makes and reads the marks of places in lists. A cursor is the id of the
// last item given and a code that proves that we issued it for this list.
type cursors struct{ key []byte }

const (
	idBytes   = 16
	codeBytes = 12
)

// code authenticates a place in the list of that name, app and filters.
func (c cursors) code(list string, app rewards.AppID, filters url.Values, id []byte) []byte {
	mac := hmac.New(sha256.New, c.key)
	mac.Write(app[:])
	mac.Write(id)
	mac.Write([]byte(list + "?" + filters.Encode()))
	return mac.Sum(nil)[:codeBytes]
}

// filtersOf are the parameters that a cursor is bound to: all but itself and limit.
func filtersOf(values url.Values, names ...string) url.Values {
	filters := make(url.Values, len(names))
	for _, name := range names {
		if v, ok := values[name]; ok {
			filters[name] = v
		}
	}
	return filters
}

// page reads the parameters of a place in a list.
func page[T any](s *server, c call, q *query, filters url.Values) rewards.Page[T] {
	p := rewards.Page[T]{Limit: q.limit()}
	text, ok := q.one("cursor")
	if !ok {
		return p
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != idBytes+codeBytes || strings.ContainsAny(text, "\r\n") || // which it skips
		!hmac.Equal(raw[idBytes:], s.cursors.code(c.URL.Path, c.app, filters, raw[:idBytes])) {
		q.issue("cursor", "is not a cursor of this list")
		return p
	}
	copy(p.Before[:], raw)
	return p
}

// next is the Link header that leads to the page after the one that ends with the
// id (RFC 8288), with a target relative to the request.
func next[T any](s *server, c call, filters url.Values, last rewards.ID[T], limit int) string {
	target := make(url.Values, len(filters)+2)
	for name, values := range filters {
		target[name] = values
	}
	code := s.cursors.code(c.URL.Path, c.app, filters, last[:])
	target.Set("cursor", base64.RawURLEncoding.EncodeToString(append(last[:], code...)))
	target.Set("limit", strconv.Itoa(limit))
	return "<" + c.URL.Path + "?" + target.Encode() + `>; rel="next"`
}
