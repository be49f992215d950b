package fulfillment

import (
	"context"
	"errors"
	"time"

	"stockrewards/internal/rewards"
)

// judgeBesideConflicts applies the due actions that explain the broker's positions without the orders that our books
// lack. After a restored backup such an order from after a split can be adopted only when the split is applied.
func (w *Worker) judgeBesideConflicts(ctx context.Context, live []rewards.Order, clock rewards.MarketClock) error {
	if !w.anyDue(clock) {
		return nil
	}
	conflicts, err := w.store.Conflicts(ctx)
	if err != nil {
		return err
	}
	booked, err := w.store.Booked(ctx)
	if err != nil {
		return err
	}
	theirs, err := w.readPositions(ctx)
	if err != nil {
		return err
	}
	for _, c := range conflicts {
		for i := range theirs {
			if c.AcknowledgedAt.IsZero() && c.Symbol == theirs[i].Symbol {
				theirs[i].Qty -= c.FilledQty
			}
		}
	}
	return w.judgeActions(ctx, newStakes(booked, theirs), live, clock)
}

// applyConfirmed applies an action that two comparisons confirm, whether an operator has approved it or not. err is
// that of its preparation.
func (w *Worker) applyConfirmed(
	ctx context.Context, a rewards.Action, p prepared, o rewards.Observation, err error,
) error {
	if err != nil || p.waits != "" {
		if errors.Is(err, rewards.ErrTerms) {
			err = nil
		}
		return err
	}
	unapproved := a
	unapproved.ApprovedAt = time.Time{}
	judgment, _ := unapproved.Judge(p.conversion, p.standing)
	if again := w.twice(a, judgment); judgment != rewards.JudgeApply || !again {
		return nil
	}
	return w.apply(ctx, a, p, o)
}
