package fulfillment

import (
	"context"
	"errors"
	"slices"

	"stockrewards/internal/rewards"
)

// later lists the other actions of a stock, of the same day as a or later, that are due.
func (w *Worker) later(a rewards.Action, stock rewards.AssetID, clock rewards.MarketClock) (list []rewards.Action) {
	for _, b := range w.actions.open { // in the order of their ex-dates
		if b.ID != a.ID && b.AssetID == stock && b.ExDate >= a.ExDate && w.due(b, clock) {
			list = append(list, b)
		}
	}
	return list
}

// ratiosOf lists what actions do to the shares of their stock. One that leaves them explains no difference.
func ratiosOf(list []rewards.Action) (ratios []rewards.Ratio, err error) {
	for _, a := range list {
		r, err := a.UnitRatio()
		if err != nil {
			return nil, err
		}
		if r.Old != r.New {
			ratios = append(ratios, r)
		}
	}
	return ratios, nil
}

// renamed is the broker's position in a stock that has another symbol by one of the actions already.
func (s stakes) renamed(theirs rewards.Position, by []rewards.Action) rewards.Position {
	for _, a := range by {
		if renamed, moved := s.bySymbol[a.NewSymbol]; moved && a.Renames() && theirs.Qty == 0 {
			theirs = renamed
		}
	}
	return theirs
}

// othersOf lists the actions of the stock, the newest.
func (w *Worker) othersOf(ctx context.Context, a rewards.Action) ([]rewards.Action, error) {
	const enough = 100
	return w.store.Actions(ctx, 0, a.Symbol, enough)
}

// addOthers adds what other actions of the stock say about this one: that it repeats one of them, or was overtaken.
func (w *Worker) addOthers(ctx context.Context, a rewards.Action, p *prepared) (err error) {
	if p.others, err = w.othersOf(ctx, a); err != nil {
		return err
	}
	if i := slices.IndexFunc(p.others, a.TwinOf); i >= 0 {
		p.standing.Twin = p.others[i].ID
	}
	if by, overtaken := a.Overtaken(p.others); overtaken {
		p.standing.Overtook = by.Overtook()
	}
	return nil
}

// addOpen adds that another action of the stocks is open, or that an undo of one is.
func (w *Worker) addOpen(a rewards.Action, stock, target rewards.Asset, p *prepared, clock rewards.MarketClock) {
	for _, b := range w.actions.open {
		p.standing.Undone = p.standing.Undone || b.AssetID == a.AssetID && b.DoubtsUndo()
		p.standing.Beside = p.standing.Beside || b.ID != a.ID && b.Touches(stock, target) && b.MayShow(clock.Now)
	}
}

// addOrder adds that another action of the stocks may have to come first, or was applied before this one although that
// may have been wrong. The broker's positions are not what this one makes.
func (w *Worker) addOrder(a rewards.Action, at stakes, stock rewards.Asset, p *prepared, clock rewards.MarketClock) {
	redone := p.standing.Undo.Number > 0
	if by, found := a.Misplaced(p.others); found && p.standing.Overtook == "" && !p.standing.Beside && !redone {
		p.standing.Overtook = by.Preceded()
	}
	for _, b := range w.actions.open {
		gives := b.AssetID != a.AssetID && b.NewSymbol == stock.Symbol && b.MayShow(clock.Now)
		if gives && a.Follows(b, p.standing.Source.Booked, at.booked[b.AssetID].Quantity, p.standing.Source.Theirs) {
			p.waits = "the action " + b.ID + ", which the broker did before it"
		}
	}
}

// another reports whether the positions show another due action of the stock and day, which then comes first.
func (w *Worker) another(
	ctx context.Context, a rewards.Action, at stakes, live []rewards.Order, clock rewards.MarketClock,
) (bool, error) {
	for _, b := range w.later(a, a.AssetID, clock) {
		if b.ExDate != a.ExDate {
			continue
		}
		p, err := w.prepare(ctx, b, at, live, clock)
		switch {
		case errors.Is(err, rewards.ErrTerms):
			continue
		case err != nil:
			return false, err
		}
		if judgment, _ := b.Judge(p.conversion, p.standing); judgment == rewards.JudgeApply {
			return true, nil
		}
	}
	return false, nil
}
