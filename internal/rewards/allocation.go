package rewards

import (
	"errors"
	"time"

	"stockrewards/internal/money"
)

// Allocation is a member's share of a fill: the part of its amount that was bought, and the
// shares. It never changes.
type Allocation struct {
	Amount money.USD
	Shares money.Shares
}

// Allocate divides a fill among amounts in order of arrival. The carried dollars, and those for
// which the house gives its own shares, go to the amounts in that order, so at most one of them is
// split. Each part gets floor(filled x part / carried) shares; the house gets the rest, or gives
// what is missing. The allocations and the house's shares add up to filled exactly. Allocate fails
// with money.ErrOverflow, also for a negative argument.
func Allocate(amounts []money.USD, filled money.Shares, carried, given money.USD) (
	[]Allocation, money.Shares, error,
) {
	if filled < 0 || carried < 0 || given < 0 {
		return nil, 0, money.ErrOverflow
	}
	allocations := make([]Allocation, len(amounts))
	left, house := carried+given, filled
	for i, amount := range amounts {
		part := min(amount, left)
		if part < 0 {
			return nil, 0, money.ErrOverflow
		}
		if part == 0 {
			continue
		}
		shares, err := money.Portion(filled, part, carried)
		if err != nil {
			return nil, 0, err
		}
		allocations[i] = Allocation{Amount: part, Shares: shares}
		left -= part
		house -= shares
	}
	return allocations, house, nil
}

// Claim is a member of an order, with what earlier orders bought for its reward.
type Claim struct {
	Member
	UserID       UserID
	RewardAmount money.USD
	Booked       money.USD    // dollars bought by earlier orders
	BookedShares money.Shares // shares bought by earlier orders
	Uncounted    bool         // the reward counts for no budget
}

// Result is the outcome of an order for one member.
type Result struct {
	Claim
	Bought     Allocation
	Status     Status    // of the reward afterwards
	ExecutedAt time.Time // when Executed
	Reason     string    // when Failed
}

// Waits reports whether the reward needs another order.
func (r Result) Waits() bool { return r.Status == Executing }

// Settlement is what is booked when an order ends.
type Settlement struct {
	Results     []Result
	HouseShares money.Shares // as in Order
	State       OrderState   // OrderSettled or OrderRefused
	Reason      string       // why it is OrderRefused
	FilledAt    time.Time    // of the order, as booked; zero if the broker did not report it
}

// Booker decides how the end of an order is booked, given its members in order of arrival and what
// the house has of the stock.
type Booker func(claims []Claim, house money.Shares) (Settlement, error)

// ErrHalfBought reports that an order was rejected although an earlier order bought a part
// of each of its rewards. Such a reward can neither fail nor be complete.
var ErrHalfBought = errors.New("the order was rejected, but earlier orders bought a part of each of its rewards")

// Settle books the end of an order to its members, given in order of arrival. house is what the
// house has of the stock. now replaces a fill time that is missing or in the future. Settle fails
// with money.ErrOverflow or ErrHalfBought; the order is then quarantined.
func Settle(o Order, claims []Claim, house money.Shares, now time.Time) (Settlement, error) {
	if o.BrokerStatus == statusRejected && o.FilledQty == 0 {
		return Refuse(claims, FailureReason(FailureOrderRejected, "the broker rejected the order"))
	}
	carried, err := o.Carried()
	if err != nil {
		return Settlement{}, err
	}
	given, err := o.houseGives(carried, house)
	if err != nil {
		return Settlement{}, err
	}
	amounts := make([]money.USD, len(claims))
	for i, c := range claims {
		amounts[i] = c.Amount
	}
	allocations, rest, err := Allocate(amounts, o.FilledQty, carried, given)
	if err != nil {
		return Settlement{}, err
	}
	s := Settlement{HouseShares: rest, State: OrderSettled, Results: make([]Result, len(claims))}
	if s.FilledAt = o.FilledAt; s.FilledAt.After(now) {
		s.FilledAt = now
	}
	filledAt := s.FilledAt
	if filledAt.IsZero() {
		filledAt = now
	}
	for i, c := range claims {
		if s.Results[i], err = c.book(allocations[i], filledAt); err != nil {
			return Settlement{}, err
		}
	}
	return s, nil
}

// book returns the result of an allocation for the member's reward.
func (c Claim) book(a Allocation, filledAt time.Time) (Result, error) {
	r := Result{Claim: c, Bought: a, Status: Executing}
	if c.Booked+a.Amount < c.RewardAmount {
		return r, nil
	}
	shares, err := money.AddShares(c.BookedShares, a.Shares)
	if err != nil {
		return Result{}, err
	}
	if shares == 0 {
		r.Status = Failed
		r.Reason = FailureReason(FailureAmountTooSmall, "the amount comes to less than a billionth of a share")
		return r, nil
	}
	r.Status, r.ExecutedAt = Executed, filledAt
	if created := c.RewardID.Time(); filledAt.Before(created) {
		r.ExecutedAt = created
	}
	return r, nil
}

// Refuse fails the rewards of an order that was refused for good with nothing bought. Those of which an earlier order
// bought a part wait for the next order, without the others: when all are such, Refuse fails with ErrHalfBought.
func Refuse(claims []Claim, reason string) (Settlement, error) {
	s := Settlement{State: OrderRefused, Reason: reason, Results: make([]Result, len(claims))}
	half := 0
	for i, c := range claims {
		s.Results[i] = Result{Claim: c, Status: Failed, Reason: reason}
		if c.Booked > 0 {
			s.Results[i] = Result{Claim: c, Status: Executing}
			half++
		}
	}
	if half > 0 && half == len(claims) {
		return Settlement{}, ErrHalfBought
	}
	return s, nil
}
