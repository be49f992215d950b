package fulfillment

import (
	"context"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

const (
	positionsEvery = time.Minute
	positionsSoon  = 5 * time.Second // while a position is suspected
	// confirmations is how many comparisons in a row must find the same before a stock
	// is held: the broker's list may be a moment behind its fills.
	confirmations = 2
	// positionsSilence is for how long the positions may fail to be read without an alarm.
	positionsSilence = 10 * time.Minute
)

// positionDesk is what the leader knows of the broker's positions.
type positionDesk struct {
	next     time.Time // ours, of the next comparison
	session  time.Time // the next turn of the market at the last one: a new session compares at once
	read     time.Time // ours, of the last that succeeded; zero: never
	since    time.Time // ours, since when they fail
	trouble  string
	suspects map[rewards.AssetID]int // how often in a row
}

// comparePositions compares the broker's positions with what the books have, when it is
// due: every minute, and at the market's turns. A stock whose position looks like a
// split's is not ordered from the first comparison on, and held from the second.
func (w *Worker) comparePositions(ctx context.Context, live []rewards.Order, clock rewards.MarketClock) error {
	d, now := &w.actions.positions, w.now()
	if d.trouble != "" && now.Sub(d.since) > positionsSilence {
		w.alarms.raise(rewards.AlarmPositionsUnknown, "the broker's positions cannot be read: "+d.trouble+
			"; a split that was not announced is not noticed")
	}
	wait := d.next.Sub(now)
	if wait > 0 && wait <= positionsEvery && d.session.Equal(clock.NextChange()) {
		return nil
	}
	d.next, d.session = now.Add(positionsEvery), clock.NextChange()
	if w.conflicts > 0 { // the books do not know all orders: nothing is ordered anyway
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
		if d.trouble == "" {
			d.since = now
		}
		d.trouble = err.Error()
		return nil
	}
	d.trouble, d.read = "", now
	return w.judgePositions(ctx, settledOnly(booked, live), theirs, clock)
}

// settledOnly leaves out the stocks that the broker may be buying now.
func settledOnly(booked []rewards.BookedPosition, live []rewards.Order) []rewards.BookedPosition {
	moving := make(map[rewards.AssetID]bool)
	for _, o := range live {
		moving[o.AssetID] = moving[o.AssetID] || o.State != rewards.OrderPlanned
	}
	var still []rewards.BookedPosition
	for _, b := range booked {
		if !moving[b.AssetID] {
			still = append(still, b)
		}
	}
	return still
}

func (w *Worker) judgePositions(
	ctx context.Context, booked []rewards.BookedPosition, positions []rewards.Position, clock rewards.MarketClock,
) error {
	d := &w.actions.positions
	byID, bySymbol := make(map[string]money.Shares), make(map[string]money.Shares)
	for _, p := range positions {
		byID[p.AssetID], bySymbol[p.Symbol] = p.Qty, p.Qty
	}
	observation := rewards.Observation{Now: clock.Now, SeenAt: w.now()}
	held := rewards.HeldAssets(w.actions.board, clock.Now)
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
		if !suspect || held[b.AssetID] { // what is held is explained, or under an operator's eyes
			continue
		}
		if suspects[b.AssetID] = d.suspects[b.AssetID] + 1; suspects[b.AssetID] >= confirmations {
			changes = append(changes, rewards.ActionChange{After: observation.PositionAction(b, theirs, ratio)})
			delete(suspects, b.AssetID)
		}
	}
	if len(suspects) > 0 {
		d.next = w.now().Add(positionsSoon)
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
		w.actions.boardAt = time.Time{}
	}
	w.actions.positions.suspects = suspects
	return nil
}
