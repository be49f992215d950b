package audit_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"stockrewards/internal/audit"
	"stockrewards/internal/audit/audittest"
	"stockrewards/internal/money"
)

func TestMain(m *testing.M) { audittest.Main(m) }

const dollar = money.Dollar

func run(t *testing.T, where string) audit.Report {
	t.Helper()
	report, err := auditStore(t.Context(), where)
	check(t, err)
	return report
}

func auditStore(ctx context.Context, where string) (audit.Report, error) {
	store, err := audittest.Open(ctx, where)
	if err != nil {
		return audit.Report{}, err
	}
	report, err := audit.Run(ctx, store, audit.Options{})
	return report, errors.Join(err, store.Close())
}

func text(t *testing.T, r audit.Report) string {
	t.Helper()
	var b strings.Builder
	check(t, r.WriteText(&b))
	return b.String()
}

var check = audittest.Check
