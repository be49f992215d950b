package fulfillment

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

// budgetsEvery is the pause between two looks at the budgets of apps.
const budgetsEvery = 5 * time.Second

// budgetWatch is what the leader knows of budgets.
type budgetWatch struct {
	readAt time.Time
	list   []rewards.BudgetUse // as last read
}

// watchBudgets raises the alarms of the budgets that are used up, or almost.
func (w *Worker) watchBudgets(ctx context.Context) error {
	b := &w.budgets
	if now := w.now(); now.Sub(b.readAt) >= budgetsEvery {
		list, err := w.store.AppBudgets(ctx)
		if err != nil {
			w.alarms.partial = true
			return err
		}
		b.readAt, b.list = now, list
	}
	for _, u := range b.list {
		if a, raised := u.Alarm(); raised {
			w.alarms.raise(a.Name, a.Message)
		}
	}
	return nil
}
