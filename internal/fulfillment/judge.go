package fulfillment

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// anyDue reports whether an action waits for evidence.
func (w *Worker) anyDue(clock rewards.MarketClock) bool {
	for _, a := range w.actions.open {
		if w.due(a, clock) {
			return true
		}
	}
	return false
}

// due reports whether an action must be judged. No position shows a cash dividend: see entitleAll.
func (w *Worker) due(a rewards.Action, clock rewards.MarketClock) bool {
	judged := a.State == rewards.ActionAnnounced || a.State == rewards.ActionHeld && a.WaitsFor != "" || a.Unordered()
	return judged && a.MayShow(clock.Now)
}

// judgeActions applies the due actions that the broker's positions confirm, in the order of their
// ex-dates. One is applied at a time: the next one waits for its sweep.
func (w *Worker) judgeActions(ctx context.Context, at judging) error {
	var errs []error
	var giving []rewards.Action // for which those of later days wait
	for _, a := range w.actions.open {
		due, differs := w.due(a, at.clock), a.Differs() && w.conflicts == 0
		if !due && !differs || w.actions.sweep.Number > 0 || slices.ContainsFunc(giving, a.Behind) {
			continue
		}
		w.heartbeat()
		err := w.judgeAction(ctx, a, at)
		if due && !a.Unordered() && a.Type.Gives() {
			giving = append(giving, a)
		}
		if errors.Is(err, rewards.ErrLostLease) {
			return err
		}
		if !errors.Is(err, rewards.ErrStale) { // somebody was faster: the next comparison judges it again
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// judgeAction judges an action.
func (w *Worker) judgeAction(ctx context.Context, a rewards.Action, at judging) error {
	o := rewards.Observation{Now: at.clock.Now, SeenAt: w.now()}
	p, err := w.prepare(ctx, a, at)
	if w.conflicts > 0 { // only what the positions confirm: the missing orders may explain the rest
		return w.applyConfirmed(ctx, a, p, o, err)
	}
	if err != nil {
		if errors.Is(err, rewards.ErrTerms) {
			err = w.changeAction(ctx, a, o.Hold(a, err.Error()))
		}
		return err
	}
	if p.waits != "" && a.Unordered() { // its note says what an operator must decide
		return nil
	}
	if p.waits != "" && (p.standing.Twin == "" || !a.ApprovedAt.IsZero()) {
		return w.changeAction(ctx, a, o.Await(a, p.waits, "waits for "+p.waits))
	}
	judgment, note := a.Judge(p.conversion, p.standing)
	if judgment == rewards.JudgeApply && a.FractionUnknown(p.conversion, p.standing) &&
		!w.actions.activities.covers(a.ID, p.standing, o.SeenAt) {
		return nil // they are read soon, and show it
	}
	switch b, sequence, err := w.before(ctx, a, at, p, judgment); {
	case err != nil:
		return err
	case sequence == rewards.SequenceSecond && b.Undecided(o.Now) && !a.Undecided(o.Now):
		waits := b.Undecides()
		return w.changeAction(ctx, a, o.Await(a, waits, "waits for "+waits))
	case sequence == rewards.SequenceSecond:
		return nil
	case sequence == rewards.SequenceEither:
		if !w.twice(a, rewards.JudgeHold) { // the broker may change positions one after the other
			return nil
		}
		return w.holdBoth(ctx, a, b, o)
	}
	return w.decide(ctx, a, p, o, judgment, note)
}

// holdBoth holds two actions whose order the broker's positions do not show, as far as they are not held.
func (w *Worker) holdBoth(ctx context.Context, a, b rewards.Action, o rewards.Observation) error {
	var changes []rewards.ActionChange
	for _, c := range []struct{ held, beside rewards.Action }{{a, b}, {b, a}} {
		if !c.held.Undecided(o.Now) {
			after := o.Hold(c.held, rewards.Unordered(c.beside.ID))
			changes = append(changes, rewards.ActionChange{Before: c.held, After: after})
		}
	}
	return w.changeActions(ctx, changes)
}

// decide does what an action was judged.
func (w *Worker) decide(
	ctx context.Context, a rewards.Action, p prepared, o rewards.Observation, judgment rewards.Judgment, note string,
) error {
	again := w.twice(a, judgment)
	if a.Differs() || a.Unordered() { // an operator is asked; a correction of a fill, say, may explain it meanwhile
		if judgment != rewards.JudgeApply || !again {
			return nil
		}
		return w.apply(ctx, a, p, o)
	}
	switch judgment {
	case rewards.JudgeApply:
		if p.standing.Vanished() && a.ApprovedAt.IsZero() && !again {
			w.pauseTarget(a, p)
			return nil
		}
		return w.apply(ctx, a, p, o)
	case rewards.JudgeHold:
		return w.changeAction(ctx, a, o.Hold(a, note))
	case rewards.JudgeAwait:
		w.pauseTarget(a, p)
		return w.changeAction(ctx, a, o.Await(a, note, "the order "+note+" must end first"))
	case rewards.JudgeDiffer:
		if !again {
			return nil
		}
		return w.changeAction(ctx, a, o.Hold(a, note))
	default:
		return w.changeAction(ctx, a, o.Resume(a))
	}
}

// pauseTarget keeps the stock that an action gives from being ordered until the next comparison.
func (w *Worker) pauseTarget(a rewards.Action, p prepared) {
	if a.PausesTarget(p.standing) {
		w.actions.positions.paused[p.target.ID] = true
	}
}

// twice reports whether a comparison finds the same about an action as the one before: the broker may
// change positions one after the other, and an answer may be empty by mistake.
func (w *Worker) twice(a rewards.Action, found rewards.Judgment) bool {
	p := &w.actions.positions
	if p.found == nil {
		p.found = make(map[string]finding)
	}
	f := p.found[a.ID]
	if f.judgment != found {
		f = finding{judgment: found}
	}
	f.times++
	p.found[a.ID] = f
	return f.times >= confirmations
}

// apply applies an action.
func (w *Worker) apply(ctx context.Context, a rewards.Action, p prepared, o rewards.Observation) error {
	s, err := a.Begin(p.conversion, p.standing)
	if err != nil {
		return err
	}
	if err := w.explain(ctx, a, o); err != nil {
		return err
	}
	s.Explained = p.explained
	return w.begin(ctx, rewards.ActionChange{Before: a, After: o.Applied(a)}, s, p.renaming)
}

// explain ends the doubt about a position that the action explains. After an undo the position itself must agree.
func (w *Worker) explain(ctx context.Context, by rewards.Action, o rewards.Observation) error {
	for _, a := range w.actions.open {
		if a.AssetID == by.AssetID && a.DoubtsPosition() && !a.DoubtsUndo() {
			if err := w.changeAction(ctx, a, o.Explained(a, by)); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin begins a switch, and reads the prices in the new units.
func (w *Worker) begin(ctx context.Context, c rewards.ActionChange, s rewards.Switch, r rewards.Renaming) error {
	if err := w.store.ApplyAction(ctx, w.lease, c, s, r); err != nil {
		if rewards.CodeOf(err) == rewards.CodeConflict {
			o := rewards.Observation{SeenAt: w.now()}
			return w.changeAction(ctx, c.Before, o.Hold(c.Before, err.Error()))
		}
		w.actions.unsure, w.actions.openAt = s, time.Time{}
		return err
	}
	w.log.InfoContext(ctx, "a corporate action is applied", slog.String("action", c.After.ID),
		slog.String("terms", c.After.String()), slog.String("booked", s.Booked.String()),
		slog.String("position", s.Position.String()))
	w.report(ctx, "the prices", w.market.Reload(ctx))
	w.readPrices(ctx, "the prices")
	w.actions.openAt, w.actions.positions.next = time.Time{}, time.Time{}
	var err error
	w.actions.sweep, _, err = w.store.OpenSwitch(ctx)
	return err
}

func (w *Worker) changeAction(ctx context.Context, before, after rewards.Action) error {
	if before == after {
		return nil
	}
	return w.changeActions(ctx, []rewards.ActionChange{{Before: before, After: after}})
}

func (w *Worker) changeActions(ctx context.Context, changes []rewards.ActionChange) error {
	if len(changes) == 0 {
		return nil
	}
	w.actions.openAt = time.Time{}
	return w.store.ChangeActions(ctx, w.lease, changes)
}

// sweepRest is how long a sweep rests after each transaction, as a multiple of its duration, so that
// clients' requests go on.
const sweepRest = 3

// sweep brings the next holdings up to date while there is an open switch.
func (w *Worker) sweep(ctx context.Context) error {
	begun := w.now()
	if w.actions.sweep.Number == 0 || begun.Before(w.actions.nextSweep) {
		return nil
	}
	done, err := w.store.Sweep(ctx, w.lease, w.actions.sweep.Number)
	if err != nil {
		w.actions.openAt = time.Time{}
		return err
	}
	if done {
		w.log.InfoContext(ctx, "all holdings are up to date", slog.String("action", w.actions.sweep.ActionID))
		w.actions.sweep, w.actions.openAt, w.actions.positions.next = rewards.Switch{}, time.Time{}, time.Time{}
	}
	w.rest(begun)
	return nil
}
