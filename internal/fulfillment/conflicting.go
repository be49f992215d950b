package fulfillment

import (
	"context"
	"errors"

	"stockrewards/internal/rewards"
)

// judgeBesideConflicts applies the due actions that explain the broker's positions without the orders that our books
// lack. After a restored backup such an order from after a split can be adopted only when the split is applied.
func (w *Worker) judgeBesideConflicts(ctx context.Context, live []rewards.Order, clock rewards.MarketClock) error {
	if !w.anyDue(clock) {
		return nil
	}
	booked, err := w.store.Booked(ctx)
	if err != nil {
		return err
	}
	theirs, err := w.readPositions(ctx)
	if err != nil {
		return err
	}
	if err := w.subtractMissing(ctx, theirs); err != nil {
		return err
	}
	return w.judgeActions(ctx, judging{newStakes(booked, theirs, w.actions.shortages), live, clock})
}

// subtractMissing takes from positions what orders bought beyond what is booked of them, unless an operator knows of
// it.
func (w *Worker) subtractMissing(ctx context.Context, positions []rewards.Position) error {
	conflicts, err := w.store.Conflicts(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, len(conflicts))
	for i, c := range conflicts {
		ids[i] = c.ClientOrderID
	}
	known, err := w.store.OrdersByClientID(ctx, ids)
	if err != nil {
		return err
	}
	for _, c := range conflicts {
		for i := range positions {
			if c.AcknowledgedAt.IsZero() && c.Symbol == positions[i].Symbol {
				positions[i].Qty -= c.FilledQty - known[c.ClientOrderID].Corrected
			}
		}
	}
	return nil
}

// applyConfirmed applies an action that the positions show in two comparisons, also when an operator has approved it.
// err is that of its preparation.
func (w *Worker) applyConfirmed(
	ctx context.Context, a rewards.Action, p prepared, o rewards.Observation, err error,
) error {
	if err != nil || p.waits != "" {
		if errors.Is(err, rewards.ErrTerms) {
			err = nil
		}
		return err
	}
	judgment, _ := a.Judge(p.conversion, p.standing)
	again := w.twice(a, judgment)
	if judgment != rewards.JudgeApply || !again || !a.Evident(p.conversion, p.standing) {
		return nil
	}
	return w.apply(ctx, a, p, o)
}
