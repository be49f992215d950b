package rewards

import (
	"fmt"
	"slices"

	"stockrewards/internal/money"
)

// tolerance returns how far a fill's cost may be from the notional, because brokers round
// prices: a cent or 0.01 %, whichever is larger.
func (o Order) tolerance() money.USD { return max(money.Cent, o.Notional/10_000) }

// checkCost fails with ErrContradiction when a fill costs more than the notional and the
// tolerance.
func (o Order) checkCost(qty money.Shares, price money.Price) error {
	cost, err := money.Value(qty, price, money.Down)
	if err != nil || cost-o.Notional > o.tolerance() {
		return contradiction("%s shares at %s cost more than the notional %s", qty, price, o.Notional)
	}
	return nil
}

// whole reports whether a fill used up the notional, within the tolerance. It allows for one
// more billionth of a share, because quantities are rounded down.
func (o Order) whole(qty money.Shares, price money.Price) bool {
	more, err := money.AddShares(qty, 1)
	if err != nil {
		return true
	}
	cost, err := money.Value(more, price, money.Down)
	return err != nil || o.Notional-cost <= o.tolerance()
}

// ErrFarPrice is the ErrContradiction of a fill whose price is far from every known level.
// A newer level may explain it.
var ErrFarPrice = fmt.Errorf("%w: the fill's price is far from the stock's last price", ErrContradiction)

// checkFill checks the cost and the price of a fill.
func (o Order) checkFill(b BrokerOrder, levels []money.Price) error {
	if err := o.checkCost(b.FilledQty, b.FilledAvgPrice); err != nil {
		return err
	}
	return o.checkPrice(b, levels)
}

// checkPrice compares the average price of a fill with the known levels. A fill that was
// accepted before passes, because the market may have moved since.
func (o Order) checkPrice(b BrokerOrder, levels []money.Price) error {
	believed := b.FilledQty == o.FilledQty && b.FilledAvgPrice == o.FilledAvgPrice
	if b.FilledQty == 0 || believed || Plausible(b.FilledAvgPrice, levels...) {
		return nil
	}
	return fmt.Errorf("%w: %s shares at %s, more than %d %% from %s",
		ErrFarPrice, b.FilledQty, b.FilledAvgPrice, maxJumpPercent, lastKnown(levels))
}

// lastKnown returns the last positive level, which is the newest; zero without one.
func lastKnown(levels []money.Price) money.Price {
	for _, level := range slices.Backward(levels) {
		if level > 0 {
			return level
		}
	}
	return 0
}
