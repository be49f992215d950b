package fulfillment

import (
	"context"
	"errors"
	"slices"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const (
	positionsEvery = time.Minute
	positionsSoon  = 5 * time.Second // while a position is suspect, or the action of one is new
	// newDoubt is how long the action of a position is new. An undo that was right ends it soon.
	newDoubt = 5 * time.Minute
	// confirmations is how many comparisons in a row must find the same before a stock is held:
	// the broker's positions may lag behind its fills.
	confirmations = 2
	// positionsSilence is how long reading the positions may fail without an alarm.
	positionsSilence = 10 * time.Minute
)

// positionWatch is what the leader knows of the broker's positions.
type positionWatch struct {
	next     time.Time // ours, of the next comparison
	change   time.Time // the market's next change at the last one: a change makes the next one due
	since    time.Time // ours, since when reading them fails
	trouble  string
	suspects map[rewards.AssetID]int  // comparisons in a row
	found    map[string]finding       // by action, what the last comparison found
	paused   map[rewards.AssetID]bool // given by actions that wait for an order of the stock to end
}

// finding is what comparisons in a row found about an action.
type finding struct {
	judgment rewards.Judgment
	times    int
}

// comparePositions compares the broker's positions with the booked quantities when it is due:
// every minute, and when the market opens or closes. A stock whose position looks like a split is not
// ordered from the first comparison on, and is held from the second.
func (w *Worker) comparePositions(ctx context.Context, live []rewards.Order, clock rewards.MarketClock) error {
	p, now := &w.actions.positions, w.now()
	if p.trouble != "" && now.Sub(p.since) > positionsSilence {
		w.alarms.raise(rewards.AlarmPositionsUnknown, "cannot read the broker's positions: "+p.trouble+
			"; a split that was not announced goes unnoticed")
	}
	every := positionsEvery
	if w.anyDue(clock) || slices.ContainsFunc(w.actions.open, w.newlyDoubted) {
		every = positionsSoon
	}
	if w.conflictsEpoch != w.lease.Epoch { // orders may be missing in our books
		return nil
	}
	wait := p.next.Sub(now)
	if wait > 0 && wait <= every && p.change.Equal(clock.NextChange()) {
		return nil
	}
	p.next, p.change, p.paused = now.Add(every), clock.NextChange(), make(map[rewards.AssetID]bool)
	if w.conflicts > 0 { // orders are missing in our books, and nothing is ordered anyway
		p.next, p.suspects = now.Add(positionsSoon), nil
		return w.judgeBesideConflicts(ctx, live, clock)
	}
	booked, err := w.store.Booked(ctx)
	if err != nil || len(booked) == 0 && every == positionsEvery {
		return err
	}
	theirs, err := w.readPositions(ctx)
	if err != nil {
		if p.trouble == "" {
			p.since = now
		}
		p.trouble = err.Error()
		return nil // it has its alarm
	}
	p.trouble = ""
	err = w.judgePositions(ctx, settledOnly(booked, live), theirs, clock)
	stakes := newStakes(booked, theirs, w.actions.shortages)
	return errors.Join(err, w.judgeActions(ctx, judging{stakes, live, clock}))
}

// newlyDoubted reports whether an action is that of a position, and new.
func (w *Worker) newlyDoubted(a rewards.Action) bool {
	return a.DoubtsPosition() && w.now().Sub(a.HeldAt) < newDoubt
}

func (w *Worker) readPositions(ctx context.Context) ([]rewards.Position, error) {
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	return ask(ctx, w, w.broker.Positions)
}

// settledOnly leaves out the stocks that the broker may be buying now.
func settledOnly(booked []rewards.BookedPosition, live []rewards.Order) []rewards.BookedPosition {
	changing := make(map[rewards.AssetID]bool)
	for _, o := range live {
		changing[o.AssetID] = changing[o.AssetID] || o.MayHaveBought()
	}
	var settled []rewards.BookedPosition
	for _, b := range booked {
		if !changing[b.AssetID] {
			settled = append(settled, b)
		}
	}
	return settled
}

func (w *Worker) judgePositions(
	ctx context.Context, booked []rewards.BookedPosition, positions []rewards.Position, clock rewards.MarketClock,
) error {
	p := &w.actions.positions
	at := newStakes(booked, positions, nil)
	observation := rewards.Observation{Now: clock.Now, SeenAt: w.now()}
	held := rewards.HeldAssets(w.actions.open, clock.Now)
	differences := make(map[rewards.AssetID]money.Shares)
	suspects := make(map[rewards.AssetID]int)
	changes := w.endDoubts(at, observation)
	for _, b := range booked {
		theirs := at.position(b.BrokerID, b.Symbol).Qty
		difference := theirs - b.Quantity
		if difference != 0 && !held[b.AssetID] && !w.actions.sweeps(b.AssetID) {
			corrected, err := w.store.CorrectPosition(ctx, w.lease, b, difference)
			if err != nil {
				return err
			}
			if corrected {
				continue
			}
		}
		if difference != b.Differs {
			differences[b.AssetID] = difference
		}
		ratio, suspect := b.Suspect(theirs)
		if !suspect || held[b.AssetID] || w.actions.sweeps(b.AssetID) { // an action explains it, or holds it
			continue
		}
		if suspects[b.AssetID] = p.suspects[b.AssetID] + 1; suspects[b.AssetID] >= confirmations {
			changes = append(changes, rewards.ActionChange{After: observation.PositionAction(b, theirs, ratio)})
			delete(suspects, b.AssetID)
		}
	}
	if len(suspects) > 0 {
		p.next = w.now().Add(positionsSoon)
	}
	return w.savePositions(ctx, differences, changes, suspects)
}

// endDoubts ends the doubts about positions that agree with the store again, in two comparisons in a row.
func (w *Worker) endDoubts(at stakes, o rewards.Observation) []rewards.ActionChange {
	var changes []rewards.ActionChange
	for _, a := range w.actions.open {
		b, settled := at.booked[a.AssetID]
		if !a.DoubtsPosition() || !settled {
			continue
		}
		judgment := rewards.JudgeHold
		if b.Agrees(at.position(b.BrokerID, b.Symbol).Qty) {
			judgment = rewards.JudgeApply
		}
		if w.twice(a, judgment) && judgment == rewards.JudgeApply {
			changes = append(changes, rewards.ActionChange{Before: a, After: o.Agreed(a)})
		}
	}
	return changes
}

// savePositions stores what a comparison found.
func (w *Worker) savePositions(
	ctx context.Context, differences map[rewards.AssetID]money.Shares, changes []rewards.ActionChange,
	suspects map[rewards.AssetID]int,
) error {
	if len(differences) > 0 {
		if err := w.store.SaveDifferences(ctx, w.lease, differences); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		if err := w.store.ChangeActions(ctx, w.lease, changes); err != nil {
			return err
		}
		w.actions.openAt = time.Time{}
	}
	w.actions.positions.suspects = suspects
	return nil
}
