package audit

import (
	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// reversalEvents checks that each completed reversal has one event, and others have no event.
func (a *auditor) reversalEvents(found *reader.Sorter) error {
	type subject struct{ app, id string }
	list, err := reader.OpenSorted(a.r, reader.Stream[subject]{
		What: "events of reversals",
		Bind: func(s *subject) []any { return []any{&s.app, &s.id} },
		Key:  func(s *subject) reader.Key { return reader.Key{s.app, s.id} },
	}, found)
	if err != nil {
		return err
	}
	stray := func(s *subject) {
		a.t.fail(checkEvents, "event about the reversal "+value.UUID(s.id), "no such row", "a reversal that exists")
	}
	type row struct {
		app, id string
		state   int64
	}
	rows, err := reader.Open(a.r, reader.Stream[row]{
		What: "reversals with events", Query: `SELECT app_id, id, state FROM reversals ORDER BY app_id, id`,
		Bind: func(r *row) []any { return []any{&r.app, &r.id, &r.state} },
	})
	if err != nil {
		return err
	}
	err = rows.Each(func(r *row) error {
		a.t.row(checkEvents)
		events, want := int64(0), int64(0)
		if err := list.Claim(reader.Key{r.app, r.id}, func(*subject) { events++ }, stray); err != nil {
			return err
		}
		if r.state == reversalCompleted {
			want = 1
		}
		if events != want {
			a.t.fail(checkEvents, "reversal "+value.UUID(r.id), value.Int(events)+" events", value.Int(want))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return list.Rest(stray)
}
