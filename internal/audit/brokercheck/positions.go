package brokercheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"stockrewards/internal/audit/value"
	"stockrewards/internal/money"
)

// stock is the shares of an asset at both sides.
type stock struct {
	symbol      string
	price       int64
	mine        bool // an order of the store, or with our prefix, bought it
	held, house value.Sum
	booked      value.Sum // all shares, as stored
	sweeping    bool      // the users' shares lag behind what is booked
	position    value.Sum
	least, most value.Sum // bounds of what orders filled at the broker less what we booked
}

// stockOf returns a stock by the broker's id of the asset, or by its symbol if one side does not
// have the id.
func (c *comparison) stockOf(brokerID, symbol string) *stock {
	for _, a := range c.ours.assets {
		if brokerID != "" && a.brokerID == brokerID {
			return c.stock(value.Asset(a.id), a.symbol)
		}
	}
	for _, a := range c.ours.assets {
		if a.symbol == symbol && (a.brokerID == "" || brokerID == "") {
			return c.stock(value.Asset(a.id), a.symbol)
		}
	}
	return c.stock("symbol "+symbol, symbol)
}

func (c *comparison) stock(name, symbol string) *stock {
	if c.stocks[name] == nil {
		c.stocks[name] = &stock{symbol: symbol}
	}
	return c.stocks[name]
}

// positions compares the broker's positions with the booked shares, and with those of users and house.
func (c *comparison) positions(theirs []Position) {
	for _, id := range slices.Sorted(maps.Keys(c.ours.assets)) {
		a := c.ours.assets[id]
		s := c.stock(value.Asset(id), a.symbol)
		s.price, s.held, s.house, s.booked = a.price, a.held, a.house, value.SumOf(a.booked)
		s.sweeping = a.sweeping
		s.mine = a.orders > 0 || s.booked.Sign() != 0
	}
	for id, r := range c.listed {
		if c.ours.orders[id] == nil {
			s := c.stockOf(r.newest().AssetID, r.newest().Symbol)
			s.mine = true
			s.addOrder(r, 0)
		}
	}
	for id, o := range c.ours.orders {
		s, r := c.stock(value.Asset(o.asset), o.symbol), c.listed[id]
		switch {
		case o.state == value.Settled:
			s.addOrder(r, o.corrected)
		case r.known():
			s.addOrder(r, 0)
		default: // the broker may still have what it filled before it lost the order
			s.most.Add(o.filledQty)
		}
	}
	for _, p := range theirs {
		s := c.stockOf(p.AssetID, p.Symbol)
		s.position.Add(int64(p.Qty))
	}
	for _, name := range slices.Sorted(maps.Keys(c.stocks)) {
		c.position(c.stocks[name])
	}
	slices.SortStableFunc(c.report.Positions, func(a, b PositionRow) int { return cmp.Compare(a.Symbol, b.Symbol) })
}

// addOrder adds an order's fill at the broker less what we booked.
func (s *stock) addOrder(r reading, booked int64) {
	least, most := r.filled()
	s.least = s.least.Plus(value.SumOf(least)).Minus(value.SumOf(booked))
	s.most = s.most.Plus(value.SumOf(most)).Minus(value.SumOf(booked))
}

// position compares a stock. The broker's position must be the booked shares, or these and what
// the orders account for.
func (c *comparison) position(s *stock) {
	if !s.mine {
		if s.position.Sign() != 0 {
			c.report.Items = append(c.report.Items, Item{
				Code: codeForeign, Severity: SeverityWarning, Symbol: s.symbol, Ours: "never ordered",
				Theirs: s.position.Shares(), Next: foreignAsset,
			})
		}
		return
	}
	c.report.Totals.Stocks++
	unexplained := s.unexplained()
	row := PositionRow{
		Symbol: s.symbol, Holdings: s.held.Format(plainShares), House: s.house.Format(plainShares),
		Booked: s.booked.Format(plainShares),
		Broker: s.position.Format(plainShares), Orders: s.most.Format(plainShares),
		Unexplained: unexplained.Format(plainShares),
	}
	if usd, ok := worth(unexplained, s.price); ok {
		row.DifferenceUSD = usd.String()
	}
	c.report.Positions = append(c.report.Positions, row)
	if unexplained.Sign() == 0 {
		return
	}
	c.report.Items = append(c.report.Items, Item{
		Code: codePosition, Severity: SeverityBreak, Symbol: s.symbol,
		Ours: fmt.Sprintf("%s: %s of the users and %s of the house; orders account for %s more",
			s.booked.Shares(), s.held.Shares(), s.house.Shares(), s.most.Shares()),
		Theirs: s.position.Shares(), DifferenceShares: row.Unexplained, DifferenceUSD: row.DifferenceUSD,
		Next: explainPosition,
	})
}

// unexplained returns how far the position is outside of its bounds: from the booked shares, or
// from those of users and house.
func (s *stock) unexplained() value.Sum {
	if beyond := s.beyond(s.booked); beyond.Sign() != 0 || s.sweeping {
		return beyond
	}
	return s.beyond(s.held.Plus(s.house))
}

// beyond returns how far the position is outside of the bounds around our shares.
func (s *stock) beyond(ours value.Sum) value.Sum {
	beyond := s.position.Minus(ours)
	switch {
	case beyond.Sign() == 0:
		return beyond
	case beyond.Less(s.least):
		return beyond.Minus(s.least)
	case s.most.Less(beyond):
		return beyond.Minus(s.most)
	}
	return value.Sum{}
}

// worth returns the dollars of shares at a price, rounded toward zero.
func worth(qty value.Sum, price int64) (money.USD, bool) {
	n, fits := qty.Int64()
	if !fits || price <= 0 {
		return 0, false
	}
	usd, ok := value.Cost(max(n, -n), price)
	if n < 0 {
		usd = -usd
	}
	return money.USD(usd), ok
}
