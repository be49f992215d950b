package fulfillment

import (
	"context"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const (
	positionsEvery = time.Minute
	positionsSoon  = 5 * time.Second // while a position is suspect
	// confirmations is how many comparisons in a row must find the same before a stock is held:
	// the broker's positions may lag behind its fills.
	confirmations = 2
	// positionsSilence is how long reading the positions may fail without an alarm.
	positionsSilence = 10 * time.Minute
)

// positionWatch is what the leader knows of the broker's positions.
type positionWatch struct {
	next     time.Time // ours, of the next comparison
	turn     time.Time // the market's next turn at the last one: a turn makes the next one due
	since    time.Time // ours, since when reading them fails
	trouble  string
	suspects map[rewards.AssetID]int // comparisons in a row
}

// comparePositions compares the broker's positions with the booked quantities when it is due:
// every minute, and at the market's turns. A stock whose position looks like a split is not
// ordered from the first comparison on, and is held from the second.
func (w *Worker) comparePositions(ctx context.Context, live []rewards.Order, clock rewards.MarketClock) error {
	p, now := &w.actions.positions, w.now()
	if p.trouble != "" && now.Sub(p.since) > positionsSilence {
		w.alarms.raise(rewards.AlarmPositionsUnknown, "cannot read the broker's positions: "+p.trouble+
			"; a split that was not announced goes unnoticed")
	}
	wait := p.next.Sub(now)
	if wait > 0 && wait <= positionsEvery && p.turn.Equal(clock.NextChange()) {
		return nil
	}
	p.next, p.turn = now.Add(positionsEvery), clock.NextChange()
	if w.conflicts > 0 { // orders are missing in our books, and nothing is ordered anyway
		return nil
	}
	booked, err := w.store.Booked(ctx)
	if err != nil || len(booked) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pagePatience)
	defer cancel()
	theirs, err := w.broker.Positions(ctx)
	if err != nil {
		if p.trouble == "" {
			p.since = now
		}
		p.trouble = err.Error()
		return nil // it has its alarm
	}
	p.trouble = ""
	return w.judgePositions(ctx, settledOnly(booked, live), theirs, clock)
}

// settledOnly leaves out the stocks that the broker may be buying now.
func settledOnly(booked []rewards.BookedPosition, live []rewards.Order) []rewards.BookedPosition {
	changing := make(map[rewards.AssetID]bool)
	for _, o := range live {
		changing[o.AssetID] = changing[o.AssetID] || o.State != rewards.OrderPlanned
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
	byID, bySymbol := make(map[string]money.Shares), make(map[string]money.Shares)
	for _, theirs := range positions {
		byID[theirs.AssetID], bySymbol[theirs.Symbol] = theirs.Qty, theirs.Qty
	}
	observation := rewards.Observation{Now: clock.Now, SeenAt: w.now()}
	held := rewards.HeldAssets(w.actions.open, clock.Now)
	differences := make(map[rewards.AssetID]money.Shares)
	suspects := make(map[rewards.AssetID]int)
	var changes []rewards.ActionChange
	for _, b := range booked {
		theirs, found := byID[b.BrokerID]
		if !found || b.BrokerID == "" {
			theirs = bySymbol[b.Symbol]
		}
		if difference := theirs - b.Quantity; difference != b.Differs {
			differences[b.AssetID] = difference
		}
		ratio, suspect := b.Suspect(theirs)
		if !suspect || held[b.AssetID] { // a held stock is with an operator
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
