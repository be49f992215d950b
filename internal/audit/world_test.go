package audit_test

import (
	"context"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/money"
)

func TestMain(m *testing.M) { audittest.Main(m) }

const dollar = money.Dollar

// books are a store that is audited.
type books interface {
	audit.Queryer
	Close() error
}

func open(ctx context.Context, where string) (books, error) {
	if audittest.OnPostgres(where) {
		return audit.OpenPostgres(ctx, where)
	}
	return audit.OpenSQLite(ctx, where)
}

func check(tb testing.TB, err error) {
	tb.Helper()
	audittest.Check(tb, err)
}
