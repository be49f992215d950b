package rewards

import (
	"fmt"
	"slices"

	"stockrewards/internal/money"
)

// tolerance is how far a fill's cost may be from the notional: prices are rounded.
func (o Order) tolerance() money.USD { return max(money.Cent, o.Notional/10_000) }

// CheckCost fails with ErrContradiction when a fill costs more than the notional by
// more than the larger of a cent and 0.01 %.
func (o Order) CheckCost(qty money.Shares, price money.Price) error {
	cost, err := money.Value(qty, price, money.Down)
	if err != nil || cost-o.Notional > o.tolerance() {
		return contradiction("%s shares at %s cost more than the notional %s", qty, price, o.Notional)
	}
	return nil
}

// whole reports whether a fill used up the notional: even a billionth of a share more, the
// smallest quantity, would cost at least the notional less the tolerance.
func (o Order) whole(qty money.Shares, price money.Price) bool {
	more, err := money.AddShares(qty, 1)
	if err != nil {
		return true
	}
	cost, err := money.Value(more, price, money.Down)
	return err != nil || o.Notional-cost <= o.tolerance()
}

// ErrFarPrice is the contradiction of a fill's price that is far from every level that it
// was compared with. Newer levels may explain it.
var ErrFarPrice = fmt.Errorf("%w: the fill's price is far from the stock's last price", ErrContradiction)

// checkFill judges what a fill cost, and at which price.
func (o Order) checkFill(b BrokerOrder, levels []money.Price) error {
	if err := o.CheckCost(b.FilledQty, b.FilledAvgPrice); err != nil {
		return err
	}
	return o.checkPrice(b, levels)
}

// checkPrice compares the average price of a fill with the levels that are known of the
// stock's price, unless this same fill was believed before: the market goes on.
func (o Order) checkPrice(b BrokerOrder, levels []money.Price) error {
	believed := b.FilledQty == o.FilledQty && b.FilledAvgPrice == o.FilledAvgPrice
	if b.FilledQty == 0 || believed || Plausible(b.FilledAvgPrice, levels...) {
		return nil
	}
	return fmt.Errorf("%w: %s shares at %s, more than %d %% from %s",
		ErrFarPrice, b.FilledQty, b.FilledAvgPrice, maxJumpPercent, lastKnown(levels))
}

// lastKnown is the newest level, which is the last one; zero without any.
func lastKnown(levels []money.Price) money.Price {
	for _, level := range slices.Backward(levels) {
		if level > 0 {
			return level
		}
	}
	return 0
}
