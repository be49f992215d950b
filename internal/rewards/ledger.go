package rewards

import (
	"time"

	"stockrewards/internal/money"
)

// Booking is a settled order with its allocations, in order of arrival. A member that got
// nothing has no lot.
type Booking struct {
	Order Order
	Lots  []Lot
}

// Lot is an allocation and its owner.
type Lot struct {
	AppID    AppID
	RewardID RewardID
	UserID   UserID
	Failed   bool // the reward got no shares at all, and the house took its lots over
	Bought   Allocation
}

// Fill is what an order of an asset has bought so far.
type Fill struct {
	AssetID   AssetID
	State     OrderState
	Filled    money.Shares
	SettledAt time.Time // zero until final
}

// UserHolding is a user's holding of one asset.
type UserHolding struct {
	AppID     AppID
	UserID    UserID
	AssetID   AssetID
	Quantity  money.Shares
	CostBasis money.USD
	// Moved is what corporate actions added to CostBasis, less what reversals took. The rest are executed rewards.
	Moved money.USD
}

// UserTaking is what a reversal took of one stock of a user, for the house.
type UserTaking struct {
	Taking

	AppID      AppID
	UserID     UserID
	ReversalID ReversalID
	After      int64 // number of the last switch before it
	At         time.Time
}

// Stock is the booked shares of a stock.
type Stock struct {
	AssetID AssetID
	Booked  money.Shares // the users' and the house's
	House   money.Shares
}

// Receipt is cash that the broker paid for an action.
type Receipt struct {
	Payout
	Type     ActionType
	AssetID  AssetID
	Policies DividendPolicies
}

// Kept reports whether the house keeps a user's part: the app did not reinvest dividends when this one was paid.
func (r Receipt) Kept(e Effect) bool {
	return r.Type == ActionCashDividend && !r.PaidAt.IsZero() && e.RewardID.IsZero() &&
		r.Policies.For(e.AppID, r.At) == DividendsHouse
}

// CashInLieu is cash that the broker paid for a fraction of a share, or took back when it gave the fraction back.
type CashInLieu struct {
	ActivityID string
	Symbol     string // the broker's, at that time
	Net        money.USD
	At         time.Time // when the service read it
}

// PendingReward is a reward that is recorded or executing.
type PendingReward struct {
	AppID   AppID
	UserID  UserID
	AssetID AssetID
	Status  Status
	Amount  money.USD
	Booked  money.USD // part of the amount that is bought and booked
}

// HouseCarried returns the house's part of the dollars carried: what they exceed the members'
// amounts by; negative for what its own shares paid for. It fails with money.ErrOverflow.
func (b Booking) HouseCarried() (money.USD, error) {
	carried, err := b.Order.Carried()
	if err != nil || b.Order.House >= 0 {
		return max(0, carried-(b.Order.Notional-b.Order.House)), err
	}
	parts := money.USD(0)
	for _, l := range b.Lots {
		parts += l.Bought.Amount
	}
	return min(0, max(b.Order.House, carried-parts)), nil
}
