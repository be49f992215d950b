package exchange

import (
	"time"

	"stockrewards/internal/broker/paper/random"
	"stockrewards/internal/money"
)

// Relist returns a listing as it is now, to be changed.
func (l *Listing) Relist() Relisting {
	return Relisting{Asset: l.Asset, ID: l.ID, Model: l.model.symbol, Gone: l.Gone, Since: l.Since}
}

// NewListing returns a stock that an action brings to the market at a time, with a
// price model that begins at p. It can be traded in fractions.
func (x *Exchange) NewListing(symbol, place string, p money.Price, at time.Time, action string) Relisting {
	p = min(max(p, MinPrice), MaxPrice)
	m := newModel(x.seed, symbol, p)
	reference, err := money.MulDiv(int64(p), int64(p), int64(m.price(at)), money.HalfAway)
	if err != nil {
		reference = int64(p)
	}
	id := AssetID(symbol)
	if x.ByID(id) != nil { // of a stock that had this symbol before
		id = random.UUID("asset " + symbol + " of " + action)
	}
	return Relisting{
		Asset: Asset{
			Symbol: symbol, Name: symbol + " Common Stock", Exchange: place,
			Price: min(max(money.Price(reference), 1), MaxPrice),
		},
		ID: id, Model: symbol, Since: at,
	}
}

// Opening returns the first price of a new stock.
func (x *Exchange) Opening(r Relisting) money.Price {
	m := newModel(x.seed, r.Model, r.Price)
	return m.price(r.Since)
}

// SpunOff returns the change of a source's price by a spin-off at a time: for each share, the
// given stock is worth that.
func (x *Exchange) SpunOff(source *Listing, worth money.Price, at time.Time) (oldRate, newRate int64) {
	before := x.exactPrice(source, at)
	return int64(max(before-worth, MinPrice)), int64(before)
}
