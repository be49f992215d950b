package fulfillment

import (
	"context"
	"errors"
	"slices"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// later lists the other actions of the stock of a, of the same day or later, that the broker's positions may show.
func (w *Worker) later(a rewards.Action, clock rewards.MarketClock) (list []rewards.Action) {
	for _, b := range w.actions.open { // in the order of their ex-dates
		if b.ID != a.ID && b.AssetID == a.AssetID && b.ExDate >= a.ExDate && b.MayShow(clock.Now) {
			list = append(list, b)
		}
	}
	return list
}

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

// before returns another open action of the day, and whether the broker did a before it. SequenceUnknown says that none
// may come before a.
func (w *Worker) before(
	ctx context.Context, a rewards.Action, at judging, p prepared, judgment rewards.Judgment,
) (rewards.Action, rewards.Sequence, error) {
	gone := judgment == rewards.JudgeWait && p.standing.Renaming && p.standing.Vanished()
	judged := judgment == rewards.JudgeApply || judgment == rewards.JudgeDiffer || gone
	for _, b := range w.actions.open {
		if b.ID == a.ID || b.ExDate != a.ExDate || !judged {
			continue
		}
		counts := a.CountsSharesOf(b) || b.CountsSharesOf(a)
		switch {
		case (counts || b.AssetID == a.AssetID) && w.due(b, at.clock) && a.ApprovedAfter(b):
			return b, rewards.SequenceSecond, nil
		case gone && b.AssetID == a.AssetID && b.Undecided(at.clock.Now): // no position has the new symbol
			return b, rewards.SequenceSecond, nil
		case gone:
			continue
		case !a.ApprovedAt.IsZero():
			continue
		case a.Unordered() && b.Unordered(): // the positions may show their order meanwhile
		case counts && judgment == rewards.JudgeApply && b.Undecided(at.clock.Now):
			return b, rewards.SequenceEither, nil
		}
		if !counts && b.AssetID != a.AssetID || !w.due(b, at.clock) {
			continue
		}
		other, err := w.prepare(ctx, b, at)
		switch {
		case errors.Is(err, rewards.ErrTerms):
			continue
		case err != nil:
			return b, rewards.SequenceUnknown, err
		}
		sequence := w.sequence(a, b, p, other, judgment)
		if counts && w.doubtsOrder(a, judgment) && sequence == rewards.SequenceUnknown {
			sequence = rewards.SequenceEither
		}
		if sequence == rewards.SequenceSecond || sequence == rewards.SequenceEither {
			return b, sequence, nil
		}
	}
	return a, rewards.SequenceUnknown, nil
}

// doubtsOrder reports whether two orders of the action and another one fitted before. What was applied since may hide
// that.
func (w *Worker) doubtsOrder(a rewards.Action, now rewards.Judgment) bool {
	before := w.actions.positions.found[a.ID].judgment
	return now == rewards.JudgeApply && (a.Unordered() || before == rewards.JudgeHold)
}

// sequence returns whether the broker did a before b, another due action of the day.
func (w *Worker) sequence(a, b rewards.Action, p, other prepared, judgment rewards.Judgment) rewards.Sequence {
	otherJudged, _ := b.Judge(other.conversion, other.standing)
	switch {
	case !b.ApprovedAt.IsZero(), judgment == rewards.JudgeDiffer && otherJudged == rewards.JudgeApply:
		return rewards.SequenceSecond
	case judgment == rewards.JudgeDiffer:
		return rewards.SequenceUnknown
	case a.CountsSharesOf(b):
		return a.SequenceTo(b.ID, p.conversion, p.standing)
	case !b.CountsSharesOf(a):
		return rewards.SequenceUnknown
	case b.Unseen(other.standing) && !w.actions.activities.covers(b.ID, other.standing, w.now()):
		return rewards.SequenceSecond // they show whether it was paid in cash
	case !b.Unexplained(other.conversion, other.standing):
		return b.SequenceTo(a.ID, other.conversion, other.standing).Reversed()
	default:
		return rewards.SequenceEither
	}
}
