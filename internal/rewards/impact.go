package rewards

import (
	"slices"

	"stockrewards/internal/money"
)

// Impact is what another due action does to the shares of two stocks: of the one that an action changes, and of the one
// that it gives.
type Impact struct {
	ID         string
	Keep       Ratio        // of the first stock
	KeepTarget Ratio        // of the second one
	Give       Ratio        // shares of the second for those of the first
	Back       Ratio        // shares of the first for those of the second
	Given      money.Shares // of the first, for another stock
	GivenTo    money.Shares // of the second, for another stock
	Hidden     bool         // it gives users shares of the first, for those that the house owes; the broker gives none
	Done       bool         // the broker did it: its own stock, a third one, has ended there
}

// ImpactOf returns what b does to the stocks of a, the stock and the one that a gives, which may be zero. others are
// those of the stock of b. Ok is false when b does nothing to them. It fails with ErrTerms and money.ErrOverflow.
func (a Action) ImpactOf(b Action, stock, target NamedStock, others Stake) (e Impact, ok bool, err error) {
	e = noImpact(b.ID)
	if !b.Touches(stock, target) {
		return e, false, nil
	}
	keep, err := b.UnitRatio()
	if err != nil {
		return e, false, err
	}
	switch b.AssetID {
	case stock.ID:
		e.Keep = keep
	case target.ID:
		e.KeepTarget = keep
	}
	if b.Type.Gives() {
		give, errGive := b.Ratio()
		switch {
		case errGive != nil:
			return e, false, errGive
		case b.Gives(stock) && b.AssetID == target.ID:
			e.Back = give
		case b.Gives(stock):
			e.Given, err = give.Of(others.Booked)
			e.Hidden = e.Given == 0 && others.Owed > 0
		case !b.Gives(target):
		case b.AssetID == stock.ID:
			e.Give = give
		default:
			e.GivenTo, err = give.Of(others.Booked)
		}
	}
	return e, err == nil && (e.changesSource() || e.changesTarget()), err
}

// ImpactsOf is ImpactOf for each number of shares of its stock that the broker may have counted for b. They are empty
// when b does nothing to the stocks of a.
func (a Action) ImpactsOf(
	b Action, stock, target NamedStock, others Stake, counted []money.Shares,
) (list []Impact, err error) {
	third := b.AssetID != stock.ID && b.AssetID != target.ID
	done := third && b.Ends() && others.vanished()
	for _, others.Booked = range counted {
		e, ok, err := a.ImpactOf(b, stock, target, others)
		if err != nil {
			return nil, err
		}
		e.Done = done
		if ok && !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list, nil
}

// Counted lists how many shares of a stock the broker may have counted for an action: those that are booked, and what
// others, whose impacts are on this stock, may have made of them before.
func Counted(booked money.Shares, by []Impact) []money.Shares {
	list := []money.Shares{booked}
	for _, whole := range []bool{false, true} {
		Standing{}.try(booked, 0, whole, nil, by, func(_ []string, shares, _ money.Shares) {
			if !slices.Contains(list, shares) {
				list = append(list, shares)
			}
		})
	}
	return list
}

// noImpact is the impact of an action that does nothing to the stocks.
func noImpact(id string) Impact {
	return Impact{ID: id, Keep: Ratio{1, 1}, KeepTarget: Ratio{1, 1}, Give: Ratio{1, 0}, Back: Ratio{1, 0}}
}

// changesSource reports whether it changes the first stock.
func (e Impact) changesSource() bool { return e.Keep.Old != e.Keep.New || e.gives() }

// gives reports whether it gives shares of the first stock.
func (e Impact) gives() bool { return e.Given != 0 || e.Back.New != 0 || e.Hidden }

// changesTarget reports whether it changes the second stock.
func (e Impact) changesTarget() bool {
	return e.KeepTarget.Old != e.KeepTarget.New || e.Give.New != 0 || e.GivenTo != 0
}

// impact is what the action does itself.
func (a Action) impact(c Conversion) Impact {
	e := noImpact(a.ID)
	e.Keep = c.Keep
	if a.Type.Gives() {
		e.Give = c.Give
	}
	return e
}

// on returns what becomes of shares of the two stocks. The broker may pay in cash for fractions: then whole is true.
func (e Impact) on(source, target money.Shares, whole bool) (nextSource, nextTarget money.Shares, err error) {
	given, err := e.Give.Of(source)
	if err != nil {
		return source, target, err
	}
	back, err := e.Back.Of(target)
	if err != nil {
		return source, target, err
	}
	if nextSource, err = position(source, e.Keep, back+e.Given, whole); err != nil {
		return source, target, err
	}
	if nextTarget, err = position(target, e.KeepTarget, given+e.GivenTo, whole); err != nil {
		return source, target, err
	}
	return nextSource, nextTarget, nil
}

// position returns what becomes of shares that are converted, and to which others are added.
func position(shares money.Shares, keep Ratio, added money.Shares, whole bool) (money.Shares, error) {
	kept, err := keep.Of(shares)
	if err != nil {
		return 0, err
	}
	if whole {
		added -= added % money.Share
		if keep.Old != keep.New {
			kept -= kept % money.Share
		}
	}
	return money.AddShares(kept, added)
}

// fit is how well the broker's positions agree with what actions make of the booked ones.
type fit int

// The fits.
const (
	fitNone    fit = iota
	fitRounded     // a fraction is missing, or was rounded up to a whole share
	fitExact
)

// Sequence is the order of two actions that the broker's positions show.
type Sequence int

// The sequences.
const (
	SequenceUnknown Sequence = iota // the positions do not show the one whose shares the other one changes
	SequenceFirst
	SequenceSecond
	SequenceEither // both orders fit
)

// Reversed returns the sequence of the other one.
func (q Sequence) Reversed() Sequence {
	switch q {
	case SequenceFirst:
		return SequenceSecond
	case SequenceSecond:
		return SequenceFirst
	default:
		return q
	}
}

// SequenceTo returns whether the broker did a before the other action with the id, together with any of the others that
// are due.
func (a Action) SequenceTo(id string, c Conversion, s Standing) Sequence {
	after := func(done []string) bool { return slices.Contains(done[:slices.Index(done, a.ID)], id) }
	before := func(done []string) bool { return !after(done) }
	first, second := a.fits(c, s, s.complete(before)), a.fits(c, s, s.complete(after))
	if first == fitNone && second == fitNone { // the broker has not added everything yet, or gave none of it
		first, second = a.fits(c, s, before), a.fits(c, s, after)
	}
	matters := slices.ContainsFunc(s.Others, func(e Impact) bool {
		return e.ID == id && (s.Source.Booked > 0 || s.Source.Owed > 0 || e.gives())
	})
	switch {
	case first == fitNone && second == fitNone:
		return SequenceUnknown
	case s.InCash && first > fitNone && second > fitNone && s.hides(id):
		return SequenceEither
	case s.InCash && first > fitNone: // the broker counted the booked shares
		return SequenceFirst
	case first == second && matters, first == fitRounded && a.Unseen(s):
		return SequenceEither
	case second > first:
		return SequenceSecond
	default:
		return SequenceFirst
	}
}

// complete narrows the orders that count to those with all actions that the broker is known to have done.
func (s Standing) complete(counts func(done []string) bool) func(done []string) bool {
	return func(done []string) bool {
		missing := func(e Impact) bool { return e.Done && !slices.Contains(done, e.ID) }
		return counts(done) && !slices.ContainsFunc(s.Others, missing)
	}
}

// hides reports whether the broker counts the booked shares for an action after the other one with the id too, because
// it pays in cash for the fraction that this one adds. Users have that fraction.
func (s Standing) hides(id string) bool {
	return slices.ContainsFunc(s.Others, func(e Impact) bool {
		source, _, err := e.on(s.Source.Booked, s.Target.Booked, true)
		return e.ID == id && err == nil && e.changesSource() && source == s.Source.Booked
	})
}

// Unseen reports whether the broker has added nothing of what the action gives: it gave nothing, or less than one share
// and paid in cash for it.
func (a Action) Unseen(s Standing) bool {
	return a.Type.Gives() && !s.Target.changed() && !s.InCash
}

// Unexplained reports whether the broker's positions are neither the booked ones, nor what the action and others make
// of them, nor what others make without it.
func (a Action) Unexplained(c Conversion, s Standing) bool {
	whatever := func([]string) bool { return true }
	if s.InCash || s.unchanged() || a.explains(c, s) || a.fits(c, s, whatever) > fitNone {
		return false
	}
	without := false
	for _, whole := range []bool{false, true} {
		others := s.Others[:min(len(s.Others), maxOthers)]
		s.try(s.Source.Booked, s.Target.Booked, whole, nil, others, func(_ []string, source, target money.Shares) {
			without = without || s.fit(source, target) > fitNone
		})
	}
	return !without
}

// maxOthers is how many impacts of other due actions are tried in every order.
const maxOthers = 6

// fits returns the best fit of the orders that count, in which the broker may have done a and some of the others.
func (a Action) fits(c Conversion, s Standing, counts func(done []string) bool) fit {
	if plain := a.fitsOf(c, s, false, counts); plain > fitNone {
		return plain
	}
	return min(a.fitsOf(c, s, true, counts), fitRounded)
}

// fitsOf is fits, where the broker pays in cash for fractions if whole is true.
func (a Action) fitsOf(c Conversion, s Standing, whole bool, counts func(done []string) bool) (best fit) {
	impacts := append([]Impact{a.impact(c)}, s.Others[:min(len(s.Others), maxOthers)]...)
	source := s.Source.Booked
	if whole && s.Split {
		source -= source % money.Share
	}
	s.try(source, s.Target.Booked, whole, nil, impacts, func(done []string, source, target money.Shares) {
		if slices.Contains(done, a.ID) && counts(done) {
			best = max(best, s.fit(source, target))
		}
	})
	return best
}

// try visits what becomes of positions by each order of each part of the impacts that are left. Of an action that has
// several it tries each.
func (s Standing) try(
	source, target money.Shares, whole bool, done []string, left []Impact,
	visit func(done []string, source, target money.Shares),
) {
	visit(done, source, target)
	for _, e := range left {
		nextSource, nextTarget, err := e.on(source, target, whole)
		if err == nil {
			rest := slices.DeleteFunc(slices.Clone(left), func(o Impact) bool { return o.ID == e.ID })
			s.try(nextSource, nextTarget, whole, append(done[:len(done):len(done)], e.ID), rest, visit)
		}
	}
}

// fit returns how well the broker's positions agree with the expected ones.
func (s Standing) fit(source, target money.Shares) fit {
	switch {
	case sameRounded(s.Source.Theirs, source) && sameRounded(s.Target.Theirs, target):
		return fitExact
	case s.near(source, target):
		return fitRounded
	default:
		return fitNone
	}
}

// chained reports whether the broker's positions show the action together with others that came after it. When these
// undo what it does, as after a reverse split and back, the position cannot show it.
func (a Action) chained(c Conversion, s Standing) bool {
	if len(s.Others) == 0 {
		return false
	}
	if !s.unchanged() {
		return a.fits(c, s, a.andOthers) > fitNone
	}
	source, target, err := a.after(c, s)
	for i, e := range s.Others {
		if again := i > 0 && s.Others[i-1].ID == e.ID; err == nil && !again {
			source, target, err = e.on(source, target, false)
		}
	}
	same := source == s.Source.Booked && target == s.Target.Booked
	return err == nil && same && s.Now.Sub(a.Boundary) >= happens
}

// andOthers reports whether the action was the first one of several.
func (a Action) andOthers(done []string) bool { return done[0] == a.ID && len(done) > 1 }

// paysFractions reports whether the broker's positions show the action and others only if the broker paid for fractions
// in cash.
func (a Action) paysFractions(c Conversion, s Standing) bool {
	whole, exact := a.fitsOf(c, s, true, a.andOthers), a.fitsOf(c, s, false, a.andOthers)
	return whole > exact && !a.explains(c, s)
}

// Precedes reports whether the broker's positions are what a and then another action make of those that were booked
// before the switch w applied the other one, whose impact is e.
func (a Action) Precedes(w Switch, e Impact, c Conversion, s Standing) bool {
	before := s
	for _, change := range []struct {
		of    AssetID
		added money.Shares
	}{{w.AssetID, w.Position - w.Booked}, {w.Target, w.TargetPosition - w.TargetBooked}} {
		switch change.of {
		case a.AssetID:
			before.Source.Booked -= change.added
		case c.Target:
			before.Target.Booked -= change.added
		}
	}
	before.Others = []Impact{e}
	return a.fits(c, before, a.andOthers) > fitNone
}
