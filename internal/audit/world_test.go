package audit_test

import (
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/prove"
)

// The scales of the tests.
const (
	dollar = money.Dollar
	perUSD = money.Price(1_000_000_000)
)

// world is the books of package prove in a place of the test's.
type world struct {
	*prove.World
	t     *testing.T
	where string // the path of the file, or the URL of the database
}

func newWorld(t *testing.T, in place) *world {
	t.Helper()
	w := &world{t: t, where: in(t)}
	w.World = prove.NewWorld(t.Context(), openEngine(t, w.where))
	t.Cleanup(func() { check(t, w.Close()) })
	return w
}

// history is a world with everything that can happen to a reward.
func history(t *testing.T, in place) *world {
	t.Helper()
	w := newWorld(t, in)
	w.History()
	return w
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
