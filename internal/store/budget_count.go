package store

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// counterKey is a counter's key as it is stored.
func counterKey(c rewards.BudgetCounter) (budget, start int64, user []byte) {
	user = []byte{}
	if !c.UserID.IsZero() {
		user = c.UserID[:]
	}
	return int64(c.Budget), micros(c.Start), user
}

// used returns the value of a counter; a missing one is zero.
func used(ctx context.Context, tx Tx, c rewards.BudgetCounter) (sum money.USD, err error) {
	budget, start, user := counterKey(c)
	_, err = fetchValues(ctx, tx, []any{(*int64)(&sum)}, `SELECT used FROM budget_use
		WHERE budget = ?1 AND period_start = ?2 AND user_id = ?3`, budget, start, user)
	return sum, err
}

// readCounters reads counters for a transaction that raises them, over a network at once. There it locks them: what
// another transaction gives back meanwhile counts before the first request is decided, or after the last one.
func readCounters(ctx context.Context, tx Tx, list []rewards.BudgetCounter) (
	sums map[rewards.BudgetCounter]money.USD, err error,
) {
	sums = make(map[rewards.BudgetCounter]money.USD, len(list))
	if _, columns := tx.(ColumnTx); columns {
		return lockCounters(ctx, tx, list)
	}
	for _, c := range list {
		if sums[c], err = used(ctx, tx, c); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// lockCounters reads counters over a network and locks them, in the order of their keys. Every transaction that changes
// several does this first, because two that lock in different orders wait for each other. Otherwise it does nothing.
func lockCounters(ctx context.Context, tx Tx, list []rewards.BudgetCounter) (
	sums map[rewards.BudgetCounter]money.USD, err error,
) {
	sums = make(map[rewards.BudgetCounter]money.USD, len(list))
	if _, columns := tx.(ColumnTx); !columns || len(list) == 0 {
		return sums, nil
	}
	ids, starts, users := make([]int64, len(list)), make([]int64, len(list)), make([][]byte, len(list))
	for i, c := range list {
		ids[i], starts[i], users[i] = counterKey(c)
	}
	err = tx.Query(ctx, func(row Row) error {
		var place, sum int64
		err := row.Scan(&place, &sum)
		sums[list[place-1]] = money.USD(sum)
		return err
	}, `SELECT c.place, u.used FROM unnest(?1::bigint[], ?2::bigint[], ?3::bytea[])
			WITH ORDINALITY AS c (budget, period_start, user_id, place)
		JOIN budget_use u ON u.budget = c.budget AND u.period_start = c.period_start AND u.user_id = c.user_id
		ORDER BY u.budget, u.period_start, u.user_id FOR UPDATE OF u`,
		ids, starts, users)
	return sums, err
}

// addToCounters raises counters, and makes those that are missing.
func addToCounters(ctx context.Context, tx Tx, sums map[rewards.BudgetCounter]money.USD) error {
	const add = ` ON CONFLICT (budget, period_start, user_id) DO UPDATE SET used = budget_use.used + excluded.used`
	_, err := execRows(ctx, tx, `INSERT INTO budget_use (budget, period_start, user_id, used)
		VALUES (?1, ?2, ?3, ?4)`+add, `INSERT INTO budget_use (budget, period_start, user_id, used)
		SELECT * FROM unnest(?1::bigint[], ?2::bigint[], ?3::bytea[], ?4::bigint[])`+add, counterRows(sums))
	return err
}

// giveBack lowers the counters of the budgets that have rewards which failed in this transaction.
// Over PostgreSQL others record at the same time, so a counter is never written as it was read.
func giveBack(ctx context.Context, tx Tx, failed []rewards.Spent) error {
	sums := make(map[rewards.BudgetCounter]money.USD)
	byApp := make(map[rewards.AppID][]rewards.Spent)
	for _, r := range failed {
		byApp[r.AppID] = append(byApp[r.AppID], r)
	}
	for app, list := range byApp {
		budgets, err := budgetsOfApp(ctx, tx, app)
		if err != nil {
			return err
		}
		for c, sum := range rewards.SpentOn(budgets, list) {
			sums[c] += sum
		}
	}
	if _, err := lockCounters(ctx, tx, slices.Collect(maps.Keys(sums))); err != nil {
		return err
	}
	_, err := execRows(ctx, tx, `UPDATE budget_use SET used = used - ?4
		WHERE budget = ?1 AND period_start = ?2 AND user_id = ?3`,
		`UPDATE budget_use u SET used = u.used - c.used
		FROM unnest(?1::bigint[], ?2::bigint[], ?3::bytea[], ?4::bigint[]) AS c (budget, period_start, user_id, used)
		WHERE u.budget = c.budget AND u.period_start = c.period_start AND u.user_id = c.user_id`, counterRows(sums))
	return err
}

// giveBackCanceled is giveBack for rewards that a transaction has canceled, of those that count.
func giveBackCanceled(ctx context.Context, tx Tx, list ...rewards.Reward) error {
	var spent []rewards.Spent
	for _, r := range list {
		var counted bool
		_, err := fetchValues(ctx, tx, []any{toFlag{&counted}}, `SELECT counted FROM rewards
			WHERE app_id = ?1 AND id = ?2`, r.AppID[:], r.ID[:])
		if err != nil {
			return err
		}
		if counted {
			spent = append(spent, rewards.Spent{AppID: r.AppID, ID: r.ID, UserID: r.UserID, Amount: r.Amount})
		}
	}
	return giveBack(ctx, tx, spent)
}

// counterRows returns counters with their changes as arguments, in the order of their keys: every
// transaction locks them in the same order.
func counterRows(sums map[rewards.BudgetCounter]money.USD) [][]any {
	order := slices.SortedFunc(maps.Keys(sums), func(a, b rewards.BudgetCounter) int {
		return cmp.Or(cmp.Compare(a.Budget, b.Budget), a.Start.Compare(b.Start),
			bytes.Compare(a.UserID[:], b.UserID[:]))
	})
	rows := make([][]any, len(order))
	for i, c := range order {
		budget, start, user := counterKey(c)
		rows[i] = []any{budget, start, user, int64(sums[c])}
	}
	return rows
}
