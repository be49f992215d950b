package api

import (
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"stockrewards/internal/rewards"
)

// The limits of a list.
const (
	defaultLimit = 100
	maxLimit     = 200
)

// query is the parameters of a request under inspection.
type query struct {
	values url.Values
	form   // collects the issues
}

func (c call) query() *query {
	values, err := url.ParseQuery(c.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.issue("", "the query string is malformed")
	}
	return q
}

// one finds a parameter that may be given once.
func (q *query) one(name string) (string, bool) {
	given := q.values[name]
	if len(given) > 1 {
		q.issue(name, "is given more than once")
		return "", false
	}
	if len(given) == 0 {
		return "", false
	}
	return given[0], true
}

// text reads a parameter that must not be empty.
func (q *query) text(name string) string {
	value, ok := q.one(name)
	switch {
	case ok && value == "":
		q.issue(name, "must not be empty")
	case !utf8.ValidString(value) || strings.ContainsRune(value, 0):
		q.issue(name, "must be text without a NUL character")
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

// userID is nil when the parameter is not given.
func (q *query) userID(name string) *rewards.UserID {
	value, ok := q.one(name)
	if !ok {
		return nil
	}
	id, err := rewards.ParseID[rewards.User](value)
	if err != nil {
		q.issue(name, err.Error())
	}
	return &id
}

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

// pathID reads an id of the path.
func pathID[T any](c call, name string) (rewards.ID[T], error) {
	id, err := rewards.ParseID[T](c.PathValue(name))
	if err != nil {
		return id, badRequest(rewards.Issue{Path: name, Message: err.Error()})
	}
	return id, nil
}
