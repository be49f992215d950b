package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// budgetContract are the tests of budgets.
func budgetContract() map[string]func(*testing.T, *World) {
	return map[string]func(*testing.T, *World){
		"BudgetsDecideInOrder":     testBudgetOrder,
		"BudgetsByPeriod":          testBudgetPeriods,
		"BudgetsGetBack":           testBudgetsGetBack,
		"BudgetsCountThePast":      testBudgetsCountThePast,
		"BudgetsAreChanged":        testBudgetsChanged,
		"BudgetsAtOnce":            testBudgetsAtOnce,
		"BudgetsCountDuringAwards": testBudgetsCountDuringAwards,
		"BudgetsAreResumed":        testBudgetsResumed,
	}
}

// budget returns a budget of the world's app, in dollars.
func budget(name string, per rewards.BudgetPer, period rewards.BudgetPeriod, dollars int) rewards.Budget {
	return rewards.Budget{Name: name, Per: per, Period: period, Limit: money.USD(dollars) * money.Dollar}
}

// SetBudgets sets budgets of the world's app.
func (w *World) SetBudgets(t *testing.T, list ...rewards.Budget) {
	t.Helper()
	for _, b := range list {
		set, err := w.SetBudget(t.Context(), w.App.Name, b)
		check(t, err)
		if set.State != rewards.BudgetActive {
			t.Fatalf("the budget %s is %s", b.Name, set.State)
		}
	}
}

// wantUsed checks what is used of the app's budgets now, in their order.
func (w *World) wantUsed(t *testing.T, want ...money.USD) {
	t.Helper()
	list, err := w.Budgets(t.Context(), w.App.ID)
	check(t, err)
	got := make([]money.USD, len(list))
	for i := range list {
		got[i] = list[i].Used
	}
	wantEqual(t, "used", want, got)
}

// try records awards in one batch and returns their verdicts.
func (w *World) try(t *testing.T, batch ...rewards.NewReward) []rewards.Verdict {
	t.Helper()
	outcomes, err := w.RecordRewards(t.Context(), batch)
	check(t, err)
	return verdicts(outcomes)
}

func verdicts(outcomes []rewards.Outcome) []rewards.Verdict {
	list := make([]rewards.Verdict, len(outcomes))
	for i := range outcomes {
		list[i] = outcomes[i].Verdict
	}
	return list
}

// sized returns n awards of some dollars.
func (w *World) sized(t *testing.T, dollars ...int) []rewards.NewReward {
	t.Helper()
	list := make([]rewards.NewReward, len(dollars))
	for i, d := range dollars {
		list[i] = w.Request(t, money.USD(d)*money.Dollar)
	}
	return list
}

// testBudgetOrder: a batch is decided as if its awards had come one after the other. A refused award
// leaves its key free, and only new awards count.
func testBudgetOrder(t *testing.T, w *World) {
	w.SetBudgets(t, budget("b", rewards.PerApp, rewards.PeriodDay, 10), budget("a", rewards.PerUser, rewards.PeriodTotal, 9))
	list := w.sized(t, 4, 7, 5, 4, 1, 2, 1, 3)
	again := func(i int, dollars int) rewards.NewReward {
		r := w.Request(t, money.USD(dollars)*money.Dollar)
		r.IdempotencyKey = list[i].IdempotencyKey
		r.Fingerprint = rewards.NewFingerprint(r, "")
		return r
	}
	list[3] = list[0]                         // a replay
	list[4] = again(1, 1)                     // the key of a refused one: 10 are used
	list[5].UserID = rewards.UserID{9}        // nobody
	list[6].AssetID = 0                       // not giftable
	list = append(list, again(2, 1), list[1]) // a conflict, and a replay of the smaller one fails as another request
	list[7].UserID = w.Users[1].ID
	outcomes, err := w.RecordRewards(t.Context(), list)
	check(t, err)
	wantEqual(t, "verdicts", []rewards.Verdict{
		rewards.Created, rewards.OverBudget, rewards.Created, rewards.Replay, rewards.OverBudget, rewards.NoSuchUser,
		rewards.NotGiftable, rewards.OverBudget, rewards.Conflict, rewards.OverBudget,
	}, verdicts(outcomes))
	day := rewards.PeriodDay.End(w.Now())
	for i, want := range map[int]rewards.BudgetDetails{
		1: {Budget: "a", Limit: 9_000_000, Left: 5_000_000}, 4: {Budget: "a", Limit: 9_000_000},
		7: {Budget: "b", Limit: 10_000_000, Left: 1_000_000, ResetsAt: day},
	} {
		wantEqual(t, fmt.Sprint("details of ", i), want, *outcomes[i].Budget)
	}
	w.wantUsed(t, 0, 9_000_000)
	other := w.sized(t, 1)
	other[0].UserID, other[0].IdempotencyKey = w.Users[1].ID, list[1].IdempotencyKey
	other[0].Fingerprint = rewards.NewFingerprint(other[0], "")
	wantEqual(t, "the key of a refused one", []rewards.Verdict{rewards.Created}, w.try(t, other...))
	w.wantUsed(t, 0, 10_000_000)
	uncounted := w.sized(t, 100)
	uncounted[0].Uncounted = true
	wantEqual(t, "a dividend", []rewards.Verdict{rewards.Created}, w.try(t, uncounted...))
	w.wantUsed(t, 0, 10_000_000)
}

// testBudgetPeriods: days and months are those of UTC; an award counts where it was recorded.
func testBudgetPeriods(t *testing.T, w *World) {
	w.SetBudgets(t, budget("day", rewards.PerApp, rewards.PeriodDay, 5), budget("month", rewards.PerApp, rewards.PeriodMonth, 8),
		budget("total", rewards.PerApp, rewards.PeriodTotal, 12))
	midnight := rewards.PeriodDay.End(w.Now())
	wantEqual(t, "the first day", []rewards.Verdict{rewards.Created, rewards.OverBudget}, w.try(t, w.sized(t, 5, 1)...))
	w.Advance(midnight.Add(-time.Millisecond).Sub(w.Now()))
	wantEqual(t, "before midnight", []rewards.Verdict{rewards.OverBudget}, w.try(t, w.sized(t, 1)...))
	w.Advance(time.Millisecond)
	wantEqual(t, "at midnight", []rewards.Verdict{rewards.Created, rewards.OverBudget}, w.try(t, w.sized(t, 3, 1)...))
	w.wantUsed(t, 3_000_000, 8_000_000, 8_000_000)
	w.Advance(rewards.PeriodMonth.End(w.Now()).Sub(w.Now()))
	wantEqual(t, "the next month", []rewards.Verdict{rewards.Created, rewards.OverBudget}, w.try(t, w.sized(t, 4, 1)...))
	w.wantUsed(t, 4_000_000, 4_000_000, 12_000_000)
	w.Advance(-time.Hour) // the ids go on, and so do their periods
	w.wantUsed(t, 4_000_000, 4_000_000, 12_000_000)
	all, err := w.AppBudgets(t.Context())
	check(t, err)
	if len(all) != 3 || all[0].Used != 4_000_000 || !all[0].ResetsAt.After(w.Now().Add(24*time.Hour)) {
		t.Errorf("after the clock was set back: %+v", all)
	}
}

// testBudgetsGetBack: what fails or is canceled is given back to the period in which it was recorded.
func testBudgetsGetBack(t *testing.T, w *World) {
	w.SetBudgets(t, budget("day", rewards.PerApp, rewards.PeriodDay, 10), budget("user", rewards.PerUser, rewards.PeriodTotal, 10))
	canceled := w.Give(t, 4_000_000)
	check(t, w.canceled(t.Context(), canceled.ID, "a mistake"))
	w.wantUsed(t, 0, 0)
	uncounted := w.sized(t, 5)
	uncounted[0].Uncounted = true
	outcomes, err := w.RecordRewards(t.Context(), uncounted)
	check(t, err)
	check(t, w.canceled(t.Context(), outcomes[0].Reward.ID, "a dividend"))
	w.wantUsed(t, 0, 0)
	w.Give(t, 3_000_000)
	w.Give(t, 5_000_000)
	w.Advance(24 * time.Hour)
	w.Give(t, 1_000_000)
	w.wantUsed(t, 1_000_000, 0)
	o := w.Open(t)
	o.BrokerStatus, o.FilledQty = "rejected", 0
	refuse := func(c []rewards.Claim, _ money.Shares) (rewards.Settlement, error) {
		return rewards.Refuse(c, "order_rejected: no")
	}
	check(t, failure(w.SettleOrders(t.Context(), w.lease, rewards.OrderEnd{From: o.State, Order: o, Book: refuse})))
	w.wantUsed(t, 0, 0)
	w.wantRows(t, "counters that are not zero", 0, `SELECT count(*) FROM budget_use WHERE used <> 0`)
	w.wantRows(t, "counters", 3, `SELECT count(*) FROM budget_use`)
}

// testBudgetsChanged: limits count at once, in every process. A budget that adds up something else
// counts the past again and replaces the one of its name. A removed one leaves nothing.
func testBudgetsChanged(t *testing.T, w *World) {
	w.Give(t, 3_000_000)
	w.SetBudgets(t, budget("b", rewards.PerApp, rewards.PeriodDay, 10))
	beside := w.process(t, 3)
	by := func(s *store.Store, dollars int) rewards.Verdict {
		outcomes, err := s.RecordRewards(t.Context(), w.sized(t, dollars))
		check(t, err)
		return outcomes[0].Verdict
	}
	if got := by(beside, 7); got != rewards.Created {
		t.Errorf("within the limit: %d", got)
	}
	w.SetBudgets(t, budget("b", rewards.PerApp, rewards.PeriodDay, 9))
	for _, s := range []*store.Store{beside, w.Store} {
		if got := by(s, 1); got != rewards.OverBudget {
			t.Errorf("beyond a lowered limit: %d", got)
		}
	}
	list, err := w.Budgets(t.Context(), w.App.ID)
	check(t, err)
	w.SetBudgets(t, budget("b", rewards.PerUser, rewards.PeriodDay, 11), budget("c", rewards.PerApp, rewards.PeriodTotal, 12))
	replaced, err := w.Budgets(t.Context(), w.App.ID)
	check(t, err)
	if len(list) != 1 || len(replaced) != 2 || replaced[0].ID == list[0].ID || replaced[0].Per != rewards.PerUser {
		t.Errorf("replaced: %+v by %+v", list, replaced)
	}
	wantEqual(t, "by user", []rewards.Verdict{rewards.OverBudget, rewards.Created}, []rewards.Verdict{by(beside, 2), by(beside, 1)})
	of, err := w.AppBudgets(t.Context())
	check(t, err)
	if len(of) != 1 || of[0].Name != "c" || of[0].Used != 11_000_000 {
		t.Errorf("budgets per app: %+v", of)
	}
	for _, name := range []string{"b", "c"} {
		check(t, failure(w.RemoveBudget(t.Context(), w.App.Name, name)))
		wantCode(t, failure(w.RemoveBudget(t.Context(), w.App.Name, name)), rewards.CodeNotFound)
	}
	w.wantRows(t, "counters", 0, `SELECT count(*) FROM budget_use`)
	w.wantRows(t, "budgets", 0, `SELECT count(*) FROM budgets`)
	if got := by(beside, 1000); got != rewards.Created {
		t.Errorf("without a budget: %d", got)
	}
	wantCode(t, failure(w.SetBudget(t.Context(), "nobody", budget("b", rewards.PerApp, rewards.PeriodDay, 1))), rewards.CodeNotFound)
	for i := range rewards.MaxBudgets {
		w.SetBudgets(t, budget(fmt.Sprint(i), rewards.PerApp, rewards.PeriodDay, 1))
	}
	wantCode(t, failure(w.SetBudget(t.Context(), w.App.Name, budget("more", rewards.PerApp, rewards.PeriodDay, 1))), rewards.CodeConflict)
	w.SetBudgets(t, budget("7", rewards.PerApp, rewards.PeriodTotal, 1))
}

// process returns a store of another process.
func (w *World) process(t *testing.T, seed byte) *store.Store {
	t.Helper()
	s, err := store.New(t.Context(), struct{ store.Engine }{w.engine}, w.Now, rand.NewChaCha8([32]byte{seed}))
	check(t, err)
	s.SealEvery(SegmentSize)
	return s
}

// testBudgetsAtOnce: concurrent awards of several processes use up a budget to the cent, not more,
// while others fail and give back.
func testBudgetsAtOnce(t *testing.T, w *World) {
	w.SetBudgets(t, budget("day", rewards.PerApp, rewards.PeriodDay, 100), budget("user", rewards.PerUser, rewards.PeriodTotal, 60))
	processes := []*store.Store{w.Store, w.process(t, 3), w.process(t, 4)}
	var mu sync.Mutex
	var created []rewards.Reward
	var group sync.WaitGroup
	for n := range 12 {
		list := w.sized(t, 1, 2, 3, 4, 5, 6, 1, 2, 3)
		for i := range list {
			list[i].UserID = w.Users[(n+i)%2].ID
			list[i].Fingerprint = rewards.NewFingerprint(list[i], "")
		}
		group.Go(func() {
			for part := range slices.Chunk(list, 2) {
				outcomes, err := processes[n%3].RecordRewards(t.Context(), part)
				if err != nil {
					t.Error(err)
					return
				}
				for _, o := range outcomes {
					if o.Verdict == rewards.Created {
						mu.Lock()
						created = append(created, o.Reward)
						mu.Unlock()
					}
				}
			}
		})
		if n%4 == 3 {
			group.Go(func() {
				mu.Lock()
				var victim rewards.Reward
				if len(created) > 0 {
					victim, created = created[0], created[1:]
				}
				mu.Unlock()
				if err := w.canceled(t.Context(), victim.ID, "a mistake"); err != nil && !victim.ID.IsZero() {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	for _, one := range w.sized(t, slices.Repeat([]int{1}, 100)...) { // what was given back, and each user's rest
		for _, u := range w.Users[:2] {
			one.UserID = u.ID
			one.Fingerprint = rewards.NewFingerprint(one, "")
			if outcomes, err := w.RecordRewards(t.Context(), []rewards.NewReward{one}); err != nil {
				t.Fatal(err)
			} else if outcomes[0].Verdict == rewards.Created {
				break
			}
		}
	}
	w.wantUsed(t, 100_000_000, 0)
	w.wantRows(t, "dollars that did not fail", 100_000_000, `SELECT sum(amount) FROM rewards WHERE status <> 4`)
	w.wantRows(t, "dollars of the users", 100_000_000, `SELECT sum(used) FROM budget_use WHERE user_id <> ?1`, []byte{})
}

// budgetDeeds are the deeds about budgets.
func (w *World) budgetDeeds() []deed {
	object := "budget " + w.App.ID.String() + " daily: "
	set := func(dollars int) func(context.Context, *store.Operator) error {
		return func(ctx context.Context, o *store.Operator) error {
			_, err := o.SetBudget(ctx, "first", budget("daily", rewards.PerApp, rewards.PeriodDay, dollars))
			return err
		}
	}
	return []deed{
		{"SetBudget", set(500), []string{
			object + "per: app, period: day, limit: 500, removed: no, counted: no: why", object + "counted: no -> yes: why",
		}},
		{"SetBudget", set(400), []string{object + "limit: 500 -> 400: why"}},
		{"RemoveBudget", func(ctx context.Context, o *store.Operator) error {
			_, err := o.RemoveBudget(ctx, "first", "daily")
			return err
		}, []string{object + "removed: no -> yes: why"}},
	}
}
