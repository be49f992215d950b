package audit

import (
	"encoding/binary"
	"errors"
	"fmt"

	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// eventRow is a row of events. Its subject is an order when it has positions.
type eventRow struct {
	app                string
	last, types        int64
	subject, positions string
}

func (e *eventRow) name() string {
	return fmt.Sprintf("row of events %d of app %s", e.last, value.UUID(e.app))
}

// The bits of the types about rewards and reversals, and the first one about anything else.
const (
	eventExecuted = 1
	eventFailed   = 2
	eventReversal = 4
	eventOthers   = 8
)

// ending is an event about a reward, which a member of an order is or which the row names.
type ending struct {
	order    string
	position int64
	app      string
	reward   string
	types    int64
}

func (e *ending) columns() []any { return []any{&e.order, &e.position, &e.app, &e.reward, &e.types} }

// place is the key of a member.
func place(order string, position int64) reader.Key {
	return reader.Key{order, string(binary.BigEndian.AppendUint64(nil, uint64(position)))}
}

// eventCounter is the row of event_counter.
type eventCounter struct {
	last, pastLast     int64
	pastOrder, pastEnd string
}

// eventLog is what the log has of rewards, for the passes over orders and rewards.
type eventLog struct {
	counter             eventCounter
	ofOrders, ofRewards *reader.Sorter
}

// readEvents checks that sequences grow, and the events of reversals. It keeps those of rewards.
func (a *auditor) readEvents() error {
	a.log = eventLog{counter: eventCounter{last: -1}, ofOrders: a.r.NewSorter(), ofRewards: a.r.NewSorter()}
	err := reader.Each(a.r, reader.Stream[eventCounter]{
		What: "the counter of events", Query: `SELECT last, past_last, past_order, past_end FROM event_counter`,
		Bind: func(c *eventCounter) []any { return []any{&c.last, &c.pastLast, &c.pastOrder, &c.pastEnd} },
	}, func(c *eventCounter) { a.log.counter = *c })
	if err != nil {
		return err
	}
	ofReversals := a.r.NewSorter()
	if err := a.eventRows(ofReversals); err != nil {
		return err
	}
	return a.reversalEvents(ofReversals)
}

// eventRows checks the sequences of the rows, and collects their events about rewards and reversals.
func (a *auditor) eventRows(ofReversals *reader.Sorter) error {
	var before eventRow
	rows, err := reader.Open(a.r, reader.Stream[eventRow]{
		What: "events", Query: `SELECT app_id, last, types, subject, positions FROM events ORDER BY app_id, last`,
		Bind: func(e *eventRow) []any { return []any{&e.app, &e.last, &e.types, &e.subject, &e.positions} },
	})
	if err != nil {
		return err
	}
	return rows.Each(func(e *eventRow) error {
		a.t.row(checkEvents)
		positions, ok := runs(e.positions)
		first := e.last
		if len(positions) > 0 {
			first -= positions[len(positions)-1] - positions[0]
		}
		newest := a.log.counter.last
		if e.last <= pastSequences {
			newest = a.log.counter.pastLast
		}
		if !ok || !a.apps[e.app] || e.types <= 0 || e.last > newest || e.app == before.app && first <= before.last {
			a.t.fail(checkEvents, e.name(), fmt.Sprintf("sequences %d to %d, types %d", first, e.last, e.types),
				fmt.Sprintf("of a known app, after %d, at most %d", before.last, newest))
		}
		before = *e
		if len(positions) == 0 {
			switch {
			case e.types == eventReversal:
				return ofReversals.Add([]any{&e.app, &e.subject})
			case e.types >= eventOthers:
				return nil
			}
			return a.log.ofRewards.Add([]any{new(string), new(int64), &e.app, &e.subject, &e.types})
		}
		for _, position := range positions {
			if err := a.log.ofOrders.Add([]any{&e.subject, &position, &e.app, new(string), &e.types}); err != nil {
				return err
			}
		}
		return nil
	})
}

// pastSequences is the last sequence of an order of before the log.
const pastSequences = 1 << 40

// runs reads positions that are stored as runs.
func runs(stored string) (positions []int64, ok bool) {
	const most = 1000 // members of an order
	b, next := []byte(stored), uint64(0)
	for len(b) > 0 {
		skip, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, false
		}
		b = b[n:]
		length, n := binary.Uvarint(b)
		if n <= 0 || length == 0 || skip > most || length > most || next > most {
			return nil, false
		}
		b = b[n:]
		for next += skip; length > 0; length-- {
			positions = append(positions, int64(next))
			next++
		}
	}
	return positions, true
}

// claimEvents finds the events of a member, which are about its reward.
func (j *orderJoin) claimEvents(m *member) {
	err := j.events.Claim(place(m.order, m.position), func(e *ending) {
		if m.app != e.app {
			j.strayEvent(e)
			return
		}
		err := j.a.log.ofRewards.Add([]any{new(string), new(int64), &e.app, &m.reward, &e.types})
		j.failed = errors.Join(j.failed, err)
	}, j.strayEvent)
	j.failed = errors.Join(j.failed, err)
}

func (j *orderJoin) strayEvent(e *ending) {
	j.a.t.fail(checkEvents, fmt.Sprintf("event of member %d of order %s", e.position, value.UUID(e.order)),
		"no such member of app "+value.UUID(e.app), "one event of each member")
}

// finalReward is a reward with its status.
type finalReward struct {
	app, id string
	status  int64
}

// events checks that each final reward has one event.
func (a *auditor) events() error {
	list, err := reader.OpenSorted(a.r, reader.Stream[ending]{
		What: "events of rewards", Bind: (*ending).columns,
		Key: func(e *ending) reader.Key { return reader.Key{e.app, e.reward} },
	}, a.log.ofRewards)
	if err != nil {
		return err
	}
	stray := func(e *ending) {
		a.t.fail(checkEvents, "event about "+rewardName(e.app, e.reward), "no such reward", "a reward that exists")
	}
	rows, err := reader.Open(a.r, reader.Stream[finalReward]{
		What: "rewards with events", Query: `SELECT app_id, id, status FROM rewards ORDER BY app_id, id`,
		Bind: func(r *finalReward) []any { return []any{&r.app, &r.id, &r.status} },
	})
	if err != nil {
		return err
	}
	err = rows.Each(func(r *finalReward) error {
		a.t.row(checkEvents)
		events, types := 0, int64(0)
		if err := list.Claim(reader.Key{r.app, r.id}, func(e *ending) {
			events++
			types |= e.types
		}, stray); err != nil {
			return err
		}
		want, kind := 0, int64(0)
		switch r.status {
		case executed:
			want, kind = 1, eventExecuted
		case failed:
			want, kind = 1, eventFailed
		}
		if want == 1 && events == 0 && a.log.counter.pastOrder < a.log.counter.pastEnd {
			return nil // it will get its event
		}
		if events != want || types&kind != kind {
			a.t.fail(checkEvents, rewardName(r.app, r.id), fmt.Sprintf("%d events of the types %d", events, types),
				fmt.Sprintf("%d of the type %d", want, kind))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return list.Rest(stray)
}
