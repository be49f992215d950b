package audit

import (
	"fmt"
	"maps"
	"slices"
)

// stock is what both sides have of one stock.
type stock struct {
	symbol      string
	price       int64
	mine        bool // an order of ours, or with our prefix, was for it
	held, house wide
	position    wide
	least, most wide // what orders filled at the broker less what we booked of them
}

func (s *stock) booked() wide { return s.held.plus(s.house) }

// stockOf finds a stock by the broker's identifier of it, or by its symbol when one
// side does not know that.
func (c *comparison) stockOf(brokerID, symbol string) *stock {
	for _, a := range c.books.assets {
		if brokerID != "" && a.brokerID == brokerID {
			return c.stockAt("asset "+number(a.id), a.symbol)
		}
	}
	for _, a := range c.books.assets {
		if a.symbol == symbol && (a.brokerID == "" || brokerID == "") {
			return c.stockAt("asset "+number(a.id), a.symbol)
		}
	}
	return c.stockAt("symbol "+symbol, symbol)
}

func (c *comparison) stockAt(name, symbol string) *stock {
	if c.stocks[name] == nil {
		c.stocks[name] = &stock{symbol: symbol}
	}
	return c.stocks[name]
}

// positions compares, for each stock of ours, the broker's position with the users'
// holdings and the house's shares.
func (c *comparison) positions(theirs []BrokerPosition) {
	for _, id := range slices.Sorted(maps.Keys(c.books.assets)) {
		a := c.books.assets[id]
		s := c.stockAt("asset "+number(id), a.symbol)
		s.price, s.held, s.house = a.price, a.held, a.house
		s.mine = a.orders > 0 || s.booked().sign() != 0
	}
	for id, told := range c.told {
		if o := c.books.orders[id]; o == nil {
			s := c.stockOf(told.now().AssetID, told.now().Symbol)
			s.mine = true
			s.account(told, 0)
		}
	}
	for id, o := range c.books.orders {
		s, told := c.stockAt("asset "+number(o.asset), o.symbol), c.told[id]
		switch {
		case o.state == settled:
			s.account(told, o.filledQty)
		case told.known():
			s.account(told, 0)
		default: // what the broker told of it before is perhaps still there
			s.most.add(o.filledQty)
		}
	}
	for _, p := range theirs {
		s := c.stockOf(p.AssetID, p.Symbol)
		s.position.add(int64(p.Qty))
	}
	for _, name := range slices.Sorted(maps.Keys(c.stocks)) {
		c.position(c.stocks[name])
	}
	slices.SortFunc(c.report.Positions, func(a, b PositionRow) int {
		if a.Symbol < b.Symbol {
			return -1
		}
		return 1
	})
}

// account adds an order's fill at the broker less what was booked of it.
func (s *stock) account(told reading, booked int64) {
	least, most := told.filled()
	s.least = s.least.plus(wideOf(least)).minus(wideOf(booked))
	s.most = s.most.plus(wideOf(most)).minus(wideOf(booked))
}

// position compares one stock. The broker's position must be what the books hold, or
// that and what the orders account for.
func (c *comparison) position(s *stock) {
	if !s.mine {
		if s.position.sign() != 0 {
			c.report.Items = append(c.report.Items, Item{
				Code: codeForeign, Severity: SeverityWarning, Symbol: s.symbol, Ours: "never ordered",
				Theirs: s.position.shares(), Next: foreignStock,
			})
		}
		return
	}
	c.report.Totals.Stocks++
	unexplained := s.unexplained()
	row := PositionRow{
		Symbol: s.symbol, Holdings: s.held.text(plainShares), House: s.house.text(plainShares),
		Broker: s.position.text(plainShares), Orders: s.most.text(plainShares),
		Unexplained: unexplained.text(plainShares),
	}
	if worth, ok := dollars(unexplained, s.price); ok {
		row.DifferenceUSD = worth.String()
	}
	c.report.Positions = append(c.report.Positions, row)
	if unexplained.sign() == 0 {
		return
	}
	c.report.Items = append(c.report.Items, Item{
		Code: codePosition, Severity: SeverityBreak, Symbol: s.symbol,
		Ours: fmt.Sprintf("%s: %s of the users and %s of the house; orders account for %s more",
			s.booked().shares(), s.held.shares(), s.house.shares(), s.most.shares()),
		Theirs: s.position.shares(), DifferenceShares: row.Unexplained, DifferenceUSD: row.DifferenceUSD,
		Next: explainPosition,
	})
}

// unexplained is how far the position is from what it may be.
func (s *stock) unexplained() wide {
	beyond := s.position.minus(s.booked())
	switch {
	case beyond.sign() == 0:
		return beyond
	case beyond.less(s.least):
		return beyond.minus(s.least)
	case s.most.less(beyond):
		return beyond.minus(s.most)
	}
	return wide{}
}
