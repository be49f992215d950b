package rewards

import (
	"errors"
	"time"

	"stockrewards/internal/money"
)

// OrderEnd is the end of an order, which must be booked.
type OrderEnd struct {
	From  OrderState // of the stored order
	Order Order      // as reported last; a State other than From is stored before the end
	Book  Booker
}

// unbookable reports whether the booking of an order failed for the order's own sake: a sum would be too large, or its
// rewards could neither fail nor be complete. No retry helps. Every other error is about the store.
func unbookable(err error) bool {
	return errors.Is(err, money.ErrOverflow) || errors.Is(err, ErrHalfBought)
}

// Cost is what the result adds to the cost basis of the user's holding: the reward's whole
// amount when this order completes it, otherwise nothing.
func (r Result) Cost() money.USD {
	if r.Status != Executed || r.Bought.Amount == 0 {
		return 0
	}
	return r.RewardAmount
}

// ChangesHolding reports whether the result adds shares or cost to the user's holding. The
// house takes the shares of a failed reward.
func (r Result) ChangesHolding() bool {
	return r.Status != Failed && (r.Bought.Shares > 0 || r.Cost() > 0)
}

// WithSettlement returns the order with its settlement, booked at now, and never before its first
// attempt when the clock was set back.
func (o Order) WithSettlement(s Settlement, now time.Time) Order {
	o.State, o.Reason, o.HouseShares, o.FilledAt = s.State, s.Reason, s.HouseShares, s.FilledAt
	o.SettledAt = notBefore(now, o.FirstAttemptAt)
	return o
}

// notBefore returns t, or the moment of its cause when a clock was set back between them.
func notBefore(t, cause time.Time) time.Time {
	if t.Before(cause) {
		return cause
	}
	return t
}
