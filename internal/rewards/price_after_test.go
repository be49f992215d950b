package rewards_test

import (
	"math"
	"testing"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// The price after a spin-off is accepted if both stocks together are worth about what the one was before.
func TestPriceAfterASpinOff(t *testing.T) {
	t.Parallel()
	const usd = money.Price(1_000_000_000)
	terms := rewards.Terms{Type: rewards.ActionSpinOff, OldRate: "2", NewRate: "3"}
	for name, c := range map[string]struct{ before, source, target, want money.Price }{
		"all of the fall":           {100 * usd, 40 * usd, 40 * usd, 40 * usd},
		"and the market fell":       {100 * usd, 20 * usd, 30 * usd, 20 * usd},
		"too little for the fall":   {100 * usd, 20 * usd, 10 * usd, 0},
		"more than there was":       {100 * usd, 120 * usd, 20 * usd, 0},
		"nothing is known before":   {0, 40 * usd, 40 * usd, 0},
		"no price of the new stock": {100 * usd, 40 * usd, 0, 0},
		"too much to add up":        {100 * usd, math.MaxInt64 - usd, 40 * usd, 0},
	} {
		if got := terms.PriceAfter(c.before, c.source, c.target); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
