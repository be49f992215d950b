package paper

import (
	"stockrewards/internal/money"
)

// valuation is what a position is worth.
type valuation struct {
	price, lastPrice money.Price // now, and at the close of the session before
	value, lastValue money.USD
}

// valuation values a position. A stock that has left the catalog, or a value that
// does not fit, counts at its cost: such a position has no price any more.
func (b *Brokerage) valuation(p position, m moment) valuation {
	atCost := valuation{value: p.cost, lastValue: p.cost}
	l := b.market.bySymbol[p.symbol]
	if l == nil {
		return atCost
	}
	m = m.of(b.market, l)
	before := b.market.price(l, m.previous.close)
	v := valuation{
		price:     b.market.price(l, m.trade),
		lastPrice: b.market.rebased(l, before, m.previous.close, m.trade),
	}
	var nowErr, lastErr error
	v.value, nowErr = money.Value(p.qty, v.price, money.HalfAway)
	v.lastValue, lastErr = money.Value(p.qty, v.lastPrice, money.HalfAway)
	if nowErr != nil || lastErr != nil {
		return atCost
	}
	return v
}

func (b *Brokerage) wirePosition(p position, held money.Shares, m moment) wirePosition {
	v := b.valuation(p, m)
	exchange := ""
	if l := b.market.bySymbol[p.symbol]; l != nil {
		exchange = l.Exchange
	}
	average, err := money.MulDiv(int64(p.cost), averageScale, int64(p.qty), money.HalfAway)
	if err != nil {
		average = int64(v.price)
	}
	return wirePosition{
		AssetID: AssetID(p.symbol), Symbol: p.symbol, Exchange: exchange, AssetClass: "us_equity",
		Qty: p.qty.String(), QtyAvailable: (p.qty - held).String(), Side: "long",
		AvgEntryPrice: money.Price(average).String(),
		CostBasis:     p.cost.String(), MarketValue: v.value.String(),
		CurrentPrice: v.price.String(), LastdayPrice: v.lastPrice.String(),
		UnrealizedPL: (v.value - p.cost).String(), UnrealizedPLPC: share(v.value-p.cost, p.cost),
		UnrealizedIntradayPL:   (v.value - v.lastValue).String(),
		UnrealizedIntradayPLPC: share(v.value-v.lastValue, v.lastValue),
		ChangeToday:            share(v.price-v.lastPrice, v.lastPrice),
	}
}

// averageScale turns millionths of a dollar per billionth of a share into
// billionths of a dollar per share.
const averageScale = 1_000_000_000_000

// share is part/whole as a signed decimal with six places, "0" when there is no
// whole.
func share[Q ~int64](part, whole Q) string {
	sign := money.USD(1)
	if part < 0 {
		sign, part = -1, -part
	}
	const million = 1_000_000 // a USD of as many millionths prints as the decimal
	n, err := money.MulDiv(int64(part), million, int64(whole), money.HalfAway)
	if err != nil {
		return "0"
	}
	return (sign * money.USD(n)).String()
}
