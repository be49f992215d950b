package rewards

import (
	"time"

	"stockrewards/internal/money"
)

// Status is the status of a reward (specification, section 3). It only moves forward:
// recorded -> executing -> executed or failed.
type Status int

// The statuses of a reward.
const (
	Recorded  Status = iota + 1 // stored; never in an order
	Executing                   // in an order, or between two orders
	Executed                    // bought and booked; final
	Failed                      // nothing was bought, and nothing will be; final
)

// String returns the status as the specification writes it.
func (s Status) String() string {
	switch s {
	case Recorded:
		return "recorded"
	case Executing:
		return "executing"
	case Executed:
		return "executed"
	case Failed:
		return "failed"
	}
	return "unknown"
}

// ParseStatus returns the status of that name, or false.
func ParseStatus(text string) (Status, bool) {
	for s := Recorded; s <= Failed; s++ {
		if s.String() == text {
			return s, true
		}
	}
	return 0, false
}

// Reward is an award of stock to a user (specification, section 2.2).
type Reward struct {
	AppID          AppID
	ID             RewardID
	UserID         UserID
	IdempotencyKey string
	Amount         money.USD
	AssetID        AssetID
	Symbol         string // when it was recorded, in upper case
	Source         string // "" if not given
	Metadata       string // JSON without white space, members in the order given; "" if not given
	Status         Status
	Booked         money.USD // part of the amount that is bought and booked
	ExecutedAt     time.Time // zero until executed
	FailureReason  string    // "" unless failed: "<stable_code>: <text>"
}

// CreatedAt returns when the reward was recorded, to the millisecond.
func (r Reward) CreatedAt() time.Time { return r.ID.Time() }

// Open reports whether the reward's status may still change.
func (r Reward) Open() bool { return r.Status == Recorded || r.Status == Executing }

// The limits of a reward's members (specification, section 8), lengths in characters.
const (
	MaxAmountDollars  = 1_000_000
	MinIdempotencyKey = 8
	MaxIdempotencyKey = 128
	MaxSymbol         = 16
	MaxSource         = 64
	MaxMetadataBytes  = 16 << 10 // without white space
)

// NewReward is a valid request to award stock.
type NewReward struct {
	AppID          AppID
	UserID         UserID
	IdempotencyKey string
	Amount         money.USD
	Symbol         string // in upper case
	Source         string
	Metadata       string // JSON without white space; "" if empty
	Canonical      string // the metadata's canonical JSON; "" if empty
	Fingerprint    Fingerprint
	AssetID        AssetID   // zero when the symbol cannot be awarded now
	MinAmount      money.USD // the smallest award that the operator accepts now
	Uncounted      bool      // it counts for no budget: the service awards a corporate action's cash
}

// TooSmall reports whether the amount is less than MinAmount.
func (r NewReward) TooSmall() bool { return r.Amount < r.MinAmount }

// Verdict is the result of a request to award stock.
type Verdict int

// The verdicts, in the order in which they are decided.
const (
	Replay        Verdict = iota + 1 // the key was used for the same request: the stored reward
	Conflict                         // the key was used for another request
	NoSuchUser                       // the user does not exist in the app
	NotGiftable                      // the symbol cannot be awarded now
	BelowMinAward                    // the amount is less than MinAmount
	OverBudget                       // the amount exceeds what a budget has left
	Created                          // a new reward
)

// Outcome is the outcome of one request to award stock. Reward is set for Created
// and Replay, Budget for OverBudget.
type Outcome struct {
	Verdict Verdict
	Reward  Reward
	Budget  *BudgetDetails
}

// Page is a page of a list, newest first.
type Page[T any] struct {
	Before ID[T] // only older entries; zero: from the newest
	Limit  int
}
