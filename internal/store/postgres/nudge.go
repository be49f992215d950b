package postgres

import (
	"context"
	"fmt"
	"time"

	"stockrewards/internal/store"
)

// channel is the notification channel of processes that share a database.
const channel = "stockrewards"

// The pauses of Listen.
const (
	pollEvery    = 500 * time.Millisecond // behind PgBouncer
	reconnectGap = time.Second
)

// Nudge wakes the listeners of all processes. It saves them the wait for their next poll.
func (e *Engine) Nudge(ctx context.Context) error {
	_, err := e.pool.Exec(ctx, "select pg_notify($1, '')", channel)
	if err != nil {
		return fmt.Errorf("postgres: cannot notify: %w", err)
	}
	return nil
}

// Listen calls wake after every nudge and every reconnection, until ctx ends. PgBouncer does not
// forward notifications: behind it Listen calls wake every half second.
func (e *Engine) Listen(ctx context.Context, wake func()) {
	for ctx.Err() == nil {
		if !e.options.Pooled {
			e.listenOnce(ctx, wake)
		}
		gap := reconnectGap
		if e.options.Pooled {
			gap = pollEvery
		}
		_ = store.Sleep(ctx, gap)
		wake()
	}
}

// listenOnce listens on a separate connection until the connection breaks, or another server takes over.
func (e *Engine) listenOnce(ctx context.Context, wake func()) {
	ctx, stop := e.newest.untilRisen(ctx)
	defer stop()
	conn, err := e.connect(ctx)
	if err != nil {
		return
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // broken or no longer needed
	if _, err := conn.Exec(ctx, "listen "+channel); err != nil {
		return
	}
	wake()
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return
		}
		wake()
	}
}
