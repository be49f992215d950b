package rewards

import (
	"bytes"
	"time"
)

// RewardFilter restricts a list of rewards. Nil, zero and empty members do not restrict. The
// user need not exist.
type RewardFilter struct {
	UserID         *UserID
	Status         Status
	IdempotencyKey string
	CreatedAfter   *time.Time // exclusive, compared with the millisecond of CreatedAt
	CreatedBefore  *time.Time // the same
}

// Narrow returns the part of a page that CreatedBefore leaves, or false when nothing can be in it.
// A place is exact, because ids sort by the millisecond of their creation.
func (f RewardFilter) Narrow(p Page[Reward]) (Page[Reward], bool) {
	if f.CreatedBefore == nil {
		return p, true
	}
	end := FirstID[Reward](f.CreatedBefore.Add(time.Millisecond - time.Nanosecond)) // rounds up
	if p.Before.IsZero() || bytes.Compare(end[:], p.Before[:]) < 0 {
		p.Before = end
	}
	return p, !end.IsZero()
}

// Begins reports whether CreatedAfter admits a reward. Where it does not, it admits no older one.
func (f RewardFilter) Begins(r Reward) bool {
	return f.CreatedAfter == nil || r.CreatedAt().After(*f.CreatedAfter)
}

// Matches reports whether the filter admits a reward, apart from CreatedBefore.
func (f RewardFilter) Matches(r Reward) bool {
	return (f.UserID == nil || *f.UserID == r.UserID) && (f.Status == 0 || f.Status == r.Status) &&
		(f.IdempotencyKey == "" || f.IdempotencyKey == r.IdempotencyKey) && f.Begins(r)
}
