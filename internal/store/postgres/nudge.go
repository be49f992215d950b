package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// channel is what processes that share a database tell each other on.
const channel = "stockrewards"

// The pauses of a listener.
const (
	pollEvery    = 500 * time.Millisecond // where nothing can be listened for
	reconnectGap = time.Second
)

// Nudge wakes the listeners of all processes. It is speed, never correctness.
func (e *Engine) Nudge(ctx context.Context) error {
	_, err := e.pool.Exec(ctx, "select pg_notify($1, '')", channel)
	if err != nil {
		return fmt.Errorf("postgres: notify: %w", err)
	}
	return nil
}

// Listen calls wake when another process nudged, and after every reconnection,
// until ctx ends. Behind PgBouncer, which does not pass notifications on, it calls
// wake every half second.
func (e *Engine) Listen(ctx context.Context, wake func()) {
	for ctx.Err() == nil {
		if !e.options.Pooled {
			e.listenOnce(ctx, wake)
		}
		gap := reconnectGap
		if e.options.Pooled {
			gap = pollEvery
		}
		pause(ctx, gap)
		wake()
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// listenOnce listens on a connection of its own until it breaks.
func (e *Engine) listenOnce(ctx context.Context, wake func()) {
	conn, err := pgx.ConnectConfig(ctx, e.pool.Config().ConnConfig)
	if err != nil {
		return
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it is broken, or not needed any more
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
