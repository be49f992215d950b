package rewards

import (
	"fmt"
	"time"
)

// Limits bound what one app may ask of one process. A zero member is its default.
type Limits struct {
	RequestsPerSecond int // 0: no limit; as many may come at once
	Concurrent        int // requests under way at once; 0: DefaultConcurrent
}

// The ranges of the limits.
const (
	DefaultConcurrent    = 2_000 // DefaultConcurrent is far above what an app needs.
	MaxRequestsPerSecond = 1_000_000
	MaxConcurrent        = 100_000
)

// Check fails when a limit is out of range.
func (l Limits) Check() error {
	if l.RequestsPerSecond < 0 || l.RequestsPerSecond > MaxRequestsPerSecond {
		return fmt.Errorf("requests per second: must be 1 to %d, or 0 for no limit", MaxRequestsPerSecond)
	}
	if l.Concurrent < 0 || l.Concurrent > MaxConcurrent {
		return fmt.Errorf("concurrent requests: must be 1 to %d, or 0 for the default of %d",
			MaxConcurrent, DefaultConcurrent)
	}
	return nil
}

// AtOnce is how many requests may be under way at once.
func (l Limits) AtOnce() int {
	if l.Concurrent == 0 {
		return DefaultConcurrent
	}
	return l.Concurrent
}

// Exceeded is the cause of a CodeTooMany.
type Exceeded struct {
	Limit int           // the limit that was reached
	Wait  time.Duration // until a request may be allowed again
}

// Error says which limit it is.
func (e Exceeded) Error() string { return fmt.Sprintf("the limit of %d is reached", e.Limit) }

// TooFast refuses a request beyond RequestsPerSecond.
func (l Limits) TooFast(wait time.Duration) error {
	return &Error{
		Code:    CodeTooMany,
		Message: fmt.Sprintf("too many requests: the app may send %d per second", l.RequestsPerSecond),
		Err:     Exceeded{Limit: l.RequestsPerSecond, Wait: wait},
	}
}

// TooManyAtOnce refuses a request beyond AtOnce.
func (l Limits) TooManyAtOnce() error {
	return &Error{
		Code:    CodeTooMany,
		Message: fmt.Sprintf("too many requests: the app may have %d under way at once", l.AtOnce()),
		Err:     Exceeded{Limit: l.AtOnce(), Wait: time.Second},
	}
}
