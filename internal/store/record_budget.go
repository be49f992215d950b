package store

import (
	"context"
	"slices"

	"stockrewards/internal/rewards"
)

// spend decides the requests of apps with budgets, strictly in the order of the batch: what an
// earlier one used, a later one cannot. Each counter is read once and raised once. Requests are
// stored together at the end.
func (r *recording) spend(ctx context.Context, rows batchRows, requests []int) error {
	known, err := rows.keyed(ctx, requests)
	if err != nil {
		return err
	}
	users, err := r.usersOf(ctx, rows, requests, known)
	if err != nil {
		return err
	}
	spending, err := r.newSpending(ctx, rows, requests, known, users)
	if err != nil {
		return err
	}
	var accepted []int
	for _, i := range requests {
		n, stored := &r.batch[i], known[r.key(i)]
		o := n.Decide(r.ids[i], stored, users[userKey{n.AppID, n.UserID}])
		if o.Verdict == rewards.Created && stored == nil {
			if o = r.admit(spending, i, o); o.Verdict == rewards.Created {
				accepted = append(accepted, i)
				known[r.key(i)] = &rewards.KeyedReward{Fingerprint: *r.fingerprint(i), Reward: o.Reward}
			}
		}
		r.outcomes[i] = o
	}
	if len(accepted) == 0 {
		return nil
	}
	if err := addToCounters(ctx, rows.transaction(), spending.Added()); err != nil {
		return err
	}
	return rows.insertNew(ctx, accepted)
}

// admit refuses a new reward that a budget forbids.
func (r *recording) admit(s *rewards.Spending, i int, o rewards.Outcome) rewards.Outcome {
	if r.batch[i].Uncounted {
		return o
	}
	if exceeded := s.Spend(r.budgets.of[o.Reward.AppID], o.Reward); exceeded != nil {
		return rewards.Outcome{Verdict: rewards.OverBudget, Budget: exceeded}
	}
	return o
}

// usersOf finds out which users exist, of the requests whose key is unused.
func (r *recording) usersOf(
	ctx context.Context, rows batchRows, requests []int, known map[requestKey]*rewards.KeyedReward,
) (map[userKey]bool, error) {
	users := make(map[userKey]bool, len(requests))
	var unknown []int
	for _, i := range requests {
		k := userKey{r.batch[i].AppID, r.batch[i].UserID}
		if known[r.key(i)] != nil || users[k] {
			continue
		}
		if users[k] = r.store.known.has(k); !users[k] {
			unknown = append(unknown, i)
		}
	}
	if len(unknown) == 0 {
		return users, nil
	}
	found, err := rows.users(ctx, unknown)
	for k, exists := range found {
		users[k] = exists
	}
	return users, err
}

// newSpending makes the ids of the requests that may create a reward, which fix their periods, and
// reads the counters of their budgets. An id of an earlier attempt was not stored: no reward has
// the key.
func (r *recording) newSpending(
	ctx context.Context, rows batchRows, requests []int, known map[requestKey]*rewards.KeyedReward,
	users map[userKey]bool,
) (*rewards.Spending, error) {
	var counters []rewards.BudgetCounter
	seen := make(map[rewards.BudgetCounter]bool)
	for _, i := range requests {
		n := &r.batch[i]
		if known[r.key(i)] != nil || !users[userKey{n.AppID, n.UserID}] {
			continue
		}
		r.newID(i)
		for _, b := range r.budgets.of[n.AppID] {
			c := b.Counter(r.ids[i].Time(), n.UserID)
			if !seen[c] && !n.Uncounted {
				counters, seen[c] = append(counters, c), true
			}
		}
	}
	used, err := readCounters(ctx, rows.transaction(), counters)
	return rewards.NewSpending(used), err
}

// divide divides the batch by whether the requests' apps have budgets.
func (r *recording) divide() (free, budgeted []int) {
	open := r.open()
	free = make([]int, 0, len(open))
	for _, i := range open {
		if r.budgets.of[r.batch[i].AppID] == nil {
			free = append(free, i)
		} else {
			budgeted = append(budgeted, i)
		}
	}
	return free, budgeted
}

// noneBudgeted reports whether no app of some requests had a budget when the budgets were read last.
func (r *recording) noneBudgeted(requests []int) bool {
	r.budgets = r.store.budgets.known.Load()
	return r.budgets != nil && !slices.ContainsFunc(requests, func(i int) bool {
		return r.budgets.of[r.batch[i].AppID] != nil
	})
}
