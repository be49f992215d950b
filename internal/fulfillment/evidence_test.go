package fulfillment_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// serve steps the worker and reads the prices every second, as the service does.
func (w *world) serve(d time.Duration) {
	w.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		w.check(w.market.Refresh(w.t.Context()))
		w.run(min(time.Second, time.Until(end)))
	}
}

// wantHeld checks that an action is held by an operator's decision, and that its note has a part.
func (w *world) wantHeld(id, note string) {
	w.t.Helper()
	a := w.action(id)
	if a.State != rewards.ActionHeld || a.WaitsFor != "" || !strings.Contains(a.Note, note) {
		w.t.Errorf("the action is %s, waits for %q, note %q; want it held: %q", a.State, a.WaitsFor, a.Note, note)
	}
	w.wantAlarm(rewards.AlarmAction+id, true)
}

// wantNotOrdered checks that a new award of the stock waits.
func (w *world) wantNotOrdered(symbol string) rewards.Reward {
	w.t.Helper()
	return w.wantAfter(10*time.Second, w.give(symbol, 5*usd), rewards.Recorded)
}

// The announcement comes after an operator has applied what the position showed. It changes nothing again.
func TestALateAnnouncementOfWhatIsApplied(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{
		"a split":          `"type":"forward_split","old_rate":1,"new_rate":2`,
		"a reverse split":  `"type":"reverse_split","old_rate":3,"new_rate":1`,
		"a stock dividend": `"type":"stock_dividend","rate":0.5`,
	}, func(w *world, terms string) {
		w.wantAfter(5*time.Second, w.give("AAPL", 1000*usd), rewards.Executed)
		w.afflict("late-announcement symbol=AAPL")
		id := w.post(`{"symbol":"AAPL","ex_date":"2000-01-05",` + terms + `}`)
		w.until("2000-01-05 02:30:00")
		w.serve(90 * time.Second)
		held := w.actionsOf(rewards.ActionHeld)
		if len(held) != 1 || held[0].Type != rewards.ActionPosition {
			w.t.Fatalf("held: %+v, want the position", held)
		}
		w.approve(held[0].ID)
		w.serve(20 * time.Second)
		if _, err := w.operator("asset confirm").ConfirmAsset(w.t.Context(), "AAPL"); rewards.CodeOf(err) != rewards.CodeConflict {
			w.check(err) // a stock dividend leaves no doubt
		}
		w.serve(20 * time.Second)
		before := w.holding(w.user, "AAPL").Quantity
		w.wantValued("AAPL", true)
		seen := w.watch(time.Second)
		w.until("2000-01-05 10:00:00")
		w.serve(time.Minute)
		w.wantAction(id, rewards.ActionPassed)
		if len(seen.values) == 0 {
			w.t.Fatalf("nothing is valued: %+v", seen)
		}
		w.wantNear(w.watch(time.Second), seen.values[0])
		if now := w.holding(w.user, "AAPL").Quantity; now != before {
			w.t.Errorf("%s shares became %s", before, now)
		}
		w.buy()
		w.wantBalance()
	})
}

// The announcement comes an hour after the price fell. Until then the position alone holds the
// stock; then the action is applied by itself, with no doubt left.
func TestALateAnnouncement(t *testing.T) {
	t.Parallel()
	type variant struct{ old, new string }
	inWorlds(t, map[string]variant{"a third less": {"2", "3"}, "three quarters less": {"1", "4"}, "ten times as much": {"10", "1"}}, func(w *world, v variant) {
		w.holders("AAPL")
		w.afflict("late-announcement symbol=AAPL")
		id := w.announce(v.old, v.new, "2000-01-05")
		if list := w.actionsOf(0); len(list) != 0 {
			w.t.Fatalf("announced already: %+v", list)
		}
		w.until("2000-01-05 02:28:00")
		w.serve(100 * time.Second)
		before := w.holdings("AAPL")
		w.until("2000-01-05 02:30:00")
		w.serve(90 * time.Second)
		if list := w.actionsOf(rewards.ActionHeld); len(list) != 1 || list[0].Type != rewards.ActionPosition {
			w.t.Errorf("held: %+v, want the position", list)
		}
		given := w.wantNotOrdered("AAPL")
		w.until("2000-01-05 03:30:00")
		w.serve(20 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.serve(20 * time.Second)
		w.want(given, rewards.Executed)
		old, err := rewards.Terms{OldRate: v.old, NewRate: v.new}.Ratio()
		w.check(err)
		for i, u := range w.users[1:] {
			if want, err := old.Of(before[i+1].Quantity); err != nil || w.holding(u, "AAPL").Quantity != want {
				w.t.Errorf("%+v became %+v", before[i+1], w.holding(u, "AAPL"))
			}
		}
		w.wantValued("AAPL", true)
		w.wantBalance()
		if list := w.actionsOf(rewards.ActionHeld); len(list) != 0 {
			w.t.Errorf("still held: %+v", list)
		}
		w.serve(time.Minute)
		if alarms, err := w.store.Alarms(w.t.Context()); err != nil || len(alarms) > 1 {
			w.t.Errorf("alarms %+v, %v", alarms, err)
		}
	})
}

// While the broker's position is late the old shares are valued in their own units, and nothing is
// ordered. From 09:00 on there is an alarm. The action is applied when the position comes.
func TestALatePosition(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		w.afflict("late-position symbol=AAPL by=12h")
		id := w.announce("1", "4", "2000-01-05")
		before := w.holdings("AAPL")
		price, _ := w.market.Price(w.asset("AAPL"), 0)
		w.until("2000-01-05 02:30:00")
		w.serve(time.Minute)
		w.wantAction(id, rewards.ActionAnnounced)
		if got, valued := w.market.Price(w.asset("AAPL"), 0); !valued || got < price*9/10 || got > price*11/10 {
			w.t.Errorf("the price is %s, usable %t; it was %s", got, valued, price)
		}
		given := w.wantNotOrdered("AAPL")
		w.until("2000-01-05 08:59:50")
		w.serve(5 * time.Second)
		late := func() bool {
			return w.count(`SELECT count(*) FROM alarms WHERE message LIKE '%not changed the position yet%'`) > 0
		}
		if late() {
			w.t.Error("the alarm of a late position before 09:00")
		}
		w.until("2000-01-05 09:00:00")
		w.serve(5 * time.Second)
		if !late() {
			w.t.Error("no alarm of a late position at 09:00")
		}
		w.want(given, rewards.Recorded)
		w.until("2000-01-05 14:30:00")
		w.serve(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.want(given, rewards.Executed)
		for i, u := range w.users[1:] {
			if got := w.holding(u, "AAPL").Quantity; got != before[i+1].Quantity*4 {
				w.t.Errorf("%+v became %s", before[i+1], got)
			}
		}
		w.wantBalance()
		w.wantAlarm("", false)
	})
}

// An announcement that the position contradicts is held: another ratio, reversed rates, the wrong
// direction. Holdings stay, nothing is ordered, and the operator enters the right terms.
func TestContradictoryActionsAreHeld(t *testing.T) {
	t.Parallel()
	type variant struct{ fault, kind, old, new, note string }
	inWorlds(t, map[string]variant{
		"another ratio":       {"wrong-ratio", "forward_split", "1", "4", "the broker has"},
		"reversed rates":      {"reversed-ratio", "forward_split", "1", "4", "not 1 for 4"},
		"the wrong direction": {"wrong-direction", "reverse_split", "4", "1", "the broker has"},
	}, func(w *world, v variant) {
		w.holders("AAPL")
		w.afflict(v.fault + " symbol=AAPL")
		id := w.post(`{"type":"` + v.kind + `","symbol":"AAPL","old_rate":` + v.old + `,"new_rate":` + v.new + `,"ex_date":"2000-01-05"}`)
		before := w.holdings("AAPL")
		w.until("2000-01-05 02:30:00")
		w.serve(30 * time.Second)
		w.wantHeld(id, v.note)
		for i, got := range w.holdings("AAPL") {
			if got != before[i] {
				w.t.Errorf("%+v became %+v", before[i], got)
			}
		}
		given := w.wantNotOrdered("AAPL")
		w.ignore(id)
		w.enter(rewards.Terms{
			Type: "forward_split", Symbol: "AAPL", OldRate: "1", NewRate: "4", ExDate: "2000-01-05",
		})
		w.serve(30 * time.Second)
		w.wantAction("entered", rewards.ActionSwept)
		for i, u := range w.users[1:] {
			if got := w.holding(u, "AAPL").Quantity; got != before[i+1].Quantity*4 {
				w.t.Errorf("%+v became %s", before[i+1], got)
			}
		}
		w.serve(30 * time.Second)
		w.wantBalance()
		if v.fault != "wrong-direction" { // the price went the other way, and is in doubt
			w.want(given, rewards.Executed)
		}
	})
}

// The same action announced twice within ten days is applied once; the second one is held.
func TestADuplicateAnnouncementIsHeld(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		w.afflict("duplicate-announcement symbol=AAPL")
		id := w.announce("1", "4", "2000-01-05")
		before := w.holdings("AAPL")
		list := w.actionsOf(0)
		if len(list) != 2 {
			w.t.Fatalf("announced: %+v, want two", list)
		}
		twin := list[0].ID
		if twin == id {
			twin = list[1].ID
		}
		w.until("2000-01-05 02:30:00")
		w.serve(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantConverted("AAPL", before, rewards.Ratio{Old: 1, New: 4})
		between := w.holdings("AAPL")
		w.until("2000-01-06 20:00:00")
		w.serve(30 * time.Second)
		w.wantHeld(twin, id)
		given := w.wantNotOrdered("AAPL")
		w.until("2000-01-07 10:00:00")
		w.serve(30 * time.Second)
		w.want(given, rewards.Recorded)
		w.wantHeld(twin, id)
		for i, got := range w.holdings("AAPL") {
			if got != between[i] {
				w.t.Errorf("%+v became %+v", between[i], got)
			}
		}
		w.ignore(twin)
		w.serve(20 * time.Second)
		w.want(given, rewards.Executed)
		w.wantBalance()
		w.wantAlarm("", false)
	})
}

// An action that the broker revises counts with its new terms before it is due, is held when it is
// due, and only has an alarm after it was applied.
func TestRevisedActions(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		w.afflict("revised symbol=AAPL") // an hour after it happened
		id := w.announce("1", "4", "2000-01-05")
		before := w.holdings("AAPL")
		w.until("2000-01-05 02:30:00")
		w.serve(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantAlarm("", false)
		w.until("2000-01-05 04:00:00")
		w.serve(30 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.wantAlarm(rewards.AlarmAction+id, true)
		if a := w.action(id); !strings.Contains(a.Note, "revised after it was applied") || a.NewRate != "4" {
			w.t.Errorf("%s, note %q", a, a.Note)
		}
		w.wantConverted("AAPL", before, rewards.Ratio{Old: 1, New: 4})
		w.buy()
		w.wantBalance()
	})
}

// With --corporate-actions review every action waits for an operator, whatever the evidence.
func TestReviewedActions(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]string{"before the broker": "2000-01-04 22:00:00", "after the broker": "2000-01-05 12:00:00"}, func(w *world, decided string) {
		w.holders("AAPL")
		id := w.announce("1", "4", "2000-01-05")
		before := w.holdings("AAPL")
		w.until("2000-01-04 20:00:00")
		w.serve(10 * time.Second)
		w.wantHeld(id, "review")
		w.until(decided)
		w.serve(10 * time.Second)
		w.wantHeld(id, "review")
		given := w.wantNotOrdered("AAPL")
		w.approve(id)
		w.serve(20 * time.Second)
		w.wantAction(id, rewards.ActionSwept)
		w.serve(2 * time.Minute)
		if list := w.actionsOf(rewards.ActionHeld); len(list) != 0 {
			w.t.Errorf("held while the broker is behind: %+v", list)
		}
		w.until("2000-01-05 12:30:00")
		w.serve(2 * time.Minute)
		for i, u := range w.users[1:] {
			if got := w.holding(u, "AAPL").Quantity; got != before[i+1].Quantity*4 {
				w.t.Errorf("%+v became %s", before[i+1], got)
			}
		}
		w.wantBalance()
		w.want(given, rewards.Executed)
	}, func(w *world) { w.cfg.ReviewActions = true })
}

// An operator takes an applied action back: every holding is as before. The broker's position then
// looks like a split again, and the stock waits for a decision about it.
func TestUndoneActions(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.holders("AAPL")
		id := w.announce("1", "4", "2000-01-05")
		before := w.holdings("AAPL")
		w.until("2000-01-05 02:30:00")
		w.serve(30 * time.Second)
		w.wantConverted("AAPL", before, rewards.Ratio{Old: 1, New: 4})
		w.undo(id)
		w.wantAction(id, rewards.ActionUndoing)
		wantBefore := func() {
			w.t.Helper()
			for i, got := range w.holdings("AAPL") {
				if got.Quantity != before[i].Quantity || got.CostBasis != before[i].CostBasis || got.Generation != 2 {
					w.t.Errorf("%+v was restored as %+v", before[i], got)
				}
			}
		}
		wantBefore() // readers see it before the sweep
		w.serve(10 * time.Second)
		w.wantAction(id, rewards.ActionUndone)
		wantBefore()
		w.serve(2 * time.Minute)
		w.wantNotOrdered("AAPL")
		if list := w.actionsOf(rewards.ActionHeld); len(list) != 1 || list[0].Type != rewards.ActionPosition {
			w.t.Errorf("held: %+v, want the position", list)
		}
	})
}

// Announcements of stocks that nobody can be given, and of unknown types, disturb nothing else.
func TestOtherAnnouncements(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.faulty(ofActions, func(r *http.Request, carry carrier) (*http.Response, error) {
			return says(200, `{"corporate_actions":{"unit_splits":[{"id":"u-1","old_symbol":"KO","old_rate":1,"new_symbol":"KO",
				"new_rate":3,"alternate_symbol":"KOU","alternate_rate":1,"process_date":"2000-01-05","ex_date":"2000-01-05"}],
				"forward_splits":[{"id":"x-1","symbol":"NOTOURS","old_rate":1,"new_rate":3,"ex_date":"2000-01-05",
				"process_date":"2000-01-05"}]},"next_page_token":null}`)(r, carry)
		})
		w.run(20 * time.Second)
		if list := w.actionsOf(0); len(list) != 1 || list[0].ID != "u-1" {
			w.t.Fatalf("announced: %+v", list)
		}
		w.until("2000-01-05 10:00:00")
		w.serve(30 * time.Second)
		w.wantHeld("u-1", "no rule")
		w.wantNotOrdered("KO")
		w.buy()
		w.ignore("u-1")
		w.wantAfter(20*time.Second, w.give("KO", 5*usd), rewards.Executed)
	})
}
