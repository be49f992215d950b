package rewards

import (
	"time"

	"stockrewards/internal/money"
)

// AssetID is the installation's own number of an asset; a symbol can be renamed.
type AssetID int64

// Asset is a stock of the catalog (specification, section 2.4).
type Asset struct {
	ID       AssetID
	BrokerID string // the broker's identifier; "" until the broker told it
	Symbol   string
	Name     string
	Enabled  bool // the operator lets it be given
	Gone     bool // at the last sync the broker did not sell it in fractions any more
	Doubt    Doubt
	Hold     ActionHold
}

// Giftable tells whether the asset can be given now.
func (a Asset) Giftable() bool { return a.Enabled && !a.Gone }

// Doubt is why an asset is neither ordered nor valued until an operator confirms:
// its price went too far from the previous close.
type Doubt struct {
	Since time.Time   // zero: none
	Price money.Price // the price in doubt
}

// Exists tells whether there is a doubt.
func (d Doubt) Exists() bool { return !d.Since.IsZero() }

// Quote is the last price of an asset that can be trusted.
type Quote struct {
	AssetID     AssetID
	Price       money.Price
	TradedAt    time.Time
	ConfirmedAt time.Time   // when the broker last stood by it
	Accepted    money.Price // a level that an operator confirmed; zero when none
}

// maxJumpPercent is how far a price may be from the previous close, or from a
// level that an operator confirmed, before it is in doubt.
const maxJumpPercent = 40

// Plausible tells whether a price can be believed next to the reference levels
// that are known (those of zero are not). Without any, nothing speaks against it.
func Plausible(price money.Price, references ...money.Price) bool {
	known := false
	for _, reference := range references {
		if reference <= 0 {
			continue
		}
		known = true
		step, err := money.MulDiv(int64(reference), maxJumpPercent, 100, money.Down)
		if err == nil && price >= reference-money.Price(step) && price-reference <= money.Price(step) {
			return true
		}
	}
	return !known
}
