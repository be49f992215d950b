package api

import (
	"context"
	"sync/atomic"
	"time"
)

// maxTime bounds a request. It is below writeTimeout, so that the response can still be sent.
const maxTime = 25 * time.Second

// expiry ends requests of a connection that take longer than maxTime. All requests of the
// connection share one timer: a timer for each takes longer than many a request.
type expiry struct {
	opened   time.Time
	deadline atomic.Int64 // of the current request, in nanoseconds since opened; 0 between requests
	timer    *time.Timer
	cancel   context.CancelFunc // ends the connection's context
}

// watch returns the context of the connection's requests.
func (e *expiry) watch(ctx context.Context) context.Context {
	ctx, e.cancel = context.WithCancel(ctx)
	e.timer = time.AfterFunc(idleTimeout, e.expire)
	e.timer.Reset(maxTime) // so that expire sees the timer
	return ctx
}

func (e *expiry) begin() { e.deadline.Store(int64(time.Since(e.opened) + maxTime)) }

func (e *expiry) end() { e.deadline.Store(0) }

// expire cancels a request at its deadline. Otherwise it runs again when one may have expired.
func (e *expiry) expire() {
	left := maxTime
	if deadline := e.deadline.Load(); deadline != 0 {
		left = time.Duration(deadline) - time.Since(e.opened)
	}
	if left <= 0 {
		e.cancel()
		return
	}
	e.timer.Reset(left)
}

// timed is the context of a request that its connection ends at the deadline.
type timed struct {
	context.Context //nolint:containedctx // it is a context
	deadline        time.Time
}

// Deadline implements context.Context.
func (t timed) Deadline() (time.Time, bool) { return t.deadline, true }

// Err implements context.Context.
func (t timed) Err() error {
	err := t.Context.Err()
	if err != nil && !time.Now().Before(t.deadline) {
		return context.DeadlineExceeded
	}
	return err
}
