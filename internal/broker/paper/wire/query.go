package wire

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"stockrewards/internal/broker/paper/apierror"
)

// readTime reads a parameter that is a time or a date, zero when it is missing.
func readTime(q url.Values, name string) (time.Time, error) {
	value := q.Get(name)
	if value == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, value); err == nil {
			return t, nil
		}
	}
	return time.Time{}, apierror.Unprocessable("invalid %s %q", name, value)
}

// readLimit reads a parameter that is a number from 1 to a limit. It returns the default
// when it is missing, and false when it is invalid.
func readLimit(q url.Values, name string, usual, limit int) (int, bool) {
	value := q.Get(name)
	if value == "" {
		return usual, true
	}
	n, err := strconv.Atoi(value)
	return n, err == nil && n >= 1 && n <= limit
}

// readList reads a parameter that is a list with commas, nil when it is missing.
func readList(q url.Values, name string) []string {
	if value := q.Get(name); value != "" {
		return strings.Split(value, ",")
	}
	return nil
}

func timestamp(t time.Time) string { return t.Format(time.RFC3339Nano) }

// optionalTimestamp returns nil for the zero time.
func optionalTimestamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(timestamp(t))
}

// optionalQuantity returns nil for zero.
func optionalQuantity[Q interface {
	~int64
	String() string
}](q Q) *string {
	if q == 0 {
		return nil
	}
	return new(q.String())
}
