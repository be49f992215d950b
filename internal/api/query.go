package api

import (
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"stockrewards/internal/rewards"
)

// The limits of a list.
const (
	defaultLimit = 100
	maxLimit     = 200
)

// query checks the parameters of a list.
type query struct {
	form // collects the issues

	values url.Values
	names  []string          // of the filters
	ids    map[string]string // those that were read, as the service writes them
}

// query parses the parameters of a request for a list with these filters.
func (c call) query(filters ...string) *query {
	values, err := url.ParseQuery(c.URL.RawQuery)
	q := &query{values: values, names: filters}
	if err != nil {
		q.issue("", "the query string is malformed")
	}
	return q
}

// filters returns a copy of the filters that were given.
func (q *query) filters() url.Values {
	given := make(url.Values, len(q.names)+2) //nolint:mnd // a cursor and a limit
	for _, name := range q.names {
		if v, ok := q.values[name]; ok {
			given[name] = v
		}
	}
	return given
}

// meant is filters, with ids as the service writes them.
func (q *query) meant() url.Values {
	given := q.filters()
	for name, id := range q.ids {
		given.Set(name, id)
	}
	return given
}

// one reads a parameter that may be given at most once.
func (q *query) one(name string) (string, bool) {
	given := q.values[name]
	if len(given) > 1 {
		q.issue(name, "is given more than once")
	}
	if len(given) != 1 {
		return "", false
	}
	return given[0], true
}

// string reads an optional parameter that must not be empty.
func (q *query) string(name string) string {
	value, ok := q.one(name)
	switch {
	case ok && value == "":
		q.issue(name, "must not be empty")
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		q.issue(name, "must be UTF-8 without a NUL character")
	}
	return value
}

func (q *query) limit() int {
	value, ok := q.one("limit")
	if !ok {
		return defaultLimit
	}
	n := 0
	for i := range len(value) {
		if value[i] < '0' || value[i] > '9' {
			n = 0
			break
		}
		n = min(n*10+int(value[i]-'0'), maxLimit+1)
	}
	if n < 1 || n > maxLimit {
		q.issue("limit", "must be an integer from 1 to "+strconv.Itoa(maxLimit))
	}
	return n
}

// optionalID reads an optional id; nil means not given.
func optionalID[T any](q *query, name string) *rewards.ID[T] {
	value, ok := q.one(name)
	if !ok {
		return nil
	}
	id, err := rewards.ParseID[T](value)
	if err != nil {
		q.issue(name, err.Error())
	}
	if q.ids == nil {
		q.ids = make(map[string]string)
	}
	q.ids[name] = id.String()
	return &id
}

// status reads an optional status; 0 means not given.
func (q *query) status(name string) rewards.Status {
	value, ok := q.one(name)
	if !ok {
		return 0
	}
	status, known := rewards.ParseStatus(value)
	if !known {
		q.issue(name, "must be one of recorded, executing, executed, failed")
	}
	return status
}

// idempotencyKey reads an optional key; "" means not given.
func (q *query) idempotencyKey(name string) string {
	key := q.string(name)
	n := utf8.RuneCountInString(key)
	if key != "" && (n < rewards.MinIdempotencyKey || n > rewards.MaxIdempotencyKey) {
		q.issue(name, "must have "+strconv.Itoa(rewards.MinIdempotencyKey)+" to "+
			strconv.Itoa(rewards.MaxIdempotencyKey)+" characters")
	}
	return key
}

// soundOffset reports whether the offset from UTC at the end of a date-time has at most 23 hours and 59 minutes.
func soundOffset(moment string) bool {
	const offset = "hh:mm"
	hours, minutes, found := strings.Cut(moment[max(0, len(moment)-len(offset)):], ":")
	return strings.HasSuffix(moment, "Z") || found && hours <= "23" && minutes <= "59"
}

// moment reads an optional date-time of RFC 3339; nil means not given. It compares with
// milliseconds as the exact time does.
func (q *query) moment(name string) *time.Time {
	value, ok := q.one(name)
	if !ok {
		return nil
	}
	const seconds = "2006-01-02T15:04:05"
	t, err := time.Parse(time.RFC3339, value)
	// Go also reads an hour of one digit, a comma, and offsets of 24 hours and of 60 minutes.
	sound := err == nil && strings.HasPrefix(value, t.Format(seconds)) && !strings.Contains(value, ",")
	if !sound || !soundOffset(value) {
		q.issue(name, `must be a date-time such as 2026-03-02T09:30:00.125Z; a "+" is written as %2B`)
		return nil
	}
	const milliseconds = 3 // digits
	_, rest, _ := strings.Cut(value, ".")
	digits := rest[:max(0, strings.IndexAny(rest, "Z+-"))]
	if len(digits) > milliseconds && strings.Trim(digits[milliseconds:], "0") != "" {
		t = t.Truncate(time.Millisecond).Add(time.Nanosecond) // Go drops digits beyond nanoseconds
	}
	return &t
}

// pathID reads an id in the path.
func pathID[T any](c call, name string) (rewards.ID[T], error) {
	id, err := rewards.ParseID[T](c.parameter)
	if err != nil {
		return id, badRequest(rewards.Issue{Path: name, Message: err.Error()})
	}
	return id, nil
}
