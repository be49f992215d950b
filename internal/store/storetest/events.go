package storetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// eventContract are the tests of the log of events.
func eventContract() map[string]func(*testing.T, *World) {
	return map[string]func(*testing.T, *World){
		"EventsOfOrders":     testEventsOfOrders,
		"EventsOfRefusals":   testEventsOfRefusals,
		"EventsInPages":      testEventPages,
		"EventsAmongOthers":  testEventsAmongOthers,
		"EventsOfActions":    testEventsOfActions,
		"EventsGrow":         testEventSequences,
		"EventsAfterRestore": testEventsAfterRestore,
		"EventsOfOlderBooks": testPastEvents,
		"EventsUnderWay":     testEventsAtOnce,
	}
}

// events lists all events of an app by pages.
func (w *World) events(t *testing.T, app rewards.App, types rewards.EventTypes, limit int) (list []rewards.Event) {
	t.Helper()
	for after := int64(0); ; {
		page, err := w.EventsAfter(t.Context(), app.ID, after, types, limit)
		check(t, err)
		if page.Next < after || len(page.Events) > limit {
			t.Fatalf("%d events after %d, the next page begins after %d", len(page.Events), after, page.Next)
		}
		for _, e := range page.Events {
			if e.Sequence <= after || e.AppID != app.ID {
				t.Errorf("after %d: %+v", after, e)
			}
			after = e.Sequence
			one, err := w.Event(t.Context(), app.ID, e.ID)
			check(t, err)
			wantEqual(t, "the event by its id", e, one)
			one, err = w.Event(t.Context(), app.ID, earlierID(e))
			check(t, err)
			wantEqual(t, "the event by its earlier id", e, one)
		}
		if len(page.Events) == 0 {
			return list
		}
		list = append(list, page.Events...)
		after = page.Next
	}
}

// earlierID is the id that an earlier version gave to an event: of version 8, with the sequence in 48 and 12 bits.
func earlierID(e rewards.Event) (id rewards.EventID) {
	id = e.ID
	binary.BigEndian.PutUint64(id[:8], uint64(e.Sequence)>>12<<16|0x8000|uint64(e.Sequence)&0xfff)
	return id
}

// described lists events: types and rewards or actions.
func described(list []rewards.Event) (texts []string) {
	for _, e := range list {
		about := e.Action.ID
		switch {
		case about != "":
		case !e.Reversal.ID.IsZero():
			about = e.Reversal.Amount.String() + " " + e.Reversal.State.String()
		default:
			about = e.Reward.IdempotencyKey + " " + e.Reward.Status.String()
		}
		texts = append(texts, e.Type.String()+": "+about)
	}
	return texts
}

// giveFrom records a reward of AAPL to a user of another app.
func (w *World) giveFrom(t *testing.T, u rewards.User, amount money.USD) rewards.Reward {
	t.Helper()
	r := w.Request(t, amount)
	r.AppID, r.UserID = u.AppID, u.ID
	r.Fingerprint = rewards.NewFingerprint(r, "")
	return w.record(t, r)
}

// testEventsOfOrders: an award has its event with the order that completes it, and only then.
func testEventsOfOrders(t *testing.T, w *World) {
	other := w.NewApp(t, "other")
	guest := w.NewUser(t, other.ID, "guest")
	first, theirs := w.Give(t, 2_000_000), w.giveFrom(t, guest, 2_000_000)
	split, waiting := w.Give(t, 2_000_000), w.giveFrom(t, guest, 1_000_000)
	o := w.Open(t)
	w.Advance(time.Second)
	check(t, w.Settle(t, o, "canceled", 25_000_000, dollar200)) // $5: one award is split
	list := w.events(t, w.App, rewards.AllEvents, 200)
	wantEqual(t, "events", []string{"reward.executed: " + first.IdempotencyKey + " executed"}, described(list))
	e := list[0]
	wantEqual(t, "its reward", w.reward(t, first), e.Reward)
	if !e.At.Equal(w.Now()) || e.Sequence < w.Now().UnixMilli()*1000 {
		t.Errorf("event %+v", e)
	}
	wantEqual(t, "of the other app", []string{"reward.executed: " + theirs.IdempotencyKey + " executed"},
		described(w.events(t, other, rewards.AllEvents, 200)))
	wantCode(t, failure(w.Event(t.Context(), other.ID, e.ID)), rewards.CodeNotFound)
	check(t, w.Settle(t, w.Open(t), "filled", 10_000_000, dollar200))
	wantEqual(t, "after both", []string{
		"reward.executed: " + first.IdempotencyKey + " executed", "reward.executed: " + split.IdempotencyKey + " executed",
	}, described(w.events(t, w.App, rewards.AllEvents, 1)))
	wantEqual(t, "of the other app, after both", []string{
		"reward.executed: " + theirs.IdempotencyKey + " executed", "reward.executed: " + waiting.IdempotencyKey + " executed",
	}, described(w.events(t, other, rewards.AllEvents, 1)))
}

// testEventsOfRefusals: what fails has one event, whoever decided it.
func testEventsOfRefusals(t *testing.T, w *World) {
	mistaken := w.Give(t, 1_000_000)
	check(t, w.canceled(t.Context(), mistaken.ID, "given twice"))
	wantCode(t, w.canceled(t.Context(), mistaken.ID, "again"), rewards.CodeConflict)
	a, b := w.Give(t, 2_000_000), w.Give(t, 3_000_000)
	check(t, w.Settle(t, w.Open(t), "rejected", 0, 0))
	tiny, whole := w.Give(t, 1), w.Give(t, 5_000_000)
	check(t, w.Settle(t, w.Open(t), "filled", 1_000, 5_000_000_000_000_000)) // a share costs $5 million
	failed := func(r rewards.Reward) string { return "reward.failed: " + r.IdempotencyKey + " failed" }
	executed := "reward.executed: " + whole.IdempotencyKey + " executed"
	back := "reversal.completed: 1 completed"
	all := []string{failed(mistaken), back, failed(a), failed(b), failed(tiny), executed}
	wantEqual(t, "all", all, described(w.events(t, w.App, rewards.AllEvents, 2)))
	wantEqual(t, "failed", []string{all[0], all[2], all[3], all[4]},
		described(w.events(t, w.App, rewards.EventRewardFailed, 1)))
	wantEqual(t, "executed", all[5:], described(w.events(t, w.App, rewards.EventRewardExecuted, 1)))
	wantEqual(t, "reversals", all[1:2], described(w.events(t, w.App, rewards.EventReversalCompleted, 1)))
	wantEqual(t, "others", nil, described(w.events(t, w.App, rewards.EventActionHeld, 1)))
	for _, id := range []rewards.EventID{{}, {6: 0x70, 8: 0x80}, {0: 255, 6: 0x70, 8: 0x80}, {6: 0x7f, 8: 0x80}} {
		wantCode(t, failure(w.Event(t.Context(), w.App.ID, id)), rewards.CodeNotFound)
	}
}

// testEventPages: whoever follows by pages of any size gets each event once.
func testEventPages(t *testing.T, w *World) {
	guest := w.NewUser(t, w.NewApp(t, "other").ID, "guest")
	var want []string
	for range 40 {
		for range 3 {
			r := w.Give(t, 1_000_000)
			want = append(want, "reward.executed: "+r.IdempotencyKey+" executed")
			w.giveFrom(t, guest, 1_000_000)
		}
		check(t, w.Settle(t, w.Open(t), "filled", 30_000_000, dollar200))
	}
	for _, limit := range []int{1, 2, 3, 7, 200} {
		got := described(w.events(t, w.App, rewards.AllEvents, limit))
		slices.Sort(got)
		wantEqual(t, fmt.Sprint("pages of ", limit), want, got)
	}
	page, err := w.EventsAfter(t.Context(), w.App.ID, math.MaxInt64, rewards.AllEvents, 1)
	check(t, err)
	wantEqual(t, "beyond the end", rewards.EventPage{Next: math.MaxInt64}, page)
}

// testEventsAmongOthers: a page ends after some thousand rows with events of other types, so that no call holds a
// connection for long, and the next one goes on behind them.
func testEventsAmongOthers(t *testing.T, w *World) {
	const others, looked = 5000, 8*32 + 4096
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO events (app_id, last, types, subject, positions, at)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
			SELECT ?1, i, `+strconv.Itoa(int(rewards.EventReversalCompleted))+`, ?2, ?3, 0 FROM n`,
			w.App.ID[:], []byte("subject"), []byte{})
		return err
	}))
	r := w.Give(t, 1_000_000)
	check(t, w.canceled(t.Context(), r.ID, "of a test"))
	newest := read(t, w.NewestEvent)
	for _, types := range []rewards.EventTypes{rewards.EventRewardFailed, rewards.EventRewardFailed | rewards.EventRewardExecuted} {
		first, err := w.EventsAfter(t.Context(), w.App.ID, 0, types, 200)
		check(t, err)
		wantEqual(t, "the first page", rewards.EventPage{Next: looked, More: true}, first)
		rest, err := w.EventsAfter(t.Context(), w.App.ID, first.Next, types, 200)
		check(t, err)
		wantEqual(t, "the second page", []string{"reward.failed: " + r.IdempotencyKey + " failed"}, described(rest.Events))
		if rest.More || rest.Next != newest {
			t.Errorf("it goes on after %d, more %v; the newest event is %d", rest.Next, rest.More, newest)
		}
		near, err := w.EventsAfter(t.Context(), w.App.ID, others-10, types, 1)
		check(t, err)
		if len(near.Events) != 1 {
			t.Errorf("after the last of the others there are %d events", len(near.Events))
		}
	}
}

// testEventsOfActions: an action has one event for each app that sees it and each status that clients see.
func testEventsOfActions(t *testing.T, w *World) {
	other, stranger := w.NewApp(t, "other"), w.NewApp(t, "stranger")
	w.endow(t, w.App.ID, "AAPL", w.Users[0].ID)
	w.endow(t, other.ID, "KO", w.NewUser(t, other.ID, "user").ID)
	spin := w.note(t, "spin", rewards.ActionSpinOff, "AAPL", "KO", 1)
	w.note(t, "rights", rewards.ActionRights, "AAPL", "", 1)
	w.note(t, "unknown", "things_of_tomorrow", "AAPL", "", 1)
	w.note(t, "passed", rewards.ActionWorthless, "TSLA", "", 1)
	var want []string
	for _, state := range []rewards.ActionState{
		rewards.ActionHeld, rewards.ActionWithdrawn, rewards.ActionAnnounced, rewards.ActionAnnounced, rewards.ActionApplied,
		rewards.ActionSwept, rewards.ActionUndoing, rewards.ActionUndone,
	} {
		before := spin
		spin.State = state
		check(t, w.change(t, rewards.ActionChange{Before: before, After: spin}))
	}
	for _, status := range []string{"announced", "held", "withdrawn", "announced", "applied", "undone"} {
		want = append(want, "corporate_action."+status+": spin")
	}
	for _, app := range []rewards.App{w.App, other} {
		list := w.events(t, app, rewards.AllEvents, 4)
		wantEqual(t, app.Name, want, described(list))
		wantEqual(t, "as it is now", spin, list[0].Action)
	}
	theirs := w.events(t, other, rewards.EventActionHeld, 1)[0]
	wantCode(t, failure(w.Event(t.Context(), w.App.ID, theirs.ID)), rewards.CodeNotFound) // ours has that sequence too
	wantEqual(t, "an app without the stock", nil, w.events(t, stranger, rewards.AllEvents, 4))
	wantEqual(t, "held", want[1:2], described(w.events(t, w.App, rewards.EventActionHeld, 4)))
}

// testEventSequences: sequences grow when the clock goes back, and begin above the clock's after a restore.
func testEventSequences(t *testing.T, w *World) {
	var last int64
	for _, step := range []time.Duration{0, -time.Hour, 2 * time.Hour, 0} {
		w.Advance(step)
		r := w.Give(t, 1_000_000)
		check(t, w.canceled(t.Context(), r.ID, "of a test"))
		newest := read(t, w.NewestEvent)
		if newest <= last || newest < w.Now().UnixMilli()*1000 {
			t.Errorf("sequence %d after %d", newest, last)
		}
		last = newest
	}
	list := w.events(t, w.App, rewards.AllEvents, 200)
	wantEqual(t, "the last", last, list[len(list)-1].Sequence)
}

// testEventsAfterRestore: a restored store issues no sequence again, even if the lost orders took more
// sequences than a millisecond has.
func testEventsAfterRestore(t *testing.T, w *World) {
	cancel := func() {
		r := w.Give(t, 1_000_000)
		check(t, w.canceled(t.Context(), r.ID, "of a test"))
	}
	cancel()
	backup := read(t, w.NewestEvent)
	for range 2 { // full orders within a millisecond
		for range rewards.MaxMembers {
			w.Give(t, 1_000_000)
		}
		check(t, w.Settle(t, w.Open(t), "filled", rewards.MaxMembers*5_000_000, dollar200))
	}
	newest := read(t, w.NewestEvent)
	if newest < backup+2*rewards.MaxMembers {
		t.Errorf("two full orders took the sequences from %d to %d", backup, newest)
	}
	w.restoreEvents(t, backup)
	w.Advance(time.Second) // no restore is quicker
	cancel()
	page, err := w.EventsAfter(t.Context(), w.App.ID, backup, rewards.AllEvents, 200)
	check(t, err)
	if len(page.Events) != 2 || page.Events[0].Sequence <= newest { // a cancel gives two
		t.Errorf("after the restore: %d events, the first has %d, the newest before was %d", len(page.Events),
			page.Events[0].Sequence, newest)
	}
}

// restoreEvents makes the log what it was when the newest sequence was last.
func (w *World) restoreEvents(t *testing.T, last int64) {
	t.Helper()
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		for _, statement := range []string{
			`-- only in tests
			DELETE FROM events WHERE last > ?1`,
			`-- only in tests
			UPDATE event_counter SET last = ?1`,
		} {
			if _, err := tx.Exec(ctx, statement, last); err != nil {
				return err
			}
		}
		return nil
	}))
}

// older makes a store of before the log: the events are not in it.
func (w *World) older(t *testing.T) {
	t.Helper()
	check(t, w.engine.Write(t.Context(), func(ctx context.Context, tx store.Tx) error {
		for _, statement := range []string{
			`-- only in tests
			DELETE FROM events`,
			`-- only in tests
			INSERT INTO late_orders (order_id) SELECT id FROM orders WHERE state < 6`,
			`-- only in tests
			UPDATE event_counter SET past_last = 0, past_end = (SELECT id FROM orders ORDER BY id DESC LIMIT 1)`,
		} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}))
}

// testPastEvents: orders that an earlier version booked get the same events. Until then nobody reads past them.
func testPastEvents(t *testing.T, w *World) {
	for range 20 {
		w.Give(t, 1_000_000)
		check(t, w.Settle(t, w.Open(t), "filled", 5_000_000, dollar200))
	}
	w.Give(t, 2_000_000)
	w.Give(t, 2_000_000)
	check(t, w.Settle(t, w.Open(t), "canceled", 15_000_000, dollar200))
	w.Advance(time.Second)
	check(t, w.Settle(t, w.Open(t), "canceled", 0, 0))
	check(t, w.Settle(t, w.Open(t), "filled", 5_000_000, dollar200))
	w.Give(t, 3_000_000)
	check(t, w.Settle(t, w.Open(t), "rejected", 0, 0))
	before := w.events(t, w.App, rewards.AllEvents, 200)
	want := described(before)
	w.Give(t, 4_000_000)
	late := w.Open(t)
	w.unmove(t)
	w.older(t)
	check(t, w.Settle(t, late, "filled", 20_000_000, dollar200))
	newer, err := w.EventsAfter(t.Context(), w.App.ID, rewards.PastSequences, rewards.AllEvents, 200)
	check(t, err)
	_, err = w.EventsAfter(t.Context(), w.App.ID, 0, rewards.AllEvents, 200)
	wantCode(t, err, rewards.CodeUnavailable)
	steps := 0
	check(t, w.LogPast(t.Context(), func(rewards.OrderID) { steps++ }))
	check(t, w.LogPast(t.Context(), func(rewards.OrderID) { t.Error("it was done") }))
	wantEqual(t, "events", append(want, described(newer.Events)...), described(w.events(t, w.App, rewards.AllEvents, 3)))
	wantEqual(t, "transactions", 2, steps)
	for i, e := range w.events(t, w.App, rewards.AllEvents, 200)[:len(before)] {
		wantEqual(t, "the time", before[i].At, e.At)
	}
	page, err := w.EventsAfter(t.Context(), w.App.ID, 0, rewards.AllEvents, 1)
	check(t, err)
	wantEqual(t, "the first sequence", 1, page.Events[0].Sequence)
}

// testEventsAtOnce: two stores that write at the same time take sequences in the order of their commits. A
// reader who asks for what comes after the last sequence misses nothing.
func testEventsAtOnce(t *testing.T, w *World) {
	const each = 25
	ended := make(chan error, 2)
	for range 2 {
		var list []rewards.Reward
		for range each {
			list = append(list, w.Give(t, 1_000_000))
		}
		go func() {
			for _, r := range list {
				if err := w.canceled(context.WithoutCancel(t.Context()), r.ID, "of a test"); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	seen, after := 0, int64(0)
	for running := 2; ; {
		page, err := w.EventsAfter(t.Context(), w.App.ID, after, rewards.AllEvents, 3)
		check(t, err)
		seen, after = seen+len(page.Events), page.Next
		select {
		case err := <-ended:
			check(t, err)
			running--
		default:
			if running == 0 && len(page.Events) == 0 {
				wantEqual(t, "events", 2*each*2, seen) // a cancel gives two
				return
			}
		}
	}
}
