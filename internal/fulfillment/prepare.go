package fulfillment

import (
	"context"
	"errors"
	"slices"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// prepared is what is known of a due action.
type prepared struct {
	stock      rewards.Asset // of the action
	target     rewards.Asset // that the action gives; the zero value if it gives none
	conversion rewards.Conversion
	standing   rewards.Standing
	renaming   rewards.Renaming
	waits      string             // for what it waits; "" for nothing
	explained  money.Price        // of the stock after a spin-off; 0: none
	others     []rewards.Action   // of the stock, the newest
	activities []rewards.Activity // of an action that gives another stock
	symbols    []string           // of the stock of such an action, also at the broker
}

// prepare collects what the broker and the store have of the action's stocks.
func (w *Worker) prepare(ctx context.Context, a rewards.Action, at judging) (p prepared, err error) {
	if err := a.CheckNewSymbol(); err != nil {
		return p, err
	}
	p.standing = rewards.Standing{Now: at.clock.Now, Review: w.cfg.ReviewActions}
	if err := w.addStocks(ctx, a, at, &p); err != nil {
		return p, err
	}
	if p.standing.Others, err = w.impacts(ctx, a, at, p); err != nil {
		return p, err
	}
	if err := w.addOpen(ctx, a, at, &p); err != nil {
		return p, err
	}
	if err := w.addOthers(ctx, a, &p); err != nil {
		return p, err
	}
	undoneAfter, err := w.addUndo(ctx, a, &p)
	if err != nil {
		return p, err
	}
	if err := w.addConversion(a, &p); err != nil {
		return p, err
	}
	if a.Apart(p.conversion, p.standing) {
		err = w.addOrder(ctx, a, at, &p)
	}
	if a.AwaitsUndone(undoneAfter, p.conversion, p.standing) {
		p.waits = "the action " + undoneAfter.ID + ", which was undone after it: apply that one first"
	}
	return p, err
}

// addStocks adds the stocks of the action: what is booked and what the broker has, the activities that may be about it,
// and an order that is open.
func (w *Worker) addStocks(ctx context.Context, a rewards.Action, at judging, p *prepared) (err error) {
	if p.stock, err = w.stock(ctx, a.AssetID); err != nil {
		return err
	}
	later := w.later(a, at.clock)
	at.addSource(a, later, p)
	if a.Type.Gives() {
		if err := w.addTarget(ctx, a, at, p); err != nil {
			return err
		}
		p.symbols = symbolsOf(p.stock, later)
		names := slices.DeleteFunc(slices.Clone(p.symbols), func(s string) bool { return s == a.Symbol })
		names = append(names, a.Symbol, a.NewSymbol)
		p.activities, err = w.store.ActivitiesOf(ctx, a.ExDate, names...)
	}
	p.standing.LiveOrder = at.buying(a.AssetID, p.target.ID).ClientOrderID
	return err
}

// addUndo adds the undo of the action that applying it takes back. It returns the action that was undone after it.
func (w *Worker) addUndo(ctx context.Context, a rewards.Action, p *prepared) (after rewards.Action, err error) {
	if a.ApprovedAt.IsZero() {
		return after, nil
	}
	if p.standing.Undo, after, err = w.store.LastUndo(ctx, a.ID); err != nil {
		return after, err
	}
	return after, w.dropUndo(ctx, a, p)
}

// addConversion adds what the action makes of a share, and whether the broker paid for what it gives in cash.
func (w *Worker) addConversion(a rewards.Action, p *prepared) (err error) {
	var part rewards.Fraction
	if a.Type == rewards.ActionSpinOff {
		if part, err = w.basisPart(a, p); err != nil {
			return err
		}
	}
	if p.conversion, err = a.Conversion(p.target.ID, part); err != nil {
		return err
	}
	p.standing.InCash, p.standing.Fraction = a.PaidInCash(p.activities, p.conversion, p.standing.Source.Booked)
	return nil
}

// addSource adds what is booked of the action's stock, and the broker's position, which may have the symbol of this
// action or of a later one already.
func (at judging) addSource(a rewards.Action, later []rewards.Action, p *prepared) {
	theirs := at.position(p.stock.BrokerID, p.stock.Symbol)
	if a.Renames() && p.stock.Symbol != a.NewSymbol {
		renamed, found := at.bySymbol[a.NewSymbol]
		ended := theirs.Qty == 0 && slices.ContainsFunc(later, rewards.Action.Ends)
		if p.standing.Renaming = !found && at.booked[a.AssetID].Quantity > 0 && !ended; found {
			theirs = renamed
		}
		p.renaming = rewards.Renaming{Symbol: a.NewSymbol, BrokerID: renamed.AssetID}
	}
	p.standing.Source = at.stake(a.AssetID, at.renamed(theirs, later).Qty)
}

// addTarget adds the stock that the action gives.
func (w *Worker) addTarget(ctx context.Context, a rewards.Action, at judging, p *prepared) error {
	position := at.bySymbol[a.NewSymbol]
	target, err := w.renamedTarget(ctx, a, at.stakes)
	if err == nil && target.ID == 0 {
		target, err = w.store.EnsureAsset(ctx, w.lease, a.NewSymbol, position.AssetID)
	}
	if err != nil {
		return err
	}
	other := position.AssetID != "" && target.BrokerID != "" && target.BrokerID != position.AssetID
	if target.ID == a.AssetID || other {
		return rewards.ErrOtherStock(a.NewSymbol)
	}
	p.target, p.standing.Target = target, at.stake(target.ID, w.positionOf(target, at))
	return nil
}

// positionOf is how many shares the broker has of a stock, which may have the symbol of an open action there already.
func (w *Worker) positionOf(stock rewards.Asset, at judging) money.Shares {
	renaming := slices.DeleteFunc(slices.Clone(w.actions.open), func(b rewards.Action) bool {
		return b.AssetID != stock.ID || !b.MayShow(at.clock.Now)
	})
	return at.renamed(at.position(stock.BrokerID, stock.Symbol), renaming).Qty
}

// later lists the other actions of the stock of a, of the same day or later, that the broker's positions may show.
func (w *Worker) later(a rewards.Action, clock rewards.MarketClock) (list []rewards.Action) {
	for _, b := range w.actions.open { // in the order of their ex-dates
		if b.ID != a.ID && b.AssetID == a.AssetID && b.ExDate >= a.ExDate && b.MayShow(clock.Now) {
			list = append(list, b)
		}
	}
	return list
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
	p.standing.Split = a.SplitBy(p.others)
	if by, overtaken := a.Overtaken(p.others); overtaken {
		p.standing.Overtook = by.Overtook()
	}
	return nil
}

// dropUndo drops the undo of the action if it cannot be taken back, because another action gave shares since.
func (w *Worker) dropUndo(ctx context.Context, a rewards.Action, p *prepared) error {
	for _, b := range p.others {
		if p.standing.Undo.Number == 0 || b.AssetID == a.AssetID {
			continue
		}
		switches, err := w.store.Switches(ctx, b.ID)
		if err != nil {
			return err
		}
		if a.GivenBefore(b, switches, p.standing.Undo) {
			p.standing.Undo = rewards.Switch{}
		}
	}
	return nil
}

// addOpen adds that another open action changes the stocks, or that an undo of one is not over.
func (w *Worker) addOpen(ctx context.Context, a rewards.Action, at judging, p *prepared) error {
	for _, k := range []struct {
		stake *rewards.Stake
		stock rewards.NamedStock
	}{{&p.standing.Source, p.stock.Named(a.Symbol)}, {&p.standing.Target, p.target.Named(a.NewSymbol)}} {
		for _, b := range w.actions.open {
			k.stake.Undone = k.stake.Undone || b.AssetID == k.stock.ID && b.DoubtsUndo()
			k.stake.Shared = k.stake.Shared || b.ID != a.ID && b.MayShow(at.clock.Now) && b.Changes(k.stock)
		}
		if !k.stake.Undone {
			continue
		}
		const enough = 100
		undone, err := w.store.Actions(ctx, rewards.ActionUndone, "", enough)
		if err != nil {
			return err
		}
		*k.stake = a.BesideUndone(*k.stake, k.stock, undone)
	}
	return nil
}

// addOrder adds that another action of the stocks may have to come first, or was applied before this one although the
// broker did it after. The broker's positions are not what this one makes.
func (w *Worker) addOrder(ctx context.Context, a rewards.Action, at judging, p *prepared) error {
	redone := p.standing.Undo.Number > 0
	if by, found := a.Misplaced(p.others); found && p.standing.Overtook == "" && !p.standing.Shared() && !redone {
		switches, err := w.store.Switches(ctx, by.ID)
		if err != nil || len(switches) == 0 {
			return err
		}
		last := switches[len(switches)-1]
		one, other := p.stock.Named(a.Symbol), p.target.Named(a.NewSymbol)
		e, _, err := a.ImpactOf(by, one, other, rewards.Stake{Booked: last.Booked})
		if err == nil && a.Precedes(last, e, p.conversion, p.standing) {
			p.standing.Overtook = by.Preceded()
		}
	}
	for _, b := range w.actions.open {
		if b.AssetID == a.AssetID || b.ExDate > a.ExDate || !b.MayShow(at.clock.Now) {
			continue
		}
		impacts, err := w.impactsOf(ctx, a, b, at, *p)
		if err != nil && !errors.Is(err, rewards.ErrTerms) {
			return err
		}
		if a.Follows(b.ID, impacts, p.conversion, p.standing) {
			p.waits = "the action " + b.ID + ", which the broker did before it"
		}
	}
	return nil
}
