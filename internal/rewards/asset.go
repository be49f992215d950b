package rewards

import (
	"time"

	"stockrewards/internal/money"
)

// AssetID is the installation's number for an asset. It never changes; a symbol can.
type AssetID int64

// Asset is a stock of the catalog (specification, section 2.4).
type Asset struct {
	ID       AssetID
	BrokerID string // the broker's identifier; "" if unknown
	Symbol   string
	Name     string
	Enabled  bool // the operator allows awards of it
	Gone     bool // at the last sync the broker did not sell fractions of it
	Doubt    Doubt
	Hold     ActionHold

	Generation int64  // how often its units changed, or who is entitled was recorded
	Units      Units  // of the generation
	FormerID   string // the broker's identifier before the last rename; "" if it did not change
}

// Giftable reports whether the asset can be awarded now.
func (a Asset) Giftable() bool { return a.Enabled && !a.Gone }

// Doubt is a price that is too far from the previous close. Until an operator decides, the
// asset is neither ordered nor valued.
type Doubt struct {
	Since time.Time // zero: no doubt
	Price money.Price
}

// Exists reports whether there is a doubt.
func (d Doubt) Exists() bool { return !d.Since.IsZero() }

// Quote is the last trusted price of an asset.
type Quote struct {
	AssetID     AssetID
	Price       money.Price
	TradedAt    time.Time
	ConfirmedAt time.Time   // when the broker last reported it
	Accepted    money.Price // a level that an operator confirmed; zero if none
	Generation  int64       // of the asset, in whose units the prices are
	Pending     Units       // that were pending when the price was converted to them
}

// maxJumpPercent is how far a price may be from the previous close, or from a level that an
// operator confirmed, before it is in doubt.
const maxJumpPercent = 40

// Plausible reports whether a price is near one of the reference levels. Levels of zero are
// unknown; without a known level every price is plausible.
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
