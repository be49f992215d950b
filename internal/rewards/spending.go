package rewards

import (
	"context"
	"slices"
	"time"

	"stockrewards/internal/money"
)

// Spending judges new rewards by the budgets of their apps, one after the other.
type Spending struct {
	used  map[BudgetCounter]money.USD // as stored
	added map[BudgetCounter]money.USD // by the rewards that were accepted
}

// NewSpending returns a Spending over the stored counters; a missing one is zero.
func NewSpending(used map[BudgetCounter]money.USD) *Spending {
	return &Spending{used: used, added: make(map[BudgetCounter]money.USD)}
}

// Spend counts a new reward in each budget of its app, unless it would exceed one that is in
// force. It then counts nothing and returns the first exceeded one; budgets are sorted by name.
func (s *Spending) Spend(budgets []Budget, r Reward) *BudgetDetails {
	at := r.CreatedAt()
	for _, b := range budgets {
		if b.State != BudgetActive {
			continue
		}
		c := b.Counter(at, r.UserID)
		if left := b.Limit - s.used[c] - s.added[c]; r.Amount > left {
			return &BudgetDetails{Budget: b.Name, Limit: b.Limit, Left: max(0, left), ResetsAt: b.Period.End(at)}
		}
	}
	for _, b := range budgets {
		s.added[b.Counter(at, r.UserID)] += r.Amount
	}
	return nil
}

// Added returns by how much each counter must grow.
func (s *Spending) Added() map[BudgetCounter]money.USD { return s.added }

// BudgetDetails is the budget that an award would exceed.
type BudgetDetails struct {
	Budget   string // its name
	Limit    money.USD
	Left     money.USD // never negative
	ResetsAt time.Time // zero: never
}

// Spent is a recorded reward as budgets count it.
type Spent struct {
	AppID  AppID
	ID     RewardID
	UserID UserID
	Amount money.USD
}

// SpentByFailed lists the members whose rewards an order fails, without those that count for no
// budget.
func SpentByFailed(results []Result) (list []Spent) {
	for i := range results {
		if r := &results[i]; r.Status == Failed && !r.Uncounted {
			list = append(list, Spent{AppID: r.AppID, ID: r.RewardID, UserID: r.UserID, Amount: r.RewardAmount})
		}
	}
	return list
}

// SpentOn adds up rewards by the counters of the budgets that have them.
func SpentOn(budgets []Budget, list []Spent) map[BudgetCounter]money.USD {
	sums := make(map[BudgetCounter]money.USD)
	for _, r := range list {
		for _, b := range budgets {
			if b.AppID == r.AppID && b.Covers(r.ID) {
				sums[b.Counter(r.ID.Time(), r.UserID)] += r.Amount
			}
		}
	}
	return sums
}

// Budgets lists the budgets of the app that are in force, by name (additions, section 3).
func (s *Service) Budgets(ctx context.Context, app AppID) ([]BudgetUse, error) {
	list, err := s.store.Budgets(ctx, app)
	return slices.DeleteFunc(list, func(u BudgetUse) bool { return u.State != BudgetActive }), err
}
