package rewards

import (
	"encoding/binary"
	"errors"
	"time"
)

// EventRow is a row of the log of events: what one transaction made final for an app. Its events
// follow from it. An order's row has one event for each award that became final with the order.
type EventRow struct {
	AppID     AppID
	Last      int64      // sequence of its last event
	Types     EventTypes // of its events
	Subject   []byte     // id of the order, or of what its only event is about
	Positions []int      // of the awards in the order, ascending; nil: the row is not of an order
	At        time.Time  // zero: when the reward was recorded
}

// The sequences of events. Each transaction takes those after the newest, and at least
// Unix milliseconds x 1,000. So those of a restored store are above every one that was issued.
const (
	sequencesPerMilli = 1000
	// PastSequences is the last sequence for orders of before the log. The log has them in the order of their
	// creation, with sequences from 1.
	PastSequences = 1 << 40
)

// LeastSequence is the smallest sequence of an event at a moment.
func LeastSequence(now time.Time) int64 {
	return max(PastSequences+1, now.UnixMilli()*sequencesPerMilli)
}

// Width returns how many sequences the row takes.
func (r EventRow) Width() int64 {
	if len(r.Positions) == 0 {
		return 1
	}
	return int64(r.Positions[len(r.Positions)-1]) + 1
}

// Sequence returns the sequence of the event of the award at a position.
func (r EventRow) Sequence(position int) int64 { return r.Last - r.Width() + 1 + int64(position) }

// After lists the positions of the awards whose events come after a sequence.
func (r EventRow) After(sequence int64) []int {
	for i, position := range r.Positions {
		if r.Sequence(position) > sequence {
			return r.Positions[i:]
		}
	}
	return nil
}

// RewardEvent returns the row's event about a reward. position is that in the order; 0 without one.
func (r EventRow) RewardEvent(position int, about Reward) Event {
	e := Event{AppID: r.AppID, Type: EventRewardExecuted, Sequence: r.Last, At: r.At, Reward: about}
	if len(r.Positions) > 0 {
		e.Sequence = r.Sequence(position)
	}
	if about.Status == Failed {
		e.Type = EventRewardFailed
	}
	if e.At.IsZero() {
		e.At = about.CreatedAt()
	}
	e.ID = newEventID(e.AppID, e.Sequence, about.ID[:])
	return e
}

// ActionEvent returns the row's event about a corporate action.
func (r EventRow) ActionEvent(about Action) Event {
	return Event{
		AppID: r.AppID, ID: newEventID(r.AppID, r.Last, r.Subject), Type: r.Types, Sequence: r.Last, At: r.At,
		Action: about,
	}
}

// ReversalEvent returns the row's event about a completed reversal.
func (r EventRow) ReversalEvent(about Reversal) Event {
	return Event{
		AppID: r.AppID, ID: newEventID(r.AppID, r.Last, r.Subject), Type: r.Types, Sequence: r.Last, At: r.At,
		Reversal: about,
	}
}

// OfAction reports whether the row is about a corporate action.
func (r EventRow) OfAction() bool { return r.Types&actionEvents != 0 }

// finalEvent returns the type of the event of a reward that is final, or 0.
func (s Status) finalEvent() EventType {
	switch s {
	case Executed:
		return EventRewardExecuted
	case Failed:
		return EventRewardFailed
	default:
		return 0
	}
}

// EventsOf returns the rows of an order that was booked, one for each app with an award that became
// final. An award that was carried on to another order is not in them. Results are in the order
// of the members' positions. Last of each row counts from the first sequence of the order, 0.
func (o Order) EventsOf(results []Result) []EventRow {
	var rows []EventRow
	of := make(map[AppID]int)
	for position := range results {
		r := &results[position]
		kind := r.Status.finalEvent()
		if kind == 0 {
			continue
		}
		i, known := of[r.AppID]
		if !known {
			i = len(rows)
			of[r.AppID] = i
			rows = append(rows, EventRow{AppID: r.AppID, Subject: o.ID[:], At: o.SettledAt})
		}
		rows[i].Types |= kind
		rows[i].Positions = append(rows[i].Positions, position)
		rows[i].Last = int64(position)
	}
	return rows
}

// Event returns the type of the event of a change of an action, or 0: clients see another status.
func (c ActionChange) Event() EventType {
	shown := c.After.State.Shown()
	switch {
	case c.After.State == ActionPassed || !c.After.Type.shown():
		return 0
	case c.Before.ID != "" && c.Before.State.Shown() == shown:
		return 0
	}
	kind, _ := ParseEventType("corporate_action." + shown)
	return kind
}

// shown reports whether clients see actions of this type (additions, section 7).
func (t ActionType) shown() bool {
	switch t {
	case ActionForwardSplit, ActionReverseSplit, ActionStockDividend, ActionCashDividend, ActionNameChange,
		ActionSpinOff, ActionStockMerger, ActionCashMerger, ActionMixedMerger, ActionWorthless:
		return true
	default:
		return false
	}
}

var errPositions = errors.New("cannot read the positions of a row of events")

// AppendPositions appends positions, ascending, as runs: how many positions are left out and how
// many follow.
func AppendPositions(b []byte, positions []int) []byte {
	next := 0
	for i := 0; i < len(positions); {
		start := i
		for i++; i < len(positions) && positions[i] == positions[i-1]+1; i++ {
		}
		b = binary.AppendUvarint(b, uint64(positions[start]-next))
		b = binary.AppendUvarint(b, uint64(i-start))
		next = positions[i-1] + 1
	}
	return b
}

// ParsePositions reads what AppendPositions wrote.
func ParsePositions(b []byte) (positions []int, err error) {
	next := uint64(0)
	for len(b) > 0 {
		skip, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errPositions
		}
		b = b[n:]
		length, n := binary.Uvarint(b)
		if n <= 0 || skip > MaxMembers || length == 0 || length > MaxMembers || next > MaxMembers {
			return nil, errPositions
		}
		b = b[n:]
		next += skip
		for range length {
			positions = append(positions, int(next))
			next++
		}
	}
	return positions, nil
}
