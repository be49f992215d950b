package fulfillment_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/broker/paper/exchange"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// control sends a request that steers the brokerage and returns the answer's id.
func (w *world) control(method, path, body string) string {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, "http://paper.test/control/"+path, strings.NewReader(body))
	w.check(err)
	response, err := w.brokerage.Transport().RoundTrip(r)
	w.check(err)
	text, err := io.ReadAll(response.Body)
	w.check(errors.Join(err, response.Body.Close()))
	if response.StatusCode >= http.StatusBadRequest {
		w.t.Fatalf("%s %s: %d %s", method, path, response.StatusCode, text)
	}
	var answer struct {
		ID string `json:"id"`
	}
	if len(text) > 0 {
		w.check(json.Unmarshal(text, &answer))
	}
	return answer.ID
}

// announce announces a split of AAPL, which costs $200, and lets it be read.
func (w *world) announce(oldRate, newRate, ex string) string {
	w.t.Helper()
	kind := "forward_split"
	if len(oldRate) > len(newRate) {
		kind = "reverse_split"
	}
	id := w.control(http.MethodPost, "corporate-actions", `{"type":"`+kind+`","symbol":"AAPL","old_rate":`+oldRate+
		`,"new_rate":`+newRate+`,"ex_date":"`+ex+`"}`)
	w.run(20 * time.Second)
	return id
}

// action reads an action.
func (w *world) action(id string) rewards.Action {
	w.t.Helper()
	a, _, err := w.store.Action(w.t.Context(), id)
	w.check(err)
	return a
}

// wantAction checks the state of an action.
func (w *world) wantAction(id string, want rewards.ActionState) {
	w.t.Helper()
	a := w.action(id)
	if a.State != want {
		w.t.Errorf("the action is %s (%s), want %s", a.State, a.Note, want)
	}
}

// wantValued checks whether the stock has a usable price.
func (w *world) wantValued(symbol string, want bool) {
	w.t.Helper()
	_, err := w.market.Clock(w.t.Context())
	w.check(errors.Join(err, w.market.Refresh(w.t.Context())))
	if _, got := w.market.Price(w.asset(symbol), w.market.Generation(w.asset(symbol))); got != want {
		w.t.Errorf("%s is valued: %t, want %t", symbol, got, want)
	}
}

// operator is the store as an operator uses it who gives a reason.
func (w *world) operator(command string) *store.Operator {
	return w.store.As(rewards.Operator{Actor: "ann@db1", Command: command, Reason: "checked"})
}

// ignore decides that an action has no effect.
func (w *world) ignore(id string) {
	w.t.Helper()
	_, err := w.operator("action ignore").IgnoreAction(w.t.Context(), id, false)
	w.check(err)
}

// approve decides that an action is applied.
func (w *world) approve(id string) {
	w.t.Helper()
	_, err := w.operator("action apply").ApproveAction(w.t.Context(), id, false)
	w.check(err)
}

// enter enters the action "entered", and decides that it is applied.
func (w *world) enter(terms rewards.Terms) {
	w.t.Helper()
	entered, err := rewards.EnteredAction("entered", terms, time.Now(), "the broker's letter")
	w.check(err)
	_, err = w.operator("action enter").EnterAction(w.t.Context(), entered)
	w.check(err)
	w.approve("entered")
}

// undo takes an applied action back.
func (w *world) undo(id string) {
	w.t.Helper()
	_, err := w.operator("action undo").UndoAction(w.t.Context(), id)
	w.check(err)
}

// actionsOf lists the actions in a state; 0: in any.
func (w *world) actionsOf(state rewards.ActionState) []rewards.Action {
	w.t.Helper()
	list, err := w.store.Actions(w.t.Context(), state, "", 10)
	w.check(err)
	return list
}

// From 20:00 New York of the session before the ex-date the stock is not ordered, but valued in the
// old units, until the broker's position has changed; others are ordered.
func TestASplitHoldsItsStock(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.buy()
		id := w.announce("1", "4", "2000-01-05")
		w.wantAction(id, rewards.ActionAnnounced)
		w.wantAlarm(rewards.AlarmAction+id, true)
		w.until("2000-01-04 19:59:50")
		w.buy()
		w.wantValued("AAPL", true)
		before := w.holding(w.user, "AAPL")
		w.until("2000-01-04 20:00:00")
		held, other := w.give("AAPL", 5*usd), w.give("KO", 5*usd)
		w.run(20 * time.Second)
		w.want(other, rewards.Executed)
		w.until("2000-01-05 02:29:50")
		w.wantAfter(5*time.Second, held, rewards.Recorded)
		w.wantAction(id, rewards.ActionAnnounced)
		w.wantValued("AAPL", true)
		if got := w.holding(w.user, "AAPL"); got != before {
			t.Errorf("before 02:30 %+v became %+v", before, got)
		}
		w.until("2000-01-05 02:30:00")
		w.run(30 * time.Second) // the worker acts within that time of the broker
		w.wantAction(id, rewards.ActionSwept)
		w.wantValued("AAPL", true)
		w.want(held, rewards.Executed)
		w.wantAlarm("", false)
		w.wantBalance()
		w.run(3 * time.Minute)
		w.buy()
		w.wantAlarm("", false)
	})
}

// An action that the broker withdraws before the night never holds; afterwards an operator decides.
func TestWithdrawnActions(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.run(time.Second)
		early, late := w.announce("1", "2", "2000-01-05"), w.announce("1", "3", "2000-01-07")
		w.control(http.MethodDelete, "corporate-actions/"+early, "")
		w.run(time.Minute)
		w.wantAction(early, rewards.ActionWithdrawn)
		w.wantAlarm(rewards.AlarmAction+early, true)
		w.until("2000-01-04 21:00:00")
		w.buy()
		w.until("2000-01-06 20:00:01")
		w.run(20 * time.Second)
		w.control(http.MethodDelete, "corporate-actions/"+late, "")
		w.until("2000-01-08 12:00:00")
		r := w.give("AAPL", 5*usd)
		w.run(time.Minute)
		w.wantAction(late, rewards.ActionHeld)
		w.want(r, rewards.Recorded)
		w.wantAlarm(rewards.AlarmAction+late, true)
		w.ignore(late)
		w.wantAfter(20*time.Second, r, rewards.Executed)
		w.wantAlarm("", false)
		w.wantBalance()
	})
}

// An action that is listed again after it was withdrawn is stored again, unchanged: the stock was ordered meanwhile.
func TestListedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.run(time.Second)
		id := w.announce("1", "2", "2000-01-05")
		w.run(time.Minute)
		off := w.faulty(ofActions, says(200, `{"corporate_actions":{},"next_page_token":null}`))
		w.run(time.Minute)
		w.wantAction(id, rewards.ActionWithdrawn)
		off()
		w.run(time.Minute)
		listed := time.Now()
		w.wantAction(id, rewards.ActionAnnounced)
		w.run(time.Minute)
		a, list, err := w.store.Action(w.t.Context(), id)
		w.check(err)
		if len(list) != 2 || list[0].Revision != 2 || a.Revision != 2 || list[0].Body != list[1].Body || list[0].SeenAt.After(listed) {
			w.t.Errorf("announcements %+v of revision %d, want the same one again until %s", list, a.Revision, listed)
		}
	})
}

// An order with an unknown outcome when the hold begins is looked up, and not sent again.
func TestAHeldOrderIsNotSentAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.run(time.Second)
		id := w.announce("1", "4", "2000-01-05")
		w.until("2000-01-04 19:59:57")
		submits := 0
		w.faulty(isSubmit, func(_ *http.Request, carry carrier) (*http.Response, error) {
			submits++
			if submits == 1 {
				return nil, errCut
			}
			return carry()
		})
		r := w.give("AAPL", 5*usd)
		for submits == 0 {
			w.run(100 * time.Millisecond)
		}
		w.until("2000-01-04 20:00:00")
		w.run(10 * time.Second)
		if submits != 1 {
			w.t.Errorf("sent %d times, want once", submits)
		}
		w.want(r, rewards.Executing)
		a := w.action(id)
		if a.State != rewards.ActionHeld || a.WaitsFor != w.live()[0].ClientOrderID || !strings.Contains(a.Note, a.WaitsFor) {
			w.t.Errorf("the action is %s, waits for %q, note %q; want the order", a.State, a.WaitsFor, a.Note)
		}
		w.ignore(id)
		time.Sleep(time.Minute)
		w.run(5 * time.Second)
		if submits < 2 {
			w.t.Error("not sent again after the action was ignored")
		}
	})
}

// Announcements that were not read since the last evening stop ordering; those that a broker does
// not offer do not.
func TestAnnouncementsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	type variant struct {
		status int
		want   rewards.Status
	}
	inWorlds(t, map[string]variant{"failing": {500, rewards.Recorded}, "not offered": {404, rewards.Executed}}, func(w *world, test variant) {
		off := w.faulty(ofActions, says(test.status, `{"message":"no"}`))
		r := w.wantAfter(10*time.Second, w.give("AAPL", 5*usd), test.want)
		w.wantAlarm(rewards.AlarmActionsUnknown, true)
		off()
		w.wantAfter(20*time.Second, r, rewards.Executed)
		w.wantAlarm(rewards.AlarmActionsUnknown, false)
	})
}

// A reading from before the evening does not count for the next day.
func TestAnnouncementsOfTheEveningBeforeAreNeeded(t *testing.T) {
	t.Parallel()
	inWorlds(t, map[string]fault{"failing": loseRequest, "denied": says(403, `{"message":"no"}`)}, func(w *world, f fault) {
		w.until("2000-01-04 19:50:00")
		w.run(5 * time.Second)
		off := w.faulty(ofActions, f)
		w.buy()
		w.until("2000-01-04 20:00:00")
		after := w.wantAfter(10*time.Second, w.give("AAPL", 5*usd), rewards.Recorded)
		off()
		w.wantAfter(20*time.Second, after, rewards.Executed)
	})
}

// A position that looks like a split which nobody announced, or which was ignored too early, holds
// the stock. An operator accepts the difference.
func TestAPositionThatLooksLikeASplitHolds(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.buy()
		w.ignore(w.announce("2", "3", "2000-01-05"))
		w.until("2000-01-05 02:31:00")
		w.run(5 * time.Second) // the first comparison: not ordered from here on
		r := w.wantAfter(30*time.Second, w.give("AAPL", 5*usd), rewards.Recorded)
		list := w.actionsOf(rewards.ActionHeld)
		if len(list) != 1 || list[0].Type != rewards.ActionPosition || list[0].OldRate != "2" || list[0].NewRate != "3" {
			w.t.Fatalf("held: %+v, want one by the position, 2:3", list)
		}
		w.wantAlarm(rewards.AlarmAction+list[0].ID, true)
		w.wantValued("AAPL", false)
		w.ignore(list[0].ID)
		w.run(5 * time.Second)
		time.Sleep(10 * time.Minute)
		w.wantAfter(10*time.Second, r, rewards.Executed)
		if list := w.actionsOf(rewards.ActionHeld); len(list) != 0 {
			w.t.Errorf("held again: %+v", list)
		}
	})
}

// halfThePosition answers that the account has half of the booked shares of AAPL.
func (w *world) halfThePosition() fault {
	w.t.Helper()
	booked, err := w.store.Booked(w.t.Context())
	w.check(err)
	return says(200, `[{"asset_id":"`+exchange.AssetID("AAPL")+`","symbol":"AAPL","qty":"`+(booked[0].Quantity/2).String()+`"}]`)
}

// Positions that lag behind the fills for a moment hold nothing.
func TestAPositionThatLagsHoldsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.buy()
		half := w.halfThePosition()
		lied := false
		w.faulty(ofPositions, func(r *http.Request, carry carrier) (*http.Response, error) {
			if lied {
				return carry()
			}
			lied = true
			return half(r, nil)
		})
		w.run(2 * time.Minute)
		if !lied {
			w.t.Fatal("the positions were not read")
		}
		if list := w.actionsOf(0); len(list) != 0 {
			w.t.Errorf("held: %+v", list)
		}
		w.buy()
	})
}

// A doubt about a position ends by itself when the position agrees with the store again, in two comparisons in a row.
func TestAPositionThatAgreesAgainIsReleased(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.buy()
		half := w.halfThePosition()
		reads, agrees := 0, 0
		off := w.faulty(ofPositions, func(r *http.Request, carry carrier) (*http.Response, error) {
			reads++
			if reads == agrees {
				return carry()
			}
			return half(r, nil)
		})
		w.run(2 * time.Minute)
		held := w.actionsOf(rewards.ActionHeld)
		if len(held) != 1 || held[0].Type != rewards.ActionPosition {
			w.t.Fatalf("held: %+v, want one by the position", held)
		}
		r := w.give("AAPL", 5*usd)
		agrees = reads + 1
		w.run(3 * time.Minute)
		if reads <= agrees {
			w.t.Fatalf("%d readings, want more than %d", reads, agrees)
		}
		w.wantAction(held[0].ID, rewards.ActionHeld)
		w.want(r, rewards.Recorded)
		off()
		w.run(3 * time.Minute)
		w.wantAction(held[0].ID, rewards.ActionWithdrawn)
		w.wantAfter(30*time.Second, r, rewards.Executed)
	})
}
