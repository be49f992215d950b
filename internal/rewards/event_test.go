package rewards_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// Positions are read as they were written, and runs take few bytes.
func TestPositions(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var positions []int
		for p := range rewards.MaxMembers {
			if random.IntN(3) > 0 {
				positions = append(positions, p)
			}
		}
		got, err := rewards.ParsePositions(rewards.AppendPositions(nil, positions))
		if err != nil || !slices.Equal(got, positions) {
			t.Fatalf("got %v, %v, want %v", got, err, positions)
		}
	}
	var all []int
	for p := range rewards.MaxMembers {
		all = append(all, p)
	}
	if n := len(rewards.AppendPositions(nil, all)); n != 3 {
		t.Errorf("a whole order takes %d bytes", n)
	}
	for _, damaged := range []string{"\x01", "\x80", "\x00\x00", "\x00\xff\xff\x03", "\xff\xff\xff\xff\x0f\x01"} {
		if got, err := rewards.ParsePositions([]byte(damaged)); err == nil {
			t.Errorf("%q is read as %v", damaged, got)
		}
	}
}

// A row of an order has the awards that became final, and the ids of events have their sequences.
func TestEventsOfAnOrder(t *testing.T) {
	t.Parallel()
	a, b := rewards.AppID{1}, rewards.AppID{2}
	var results []rewards.Result
	for i, status := range []rewards.Status{
		rewards.Executed, rewards.Executed, rewards.Executing, rewards.Failed, rewards.Executed,
	} {
		r := rewards.Result{Status: status}
		r.AppID = []rewards.AppID{a, b}[i%2]
		results = append(results, r)
	}
	o := rewards.Order{ID: rewards.OrderID{7}}
	want := []rewards.EventRow{
		{AppID: a, Last: 4, Types: rewards.EventRewardExecuted, Subject: o.ID[:], Positions: []int{0, 4}},
		{
			AppID: b, Last: 3, Types: rewards.EventRewardExecuted | rewards.EventRewardFailed, Subject: o.ID[:],
			Positions: []int{1, 3},
		},
	}
	rows := o.EventsOf(results)
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	const base = 1_790_000_000_000_123
	row := rows[1]
	row.Last += base
	if row.Sequence(1) != base+1 || row.Sequence(3) != base+3 {
		t.Errorf("sequences %d and %d", row.Sequence(1), row.Sequence(3))
	}
	if got := row.After(base + 1); !slices.Equal(got, []int{3}) {
		t.Errorf("after the first: %v", got)
	}
	e := row.RewardEvent(3, rewards.Reward{Status: rewards.Failed})
	if sequence, ok := rewards.SequenceOf(e.ID); !ok || sequence != base+3 || e.Type != rewards.EventRewardFailed {
		t.Errorf("event %+v has the sequence %d", e, sequence)
	}
	if e.ID[6]>>4 != 7 || e.ID.Time() != time.UnixMilli(base/1000).UTC() {
		t.Errorf("the id %s is of version %d, and has the time %s", e.ID, e.ID[6]>>4, e.ID.Time())
	}
}

// An id of version 8, as an earlier version made it, has the event's sequence and its hash.
func TestEventIDsOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	row := rewards.EventRow{Last: 1_790_000_000_000_999, Types: rewards.EventRewardFailed, Positions: []int{0}}
	e := row.RewardEvent(0, rewards.Reward{Status: rewards.Failed})
	old := e.ID
	binary.BigEndian.PutUint64(old[:8], uint64(row.Last)>>12<<16|0x8000|uint64(row.Last)&0xfff)
	if sequence, ok := rewards.SequenceOf(old); !ok || sequence != row.Last || !e.HasID(old) || !e.HasID(e.ID) {
		t.Errorf("the id %s has the sequence %d, want %d", old, sequence, row.Last)
	}
	old[15] ^= 1
	if e.HasID(old) {
		t.Error("an id with another hash is the event's")
	}
	old[6] = 0x90
	if _, ok := rewards.SequenceOf(old); ok {
		t.Error("an id of version 9 has a sequence")
	}
}

// Each type has its own name.
func TestEventTypes(t *testing.T) {
	t.Parallel()
	all := rewards.EventTypes(0)
	for _, name := range rewards.EventTypeNames() {
		kind, ok := rewards.ParseEventType(name)
		if !ok || kind.String() != name {
			t.Errorf("%s is read as %v", name, kind)
		}
		all += kind
	}
	if _, ok := rewards.ParseEventType("reward"); ok || all != rewards.AllEvents {
		t.Errorf("all types are %d", all)
	}
}
