package fulfillment

import (
	"context"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// impacts lists what other due actions of the same day as a or later do to its stocks.
func (w *Worker) impacts(
	ctx context.Context, a rewards.Action, at judging, p prepared,
) (list []rewards.Impact, err error) {
	for _, b := range w.actions.open {
		if b.ID == a.ID || b.ExDate < a.ExDate || !w.due(b, at.clock) {
			continue
		}
		more, err := w.impactsOf(ctx, a, b, at, p)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// impactsOf lists what another action may do to the stocks of a. What it gives may depend on others of its day.
func (w *Worker) impactsOf(
	ctx context.Context, a, b rewards.Action, at judging, p prepared,
) ([]rewards.Impact, error) {
	others, one, other := at.stake(b.AssetID, 0), p.stock.Named(a.Symbol), p.target.Named(a.NewSymbol)
	counted := []money.Shares{others.Booked}
	if b.AssetID != p.stock.ID && b.AssetID != p.target.ID && b.Touches(one, other) {
		asset, err := w.stock(ctx, b.AssetID)
		if err != nil {
			return nil, err
		}
		giving := asset.Named(b.Symbol)
		others.Theirs = w.positionOf(asset, at)
		var by []rewards.Impact
		for _, c := range w.actions.open {
			if c.ID == a.ID || c.ID == b.ID || c.ExDate != b.ExDate || !c.MayShow(at.clock.Now) || !c.Changes(giving) {
				continue
			}
			e, found, err := b.ImpactOf(c, giving, rewards.NamedStock{}, at.stake(c.AssetID, 0))
			if err != nil {
				return nil, err
			}
			if found {
				by = append(by, e)
			}
		}
		counted = rewards.Counted(others.Booked, by)
	}
	return a.ImpactsOf(b, one, other, others, counted)
}

// renamedTarget returns the stock that a gives if it has another symbol now, by an action of these days. It is the zero
// value without one. It fails with ErrTerms when another stock has the announced symbol.
func (w *Worker) renamedTarget(ctx context.Context, a rewards.Action, at stakes) (target rewards.Asset, err error) {
	const enough = 100
	list, err := w.store.Actions(ctx, 0, a.NewSymbol, enough)
	if err != nil {
		return target, err
	}
	by, found := a.RenamedBy(list)
	if !found {
		return target, nil
	}
	assets, err := w.store.Assets(ctx)
	if err != nil {
		return target, err
	}
	taken := false
	for _, stock := range assets {
		taken = taken || stock.Symbol == a.NewSymbol
		if stock.ID == by.AssetID {
			target = stock
		}
	}
	if p, found := at.bySymbol[a.NewSymbol]; found && (target.BrokerID == "" || p.AssetID != target.BrokerID) {
		taken = true // else the broker renames it later
	}
	switch {
	case target.Symbol == a.NewSymbol: // not yet
		return rewards.Asset{}, nil
	case taken:
		return target, rewards.ErrOtherStock(a.NewSymbol)
	}
	return target, nil
}

// symbolsOf lists the symbols that a stock has here, or has at the broker by one of the actions.
func symbolsOf(stock rewards.Asset, by []rewards.Action) []string {
	symbols := []string{stock.Symbol}
	for _, a := range by {
		if a.Renames() {
			symbols = append(symbols, a.NewSymbol)
		}
	}
	return symbols
}
