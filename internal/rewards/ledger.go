package rewards

import (
	"time"

	"stockrewards/internal/money"
)

// Booking is a settled order with what it brought to its members, in order of
// arrival. A member that got nothing of it has no part.
type Booking struct {
	Order Order
	Lots  []Lot
}

// Lot is an allocation with whose it is.
type Lot struct {
	AppID    AppID
	RewardID RewardID
	UserID   UserID
	Failed   bool // the reward came to no shares: the house has taken its parts over
	Bought   Allocation
}

// Fill is how far an order of an asset has got.
type Fill struct {
	AssetID   AssetID
	State     OrderState
	Filled    money.Shares
	SettledAt time.Time // zero until final
}

// UserHolding is what a user holds of one asset.
type UserHolding struct {
	AppID     AppID
	UserID    UserID
	AssetID   AssetID
	Quantity  money.Shares
	CostBasis money.USD // the sum of the amounts of the executed rewards
}

// PendingReward is a reward that is recorded or executing.
type PendingReward struct {
	AppID   AppID
	UserID  UserID
	AssetID AssetID
	Status  Status
	Amount  money.USD
	Booked  money.USD // how much of the amount has been bought and booked
}

// HouseCarried is how many of the dollars carried are the house's: the members' come
// first. It fails with money.ErrOverflow.
func (o Order) HouseCarried() (money.USD, error) {
	carried, err := o.Carried()
	return max(0, carried-(o.Notional-o.House)), err
}
