package postgres

import (
	"context"
	"time"
)

// HeldBackFor is HeldBack for what has held back the vacuum for another time.
func (e *Engine) HeldBackFor(ctx context.Context, long time.Duration) (string, error) {
	return e.heldBack(ctx, long)
}

// TransactionIDsLowFrom is TransactionIDsLow for another number of transactions.
func (e *Engine) TransactionIDsLowFrom(ctx context.Context, many int64) (string, error) {
	return e.transactionIDsLow(ctx, many)
}
