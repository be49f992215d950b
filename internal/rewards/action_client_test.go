package rewards_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"stockrewards/internal/rewards"
)

// Every state but passed is shown as exactly one status.
func TestStatesShown(t *testing.T) {
	t.Parallel()
	seen := make(map[rewards.ActionState]int)
	for _, status := range []string{"announced", "applied", "held", "withdrawn", "undone"} {
		states, known := rewards.StatesShown(status)
		if !known || len(states) > 2 {
			t.Errorf("%s: %v, %v", status, states, known)
		}
		for _, s := range states {
			seen[s]++
		}
	}
	want := make(map[rewards.ActionState]int)
	for s := rewards.ActionAnnounced; s <= rewards.ActionUndoing; s++ {
		if s != rewards.ActionPassed {
			want[s] = 1
		}
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, status := range []string{"", "swept", "passed", "unknown", "Held"} {
		if states, known := rewards.StatesShown(status); known || len(states) > 0 {
			t.Errorf("%q: %v, %v", status, states, known)
		}
	}
}

// A shown rate is the announced one, exactly, without exponent or needless zeros; that of a stock
// dividend is 1 + rate.
func TestShownRatesAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		written := rapid.StringMatching(`(0|[1-9][0-9]{0,18})(\.[0-9]{1,18})?([eE][+-]?[0-9])?`).Draw(t, "rate")
		rate, ok := new(big.Rat).SetString(written)
		if !ok || rate.Sign() <= 0 {
			return
		}
		dividend := rewards.Terms{Type: rewards.ActionStockDividend, Rate: written}.Shown()
		cash := rewards.Terms{Type: rewards.ActionCashDividend, Rate: written}.Shown()
		split := rewards.Terms{Type: rewards.ActionForwardSplit, OldRate: "1", NewRate: written}.Shown()
		for got, want := range map[string]*big.Rat{
			dividend.New: new(big.Rat).Add(rate, big.NewRat(1, 1)), cash.Cash: rate, split.New: rate,
		} {
			is, ok := new(big.Rat).SetString(got)
			if !ok || is.Cmp(want) != 0 || strings.ContainsAny(got, "eE+-") || strings.Contains(got, ".") && strings.HasSuffix(got, "0") ||
				len(got) > 1 && got[0] == '0' && got[1] != '.' {
				t.Errorf("%s is shown as %q, want %s", written, got, want)
			}
		}
		if dividend.Old != "1" || dividend.Cash != "" || cash.New != "" || cash.Old != "" || split.Cash != "" {
			t.Errorf("%+v, %+v, %+v", dividend, cash, split)
		}
	})
}
