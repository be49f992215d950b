package rewards

import (
	"fmt"

	"stockrewards/internal/money"
)

// Holding is a user's shares of a stock: the sum of the allocations.
type Holding struct {
	AssetID   AssetID
	Symbol    string
	Quantity  money.Shares
	CostBasis money.USD // the sum of the amounts of the executed rewards
}

// ValuedHolding is a holding at its market price (specification, section 2.3).
type ValuedHolding struct {
	Holding
	Price  money.Price // per share
	Value  money.USD
	Change string // "" without cost basis
}

// Portfolio is a user's holdings at market prices (specification, section 2.3).
type Portfolio struct {
	Value     money.USD
	CostBasis money.USD
	Change    string // "" without cost basis
	Holdings  []ValuedHolding
}

// Value values holdings, in the order given. A holding's value is its quantity times its
// price, rounded to the millionth of a dollar; the portfolio's value is their sum. It fails
// with CodeUpstream when a holding has no usable price: a portfolio never leaves a holding
// out.
func Value(holdings []Holding, price func(AssetID) (money.Price, bool)) (Portfolio, error) {
	p := Portfolio{Holdings: make([]ValuedHolding, 0, len(holdings))}
	for _, h := range holdings {
		at, ok := price(h.AssetID)
		if !ok {
			message := fmt.Sprintf("no usable market price for %s now", h.Symbol)
			return Portfolio{}, &Error{Code: CodeUpstream, Message: message, Details: AssetDetails{h.Symbol}}
		}
		valued, err := valueHolding(h, at)
		if err != nil {
			return Portfolio{}, err
		}
		if p.Value, err = money.AddUSD(p.Value, valued.Value); err != nil {
			return Portfolio{}, err
		}
		if p.CostBasis, err = money.AddUSD(p.CostBasis, h.CostBasis); err != nil {
			return Portfolio{}, err
		}
		p.Holdings = append(p.Holdings, valued)
	}
	var err error
	p.Change, err = change(p.Value, p.CostBasis)
	return p, err
}

func valueHolding(h Holding, at money.Price) (ValuedHolding, error) {
	value, err := money.Value(h.Quantity, at, money.HalfAway)
	if err != nil {
		return ValuedHolding{}, err
	}
	text, err := change(value, h.CostBasis)
	return ValuedHolding{Holding: h, Price: at, Value: value, Change: text}, err
}

func change(value, cost money.USD) (string, error) {
	if cost == 0 {
		return "", nil
	}
	return money.Percent(value, cost)
}
