package rewards

import (
	"fmt"
	"time"
)

// Limits limit the requests of one app in one process. Zero means the default.
type Limits struct {
	RequestsPerSecond int // also the largest burst; 0: no limit
	Concurrent        int // requests in progress; 0: DefaultConcurrent
}

// The default and the ranges of the limits.
const (
	DefaultConcurrent    = 2_000 // DefaultConcurrent is far more than an app needs.
	MaxRequestsPerSecond = 1_000_000
	MaxConcurrent        = 100_000
)

// Check fails when a limit is out of range.
func (l Limits) Check() error {
	if l.RequestsPerSecond < 0 || l.RequestsPerSecond > MaxRequestsPerSecond {
		return fmt.Errorf("the limit of requests per second must be 1 to %d, or 0 for no limit", MaxRequestsPerSecond)
	}
	if l.Concurrent < 0 || l.Concurrent > MaxConcurrent {
		return fmt.Errorf("the limit of concurrent requests must be 1 to %d, or 0 for the default of %d",
			MaxConcurrent, DefaultConcurrent)
	}
	return nil
}

// AtOnce returns the most requests that may be in progress.
func (l Limits) AtOnce() int {
	if l.Concurrent == 0 {
		return DefaultConcurrent
	}
	return l.Concurrent
}

// Exceeded is the cause of a CodeTooMany.
type Exceeded struct {
	Limit int
	Wait  time.Duration // before a retry may succeed
}

// Error names the limit.
func (e Exceeded) Error() string { return fmt.Sprintf("the limit of %d is reached", e.Limit) }

// TooFast returns the error for a request beyond RequestsPerSecond.
func (l Limits) TooFast(wait time.Duration) error {
	return &Error{
		Code:    CodeTooMany,
		Message: fmt.Sprintf("too many requests: the app may send %d per second", l.RequestsPerSecond),
		Err:     Exceeded{Limit: l.RequestsPerSecond, Wait: wait},
	}
}

// TooManyAtOnce returns the error for a request beyond AtOnce.
func (l Limits) TooManyAtOnce() error {
	return &Error{
		Code:    CodeTooMany,
		Message: fmt.Sprintf("too many requests: the app may have %d under way at once", l.AtOnce()),
		Err:     Exceeded{Limit: l.AtOnce(), Wait: time.Second},
	}
}
