package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// setBudget sets a budget of the client's app, in dollars.
func (c client) setBudget(t *testing.T, name string, per rewards.BudgetPer, period rewards.BudgetPeriod, limit money.USD) {
	t.Helper()
	_, err := c.world.store.SetBudget(t.Context(), c.app.Name, rewards.Budget{Name: name, Per: per, Period: period, Limit: limit})
	check(t, err)
}

// toNoon advances the clock to noon of the next day, so that no day ends within a test.
func (w *world) toNoon() {
	const halfADay = 12 * time.Hour
	w.clock.advance(rewards.PeriodDay.End(w.clock.now()).Add(halfADay).Sub(w.clock.now()))
}

func overBudget(name, limit, left string, resetsAt any) map[string]any {
	return map[string]any{
		"budget": name, "limitUsd": json.Number(limit), "leftUsd": json.Number(left), "resetsAt": resetsAt,
	}
}

// stamp is a time as the service writes it.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// Additions, section 3: an award beyond a budget is a 422 after that of the asset. It stores nothing,
// its key stays free, and replays never count. The first exceeded budget by name is reported.
func TestAwardBeyondABudget(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	w.toNoon()
	user := c.newUser(t)
	early := award(user, "amountUsd", "4", "idempotencyKey", `"before-the-budget"`)
	c.post(t, "/v1/rewards", early).wantStatus(t, http.StatusCreated)
	c.setBudget(t, "b", rewards.PerApp, rewards.PeriodDay, 10*money.Dollar)
	c.setBudget(t, "c", rewards.PerApp, rewards.PeriodMonth, 10*money.Dollar)
	c.setBudget(t, "d", rewards.PerUser, rewards.PeriodTotal, 9_500_000)
	const key = `"refused-at-first"`
	day, month := stamp(rewards.PeriodDay.End(w.clock.now())), stamp(rewards.PeriodMonth.End(w.clock.now()))
	refuse := func(amount string, details map[string]any) {
		t.Helper()
		c.post(t, "/v1/rewards", award(user, "amountUsd", amount, "idempotencyKey", key)).
			wantStatus(t, http.StatusUnprocessableEntity).want(t, "unprocessable_entity", "error", "code").
			want(t, details, "error", "details")
	}
	refuse("6.000001", overBudget("b", "10", "6", day))
	refuse("5.6", overBudget("d", "9.5", "5.5", nil))
	c.post(t, "/v1/rewards", early).wantStatus(t, http.StatusOK)
	c.post(t, "/v1/rewards", award(user, "amountUsd", "99", "assetSymbol", `"NONE"`)).
		wantStatus(t, http.StatusUnprocessableEntity).want(t, map[string]any{"assetSymbol": "NONE"}, "error", "details")
	c.post(t, "/v1/rewards", award(unknownID, "amountUsd", "99")).wantStatus(t, http.StatusNotFound)
	c.setBudget(t, "b", rewards.PerApp, rewards.PeriodDay, 3*money.Dollar)
	refuse("0.000001", overBudget("b", "3", "0", day))
	_, err := w.store.RemoveBudget(t.Context(), c.app.Name, "b")
	check(t, err)
	other := c.newUser(t)
	c.post(t, "/v1/rewards", award(other, "amountUsd", "6", "idempotencyKey", key)).wantStatus(t, http.StatusCreated)
	refuse2 := c.post(t, "/v1/rewards", award(other, "amountUsd", "0.5")).wantStatus(t, http.StatusUnprocessableEntity)
	refuse2.want(t, overBudget("c", "10", "0", month), "error", "details")
	c.world.clock.advance(rewards.PeriodMonth.End(w.clock.now()).Sub(w.clock.now()))
	c.post(t, "/v1/rewards", award(other, "amountUsd", "0.5")).wantStatus(t, http.StatusCreated)
}

// Additions, sections 2 and 3: each item of a batch is judged as if they came one after the other.
func TestBatchBeyondABudget(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	w.toNoon()
	user := c.newUser(t)
	c.setBudget(t, "daily", rewards.PerApp, rewards.PeriodDay, 10*money.Dollar)
	batch := batchOf(award(user, "amountUsd", "7", "idempotencyKey", `"item-one"`), award(user, "amountUsd", "4"),
		award(user, "amountUsd", "3"), award(user, "amountUsd", "7", "idempotencyKey", `"item-one"`))
	for _, want := range []map[string]any{
		{"created": json.Number("2"), "replayed": json.Number("1"), "refused": json.Number("1")},
		{"created": json.Number("0"), "replayed": json.Number("3"), "refused": json.Number("1")},
	} {
		a := c.post(t, "/v1/rewards/batches", batch).wantStatus(t, http.StatusOK).want(t, want, "summary")
		a.want(t, json.Number("422"), "results", 1, "status")
	}
	c.get(t, "/v1/budgets").wantStatus(t, http.StatusOK).want(t, []any{map[string]any{
		"name": "daily", "per": "app", "period": "day", "limitUsd": json.Number("10"), "usedUsd": json.Number("10"),
		"resetsAt": stamp(rewards.PeriodDay.End(w.clock.now())),
	}}, "budgets")
}

// Additions, section 3: the budgets of an app, sorted by name.
func TestBudgetList(t *testing.T) {
	t.Parallel()
	w, c := newWorldWithApp(t)
	w.toNoon()
	user := c.newUser(t)
	c.get(t, "/v1/budgets").wantStatus(t, http.StatusOK).want(t, []any{}, "budgets")
	c.setBudget(t, "total", rewards.PerApp, rewards.PeriodTotal, 100*money.Dollar)
	c.setBudget(t, "B", rewards.PerUser, rewards.PeriodMonth, 50_500_000)
	c.post(t, "/v1/rewards", award(user, "amountUsd", "2.25")).wantStatus(t, http.StatusCreated)
	c.get(t, "/v1/budgets").wantStatus(t, http.StatusOK).want(t, []any{
		map[string]any{
			"name": "B", "per": "user", "period": "month", "limitUsd": json.Number("50.5"), "usedUsd": nil,
			"resetsAt": stamp(rewards.PeriodMonth.End(w.clock.now())),
		},
		map[string]any{
			"name": "total", "per": "app", "period": "total", "limitUsd": json.Number("100"), "usedUsd": json.Number("2.25"),
			"resetsAt": nil,
		},
	}, "budgets")
	w.newApp(t).get(t, "/v1/budgets").wantStatus(t, http.StatusOK).want(t, []any{}, "budgets")
}
