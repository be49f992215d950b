package rewards

import "stockrewards/internal/money"

// HouseOffer returns the dollars of awards that the house's own shares of a stock may pay for: their
// value at the last price and five percent less, because the order's own price counts in the end, less
// what the house offers in orders that are not booked. It is zero when the price is unknown.
func HouseOffer(has money.Shares, price money.Price, promised money.USD) money.USD {
	if has <= 0 || price <= 0 {
		return 0
	}
	value, err := money.Value(has, price, money.Down)
	if err != nil {
		return 0
	}
	const margin = 20 // a twentieth; what the shares cannot pay for would wait for another order
	return max(0, value-value/margin-1-promised)
}

// HousePays returns the dollars that the house adds to the order.
func (o Order) HousePays() money.USD { return max(0, o.House) }

// HouseOffers returns the dollars of the members' amounts that the house's own shares pay for.
func (o Order) HouseOffers() money.USD { return max(0, -o.House) }

// houseGives returns the dollars of the members' amounts for which the house gives its own shares, at
// the average price of the fill: what it offered, in proportion to what was bought of the order, as
// far as the shares that it has suffice. It fails with money.ErrOverflow.
func (o Order) houseGives(carried money.USD, has money.Shares) (money.USD, error) {
	if o.HouseOffers() == 0 || carried <= 0 || o.FilledQty <= 0 || has <= 0 {
		return 0, nil
	}
	offered, err := money.MulDiv(int64(o.HouseOffers()), int64(carried), int64(o.Notional), money.Down)
	if err != nil {
		return 0, err
	}
	needed, err := money.Portion(o.FilledQty, money.USD(offered), carried)
	if err != nil || has >= needed {
		return money.USD(offered), err
	}
	worth, err := money.MulDiv(int64(has), int64(carried), int64(o.FilledQty), money.Down)
	return money.USD(min(offered, worth)), err
}
