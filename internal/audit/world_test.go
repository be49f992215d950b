package audit_test

import (
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
	store, err := audittest.Open(t.Context(), where)
	check(t, err)
	report, err := audit.Run(t.Context(), store, audit.Options{})
	check(t, errors.Join(err, store.Close()))
	return report
}

func text(t *testing.T, r audit.Report) string {
	t.Helper()
	var b strings.Builder
	check(t, r.WriteText(&b))
	return b.String()
}

var check = audittest.Check
