package fulfillment

import (
	"context"
	"errors"
	"slices"

	"stockrewards/internal/rewards"
)

// entitleAll records who is entitled to the cash dividends that are due, one at a time.
func (w *Worker) entitleAll(ctx context.Context, clock rewards.MarketClock) error {
	for _, a := range w.actions.open {
		if a.Type != rewards.ActionCashDividend || a.State != rewards.ActionAnnounced || !a.Due(clock.Now) {
			continue
		}
		if w.actions.sweep.Number > 0 || w.actions.entitled[a.ID].Equal(a.Boundary) {
			continue
		}
		if err := w.entitle(ctx, a, clock); err != nil && !errors.Is(err, rewards.ErrStale) {
			return err
		}
	}
	return nil
}

// entitle records who holds the stock at the boundary of a cash dividend, once for each boundary. Open orders do not
// matter: what they bought is booked later, and the house gets its part.
func (w *Worker) entitle(ctx context.Context, a rewards.Action, clock rewards.MarketClock) error {
	entitled, err := w.store.Entitled(ctx, a)
	if entitled {
		w.actions.entitled[a.ID] = a.Boundary
	}
	if err != nil || entitled {
		return err
	}
	if a.ApprovedAt.IsZero() {
		others, err := w.othersOf(ctx, a)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(others, a.TwinOf); i >= 0 {
			o := rewards.Observation{Now: clock.Now, SeenAt: w.now()}
			return w.changeAction(ctx, a, o.Hold(a, rewards.Repeats(others[i].ID)))
		}
	}
	conversion, err := a.Conversion(0, rewards.Fraction{})
	if err != nil {
		return err
	}
	list, err := w.store.Booked(ctx)
	if err != nil {
		return err
	}
	booked := newStakes(list, nil, nil).booked[a.AssetID].Quantity
	s := rewards.Switch{Conversion: conversion, ActionID: a.ID, AssetID: a.AssetID, Booked: booked, Position: booked}
	late, err := w.store.ChangedSince(ctx, a.AssetID, a.Boundary)
	if err != nil {
		return err
	}
	if late || a.EntitledLate(w.now()) {
		s.EntitledAt = a.Boundary
	}
	return w.begin(ctx, rewards.ActionChange{Before: a, After: a}, s, rewards.Renaming{})
}
