package postgres

import (
	"context"
	"time"

	"stockrewards/internal/store"
)

// HeldBackFor is HeldBack for what has held back the vacuum for another time.
func (e *Engine) HeldBackFor(ctx context.Context, long time.Duration) (string, error) {
	return e.heldBack(ctx, long)
}

// TransactionIDsLowFrom is TransactionIDsLow for another number of transactions.
func (e *Engine) TransactionIDsLowFrom(ctx context.Context, many int64) (string, error) {
	return e.transactionIDsLow(ctx, many)
}

// WriteWithin is WriteBooks with another limit than 20 seconds.
func (e *Engine) WriteWithin(ctx context.Context, limit time.Duration, f func(context.Context, store.Tx) error) error {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return e.run(within, conn, e.beginWrite(turnOthers), true, f)
}
