package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"stockrewards/internal/rewards"
)

// What no request can cause is not the fault of its data.
func TestTroubleOfTheServer(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]rewards.Code{
		limitReached: rewards.CodeUnavailable, "54001": rewards.CodeInternal, noUniqueIndex: rewards.CodeUnavailable,
		"55000": rewards.CodeUnavailable, "72000": rewards.CodeUnavailable, "23514": rewards.CodeInternal,
	} {
		if got := rewards.CodeOf(classify(&pgconn.PgError{Code: state})); got != want {
			t.Errorf("%s: %v, want %v", state, got, want)
		}
	}
}

// A read that no server has judged, such as one at a server that hangs until its time is over, is no defect of the
// service.
func TestReadsThatNoServerHasJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want rewards.Code
	}{
		"out of time":       {errors.Join(errNotBegun, context.DeadlineExceeded), rewards.CodeUnavailable},
		"lost":              {errors.Join(errNotBegun, errBroken), rewards.CodeUnavailable},
		"refused by a rule": {errors.Join(errNotBegun, &pgconn.PgError{Code: "P0001"}), rewards.CodeInternal},
	} {
		if got := rewards.CodeOf(classify(c.err)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
