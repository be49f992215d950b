package rewards

import (
	"errors"
	"time"

	"stockrewards/internal/money"
)

// Allocation is what an order brought to one of its members: the part of its
// amount that was bought and the shares of that part. It never changes.
type Allocation struct {
	Amount money.USD
	Shares money.Shares
}

// Allocate divides a fill among amounts, given in order of arrival: the carried
// dollars go to them in that order, so that at most one is split, and a part gets
// floor(filled x part / carried) shares. What the floors leave, and what the
// dollars beyond the amounts bought, goes to the house. The allocations and the
// house's shares sum to filled exactly. It fails with money.ErrOverflow, also on
// a negative argument.
func Allocate(amounts []money.USD, filled money.Shares, carried money.USD) ([]Allocation, money.Shares, error) {
	if filled < 0 || carried < 0 {
		return nil, 0, money.ErrOverflow
	}
	allocations := make([]Allocation, len(amounts))
	left, house := carried, filled
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

// Claim is a member of an order with what its reward has got so far.
type Claim struct {
	Member
	UserID       UserID
	RewardAmount money.USD
	Booked       money.USD    // bought by earlier orders
	BookedShares money.Shares // by earlier orders
}

// Result is what the settlement of an order makes of one member.
type Result struct {
	Claim
	Bought     Allocation
	Status     Status    // of the reward afterwards
	ExecutedAt time.Time // when Executed
	Reason     string    // when Failed
}

// Waits tells whether the reward needs another order.
func (r Result) Waits() bool { return r.Status == Executing }

// Settlement is what is booked when an order has ended.
type Settlement struct {
	Results     []Result
	HouseShares money.Shares
	State       OrderState // OrderSettled or OrderRefused
	Reason      string     // of OrderRefused
	FilledAt    time.Time  // of the order, as it is booked; zero: not told
}

// ErrHalfBought says that an order was rejected, but one of its rewards has a part that an
// earlier order bought, so that it can neither fail nor be complete.
var ErrHalfBought = errors.New("rejected, but an earlier order bought a part of one of its rewards")

// Settle books the end of an order to its members, given in order of arrival. now
// replaces a fill time that the broker does not report, or reports from the future. It fails with
// money.ErrOverflow or ErrHalfBought; the order is then quarantined.
func Settle(o Order, claims []Claim, now time.Time) (Settlement, error) {
	if o.BrokerStatus == "rejected" && o.FilledQty == 0 {
		return Refuse(claims, FailureReason(FailureOrderRejected, "the broker rejected the order"))
	}
	carried, err := o.Carried()
	if err != nil {
		return Settlement{}, err
	}
	amounts := make([]money.USD, len(claims))
	for i, c := range claims {
		amounts[i] = c.Amount
	}
	allocations, house, err := Allocate(amounts, o.FilledQty, carried)
	if err != nil {
		return Settlement{}, err
	}
	s := Settlement{HouseShares: house, State: OrderSettled, Results: make([]Result, len(claims))}
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

// book is what an allocation makes of a member's reward.
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

// Refuse fails the members of an order that was refused for good with nothing
// bought. It fails with ErrHalfBought.
func Refuse(claims []Claim, reason string) (Settlement, error) {
	s := Settlement{State: OrderRefused, Reason: reason, Results: make([]Result, len(claims))}
	for i, c := range claims {
		if c.Booked > 0 {
			return Settlement{}, ErrHalfBought
		}
		s.Results[i] = Result{Claim: c, Status: Failed, Reason: reason}
	}
	return s, nil
}
