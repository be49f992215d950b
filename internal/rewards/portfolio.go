package rewards

import (
	"cmp"
	"fmt"
	"slices"

	"stockrewards/internal/money"
)

// Holding is a user's shares of a stock: the sum of the allocations.
type Holding struct {
	AssetID    AssetID
	Quantity   money.Shares
	CostBasis  money.USD // the sum of the amounts of the executed rewards
	Generation int64     // of the asset, in whose units Quantity is
}

// IsEmpty reports that nothing is left, for example after a reversal or after a stock has ended.
func (h Holding) IsEmpty() bool { return h.Quantity == 0 && h.CostBasis == 0 }

// ValuedHolding is a holding at its market price (specification, section 2.3).
type ValuedHolding struct {
	Holding
	Symbol string
	Price  money.Price // per share
	Value  money.USD
	Change string // "" without cost basis
}

// Portfolio is a user's holdings at market prices (specification, section 2.3).
type Portfolio struct {
	Value     money.USD
	CostBasis money.USD
	Change    string          // "" without cost basis
	Holdings  []ValuedHolding // sorted by symbol
}

// Value values holdings of assets that have symbols. A holding's value is its quantity times its
// price, rounded to the millionth of a dollar; the portfolio's value is their sum. It fails
// with CodeUpstream when a holding has no usable price, or one that makes a sum too large: a portfolio never leaves a
// holding out.
func Value(holdings []Holding, symbols map[AssetID]string, prices Prices) (p Portfolio, err error) {
	p.Holdings = make([]ValuedHolding, 0, len(holdings))
	for _, h := range holdings {
		if !h.IsEmpty() {
			p.Holdings = append(p.Holdings, ValuedHolding{Holding: h, Symbol: symbols[h.AssetID]})
		}
	}
	slices.SortFunc(p.Holdings, func(a, b ValuedHolding) int { return cmp.Compare(a.Symbol, b.Symbol) })
	for i := range p.Holdings {
		h := &p.Holdings[i]
		if err := h.value(prices); err != nil {
			return Portfolio{}, err
		}
		if p.Value, err = money.AddUSD(p.Value, h.Value); err != nil {
			return Portfolio{}, h.worthTooMuch(err)
		}
		if p.CostBasis, err = money.AddUSD(p.CostBasis, h.CostBasis); err != nil {
			return Portfolio{}, err
		}
	}
	if p.Change, err = change(p.Value, p.CostBasis); err != nil {
		most := slices.MaxFunc(p.Holdings, func(a, b ValuedHolding) int { return cmp.Compare(a.Value, b.Value) })
		return Portfolio{}, most.worthTooMuch(err)
	}
	return p, nil
}

// value sets what depends on the price.
func (h *ValuedHolding) value(prices Prices) (err error) {
	var usable bool
	if h.Price, usable = prices.Price(h.AssetID, h.Generation); !usable && h.Quantity > 0 {
		message := fmt.Sprintf("no usable market price for %s now", h.Symbol)
		return &Error{Code: CodeUpstream, Message: message, Details: AssetDetails{h.Symbol}}
	}
	h.Value, err = money.Value(h.Quantity, h.Price, money.HalfAway)
	if err == nil {
		h.Change, err = change(h.Value, h.CostBasis)
	}
	if err != nil {
		return h.worthTooMuch(err)
	}
	return nil
}

// worthTooMuch is the error of a price that makes a value, a sum or a change too large for its type.
func (h *ValuedHolding) worthTooMuch(err error) error {
	message := fmt.Sprintf("the market price of %s makes the portfolio worth more than can be shown", h.Symbol)
	return &Error{Code: CodeUpstream, Message: message, Details: AssetDetails{h.Symbol}, Err: err}
}

func change(value, cost money.USD) (string, error) {
	if cost == 0 {
		return "", nil
	}
	return money.Percent(value, cost)
}
