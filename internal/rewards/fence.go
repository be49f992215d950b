package rewards

import "errors"

// The errors of a write on behalf of the fulfillment leader. Nothing was written.
var (
	// ErrLostLease means that another process leads fulfillment now.
	ErrLostLease = errors.New("another process leads fulfillment now")
	// ErrStale means that the order, reward or action changed after the caller read it.
	ErrStale = errors.New("the stored state changed in the meantime")
)
