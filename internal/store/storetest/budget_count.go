package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// testBudgetsCountThePast: what was recorded in the period before counts, in parts.
func testBudgetsCountThePast(t *testing.T, w *World) {
	w.Give(t, 7_000_000)
	w.Advance(24 * time.Hour)
	const many = 2_100 // more than a part
	batch := make([]rewards.NewReward, many)
	for i := range batch {
		batch[i] = w.Request(t, money.USD(1+i%3)*money.Dollar)
		batch[i].UserID = w.Users[i%3].ID
		batch[i].Fingerprint = rewards.NewFingerprint(batch[i], "")
		batch[i].Uncounted = i == 5
	}
	outcomes, err := w.RecordRewards(t.Context(), batch)
	check(t, err)
	check(t, w.canceled(t.Context(), outcomes[8].Reward.ID, "a mistake"))
	w.SetBudgets(t, budget("day", rewards.PerApp, rewards.PeriodDay, 5000), budget("month", rewards.PerApp, rewards.PeriodMonth, 5000),
		budget("total", rewards.PerApp, rewards.PeriodTotal, 4201), budget("user", rewards.PerUser, rewards.PeriodDay, 2100))
	const today = 4_200_000_000 - 3_000_000 - 3_000_000
	w.wantUsed(t, today, today+7_000_000, today+7_000_000, 0)
	w.wantRows(t, "dollars of the users", today, `SELECT sum(used) FROM budget_use WHERE user_id <> ?1`, []byte{})
	third := w.sized(t, 6, 7)
	third[0].UserID, third[1].UserID = w.Users[2].ID, w.Users[2].ID
	wantEqual(t, "the third user has 6 left, and the app none afterwards", []rewards.Verdict{rewards.OverBudget, rewards.OverBudget},
		w.try(t, third...))
	check(t, w.canceled(t.Context(), outcomes[0].Reward.ID, "a mistake"))
	w.wantUsed(t, today-1_000_000, today+6_000_000, today+6_000_000, 0)
}

// testBudgetsCountDuringAwards: a budget that is set during awards and cancellations counts each once.
func testBudgetsCountDuringAwards(t *testing.T, w *World) {
	for range 3 {
		w.try(t, w.sized(t, slices.Repeat([]int{1}, 1000)...)...)
	}
	beside, ctx := w.process(t, 3), t.Context()
	stop := make(chan struct{})
	var group sync.WaitGroup
	for n, s := range []*store.Store{w.Store, beside} {
		list := w.sized(t, slices.Repeat([]int{1, 2, 3}, 300)...)
		group.Go(func() {
			for i, r := range list {
				select {
				case <-stop:
					return
				default:
				}
				outcomes, err := s.RecordRewards(ctx, []rewards.NewReward{r})
				if err != nil {
					t.Error(err)
					return
				}
				if i%5 == n {
					if err := w.canceled(ctx, outcomes[0].Reward.ID, "a mistake"); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	w.SetBudgets(t, budget("day", rewards.PerApp, rewards.PeriodDay, 100_000), budget("user", rewards.PerUser, rewards.PeriodTotal, 100_000))
	close(stop)
	group.Wait()
	w.wantRows(t, "wrong counters", 0, `SELECT count(*) FROM budget_use
		WHERE used <> (SELECT sum(amount) FROM rewards WHERE status <> 4)`)
	w.wantRows(t, "counters", 2, `SELECT count(*) FROM budget_use`)
}

// Dying is an engine whose process dies before one of its writes.
type Dying struct {
	store.Engine

	Left int // writes that succeed
}

// ErrDied is what a write of a Dying engine fails with.
var ErrDied = errors.New("the process died")

// Write implements store.Engine.
func (e *Dying) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	e.Left--
	if e.Left < 0 {
		return ErrDied
	}
	return e.Engine.Write(ctx, f)
}

// WriteBooks implements store.Engine.
func (e *Dying) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Write(ctx, f)
}

// testBudgetsResumed: the command may die at any of its commits. Awards go on, and a repetition
// counts what is left.
func testBudgetsResumed(t *testing.T, w *World) {
	for range 3 {
		w.try(t, w.sized(t, slices.Repeat([]int{1}, 1000)...)...)
	}
	used := money.USD(3_000_000_000)
	by := rewards.Operator{Actor: "tester@storetest", Command: "budget set"}
	old := budget("b", rewards.PerUser, rewards.PeriodDay, 3100)
	w.SetBudgets(t, old)
	for alive := range 10 {
		s, err := store.New(t.Context(), &Dying{Engine: w.engine, Left: alive}, w.Now, zeros{})
		check(t, err)
		b := budget("b", rewards.PerApp, rewards.PeriodDay, 3050)
		_, err = s.As(by).SetBudget(t.Context(), w.App.Name, b)
		w.Give(t, money.Dollar)
		used += money.Dollar
		if err == nil {
			w.wantUsed(t, used)
			w.wantRows(t, "counters", 1, `SELECT count(*) FROM budget_use`)
			return
		}
		if !errors.Is(err, ErrDied) {
			t.Fatal(err)
		}
	}
	t.Error("the command never came to its end")
}

// CancelsBesideAwards cancels awards of two apps in batches, in any order, while both get new ones. All count for
// budgets of the apps.
func CancelsBesideAwards(t *testing.T, engine store.Engine) {
	t.Helper()
	const cancels, each = 200, 2
	w := NewWorld(t, engine)
	second := w.NewApp(t, "second")
	day := budget("day", rewards.PerApp, rewards.PeriodDay, 1_000_000)
	w.SetBudgets(t, day)
	_, err := w.SetBudget(t.Context(), second.Name, day)
	check(t, err)
	theirs := w.NewUser(t, second.ID, "theirs")
	given := make(chan []rewards.Reward, 1)
	go func() {
		defer close(given)
		for range cancels / each {
			list := w.sized(t, 1, 1)
			list[1].AppID, list[1].UserID = second.ID, theirs.ID
			list[1].Fingerprint = rewards.NewFingerprint(list[1], "")
			outcomes, err := w.RecordRewards(t.Context(), list)
			if err != nil {
				t.Error(err)
				return
			}
			given <- []rewards.Reward{outcomes[1].Reward, outcomes[0].Reward}
		}
	}()
	n := 0
	for list := range given {
		outcomes, err := w.ReverseRewards(t.Context(), []rewards.NewReversal{w.back(list[0], 0), w.back(list[1], 0)})
		check(t, err)
		for _, o := range outcomes {
			check(t, o.Refused)
			n++
		}
	}
	if n != cancels {
		t.Errorf("%d awards were canceled", n)
	}
	w.wantUsed(t, 0)
}
