package rewards

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"
)

// EventID identifies an event. It is computed from the event, not stored.
type EventID = ID[Event]

// EventType is the type of an event. Types are bits, so that EventTypes is a set of them.
type EventType int

// The types of events (additions, section 4).
const (
	EventRewardExecuted EventType = 1 << iota
	EventRewardFailed
	EventReversalCompleted
	EventActionAnnounced
	EventActionApplied
	EventActionHeld
	EventActionWithdrawn
	EventActionUndone
)

// EventTypes is a set of event types: the sum of its members.
type EventTypes = EventType

// AllEvents is the set of all types.
const AllEvents EventTypes = EventActionUndone<<1 - 1

// actionEvents is the set of the types about corporate actions.
const actionEvents = EventActionAnnounced | EventActionApplied | EventActionHeld | EventActionWithdrawn |
	EventActionUndone

// EventTypeNames returns the names of the types, in the order of their bits.
func EventTypeNames() []string {
	return []string{
		"reward.executed", "reward.failed", "reversal.completed", "corporate_action.announced",
		"corporate_action.applied", "corporate_action.held", "corporate_action.withdrawn", "corporate_action.undone",
	}
}

// String returns the name of a type, or the names of a set of types with commas between them.
func (t EventType) String() string {
	var names []string
	for i, name := range EventTypeNames() {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ParseEventType returns the type of that name, or false.
func ParseEventType(name string) (EventType, bool) {
	i := slices.Index(EventTypeNames(), name)
	return 1 << max(0, i), i >= 0
}

// Event is something that happened to an app's rewards, reversals or stocks. It is read with its
// subject as that is now.
type Event struct {
	AppID    AppID
	ID       EventID
	Type     EventType
	Sequence int64 // grows within an app; there may be gaps
	At       time.Time
	Reward   Reward   // of EventRewardExecuted and EventRewardFailed
	Reversal Reversal // of EventReversalCompleted
	Action   Action   // of the types about corporate actions
}

// EventPage is a page of an app's events, oldest first.
type EventPage struct {
	Events []Event
	Next   int64 // the next page begins after this sequence
	More   bool  // there may be more, also after a page that is not full
}

// The layout of an event's id, a UUID of version 7: the sequence as milliseconds and thousandths of one, and 62 bits of
// a hash. A sequence grows with the time, and is mostly the microsecond. Ids of an earlier version had version 8, and
// the sequence in 48 and 12 bits.
const (
	idVersion    = 0x7000
	idVersionOld = 0x8000
	idVersions   = 0xf000
	idLowBitsOld = 12
	idVariant    = 1 << 63
	idVariants   = 3 << 62
)

// newEventID returns the id of an event about a subject. The hash makes ids of apps differ, and
// also those of events that got one sequence because a store was restored with a wrong clock.
func newEventID(app AppID, sequence int64, subject []byte) (id EventID) {
	h := sha256.New()
	h.Write(app[:])
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(sequence)))
	h.Write(subject)
	sum := binary.BigEndian.Uint64(h.Sum(nil))
	millis, rest := uint64(sequence)/sequencesPerMilli, uint64(sequence)%sequencesPerMilli
	binary.BigEndian.PutUint64(id[:8], millis<<16|idVersion|rest)
	binary.BigEndian.PutUint64(id[8:], idVariant|sum&^idVariants)
	return id
}

// SequenceOf returns the sequence in an event's id, also in one of an earlier version, or false if no event has such an
// id.
func SequenceOf(id EventID) (sequence int64, ok bool) {
	high := binary.BigEndian.Uint64(id[:8])
	first, rest := high>>16, high&^idVersions&(1<<16-1)
	if binary.BigEndian.Uint64(id[8:])&idVariants != idVariant {
		return 0, false
	}
	switch high & idVersions {
	case idVersion:
		return int64(first*sequencesPerMilli + rest), rest < sequencesPerMilli
	case idVersionOld:
		return int64(first<<idLowBitsOld | rest), true
	}
	return 0, false
}

// HasID reports whether an id with the event's sequence is its id, or the one that it had in an earlier version: both
// have the same hash.
func (e *Event) HasID(id EventID) bool { return bytes.Equal(e.ID[8:], id[8:]) }
