package fulfillment_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/broker/paper"
	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// always has the market open day and night.
func always(w *world) { w.hours = paper.AlwaysOpen }

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

// announce announces a split of AAPL, which is worth $200.
func (w *world) announce(oldRate, newRate, ex string) string {
	kind := "forward_split"
	if len(oldRate) > len(newRate) {
		kind = "reverse_split"
	}
	return w.control(http.MethodPost, "corporate-actions", `{"type":"`+kind+`","symbol":"AAPL","old_rate":`+oldRate+
		`,"new_rate":`+newRate+`,"ex_date":"`+ex+`"}`)
}

// wantAction fails unless the action is in that state.
func (w *world) wantAction(id string, want rewards.ActionState) {
	w.t.Helper()
	a, _, err := w.store.Action(w.t.Context(), id)
	w.check(err)
	if a.State != want {
		w.t.Errorf("the action is %s (%s), want %s", a.State, a.Note, want)
	}
}

// wantValued fails unless the stock has a price, or has none.
func (w *world) wantValued(symbol string, want bool) {
	w.t.Helper()
	_, err := w.market.Clock(w.t.Context())
	w.check(errors.Join(err, w.market.Refresh(w.t.Context())))
	if _, got := w.market.Price(w.asset(symbol)); got != want {
		w.t.Errorf("%s is valued: %t, want %t", symbol, got, want)
	}
}

func (w *world) asset(symbol string) rewards.AssetID {
	w.t.Helper()
	assets, err := w.store.Assets(w.t.Context())
	w.check(err)
	for _, a := range assets {
		if a.Symbol == symbol {
			return a.ID
		}
	}
	w.t.Fatalf("no asset %s", symbol)
	return 0
}

// until sleeps to a moment in New York, such as "2000-01-04 19:59:50".
func (w *world) until(text string) {
	w.t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	w.check(err)
	at, err := time.ParseInLocation(time.DateTime, text, zone)
	w.check(err)
	time.Sleep(time.Until(at))
}

func (w *world) resume(id string) {
	w.t.Helper()
	by := w.store.As(rewards.Operator{Actor: "ann@db1", Command: "action resume", Reason: "checked"})
	_, err := by.ResumeAction(w.t.Context(), id)
	w.check(err)
}

// From 20:00 New York of the session before the ex-date the stock is neither ordered nor
// valued, others are, until an operator resumes it.
func TestASplitHoldsItsStock(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		first := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(first, rewards.Executed)
		id := w.announce("1", "4", "2000-01-05")
		w.run(20 * time.Second)
		w.wantAction(id, rewards.ActionAnnounced)
		if !w.alarmed("corporate_action:" + id) {
			t.Error("no alarm about the announcement")
		}
		w.until("2000-01-04 19:59:50")
		before := w.give("AAPL", 5_000_000)
		w.run(5 * time.Second)
		w.want(before, rewards.Executed)
		w.wantValued("AAPL", true)
		w.until("2000-01-04 20:00:00")
		held, other := w.give("AAPL", 5_000_000), w.give("KO", 5_000_000)
		w.wantValued("AAPL", false)
		w.run(20 * time.Second)
		w.wantAction(id, rewards.ActionHeld)
		w.until("2000-01-05 10:00:00")
		w.run(time.Minute)
		w.want(held, rewards.Recorded)
		w.want(other, rewards.Executed)
		w.wantValued("AAPL", false)
		w.wantValued("KO", true)
		w.resume(id)
		w.run(10 * time.Second)
		w.wantValued("AAPL", true)
		w.want(held, rewards.Executed)
		if w.alarmed("corporate_action") || w.alarmed("price_in_doubt") {
			t.Error("an alarm remains after the resume")
		}
		w.run(3 * time.Minute)
		w.want(w.lastOf(t, w.give("AAPL", 5_000_000)), rewards.Executed)
	}, always)
}

// lastOf lets a reward be fulfilled.
func (w *world) lastOf(t *testing.T, r rewards.Reward) rewards.Reward {
	t.Helper()
	w.run(10 * time.Second)
	return r
}

// When a brokerage's clock jumps over the night, no price of the new units is offered,
// not even before the worker has looked.
func TestAJumpOverTheNightOffersNoPriceOfNewUnits(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		r := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(r, rewards.Executed)
		w.wantValued("AAPL", true)
		id := w.announce("10", "1", "2000-01-05")
		w.run(20 * time.Second)
		w.check(w.brokerage.SetClock(t.Context(), time.Date(2000, 1, 5, 15, 0, 0, 0, time.UTC), 1))
		before, _ := w.market.Price(w.asset("AAPL"))
		w.check(w.market.Refresh(t.Context())) // by the clock as it was
		if got, valued := w.market.Price(w.asset("AAPL")); valued && got != before {
			t.Errorf("a price of the new units is offered: %s after %s", got, before)
		}
		late := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.wantValued("AAPL", false)
		w.want(late, rewards.Recorded)
		w.wantAction(id, rewards.ActionHeld)
		w.restart(nil, nil)
		w.wire.fault = func(*http.Request, func() (*http.Response, error)) (*http.Response, error) { return nil, errCut }
		w.check(w.market.Load(t.Context()))
		if _, valued := w.market.Price(w.asset("AAPL")); valued {
			t.Error("a price is offered after a restart in an outage")
		}
		if w.alarmed("price_in_doubt") {
			t.Error("a price that is held is in doubt too")
		}
	}, always)
}

// An action that the broker takes back before the night never holds; afterwards the hold
// stays until an operator ends it.
func TestWithdrawnActions(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.run(time.Second)
		early, late := w.announce("1", "2", "2000-01-05"), w.announce("1", "3", "2000-01-07")
		w.run(20 * time.Second)
		w.control(http.MethodDelete, "corporate-actions/"+early, "")
		w.run(time.Minute)
		w.wantAction(early, rewards.ActionWithdrawn)
		if !w.alarmed("corporate_action:" + early) {
			t.Error("no alarm about what was withdrawn")
		}
		w.until("2000-01-04 21:00:00")
		r := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(r, rewards.Executed)
		w.until("2000-01-06 20:00:01")
		w.run(20 * time.Second)
		w.control(http.MethodDelete, "corporate-actions/"+late, "")
		w.until("2000-01-08 12:00:00")
		r = w.give("AAPL", 5_000_000)
		w.run(2 * time.Minute)
		w.wantAction(late, rewards.ActionHeld)
		w.want(r, rewards.Recorded)
		if !w.alarmed("corporate_action:" + late) {
			t.Error("no alarm about what is held")
		}
	}, always)
}

// An order whose fate is unknown when the hold begins is looked for, and not sent again.
func TestAHeldOrderIsNotSentAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.run(time.Second)
		id := w.announce("1", "4", "2000-01-05")
		w.run(20 * time.Second)
		w.until("2000-01-04 19:59:57")
		sends := 0
		w.wire.fault = func(r *http.Request, carry func() (*http.Response, error)) (*http.Response, error) {
			if !isSubmit(r) {
				return carry()
			}
			sends++
			if sends == 1 {
				return nil, errCut
			}
			return carry()
		}
		r := w.give("AAPL", 5_000_000)
		for sends == 0 {
			w.run(100 * time.Millisecond)
		}
		w.until("2000-01-04 20:00:00")
		w.run(2 * time.Minute)
		if sends != 1 {
			t.Errorf("sent %d times, want once", sends)
		}
		w.want(r, rewards.Executing)
		w.resume(id)
		w.run(2 * time.Minute)
		if sends < 2 {
			t.Error("not sent again after the resume")
		}
	}, always)
}

// Announcements that cannot be read since the last evening stop ordering; those that a
// broker does not offer do not.
func TestAnnouncementsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	answer := func(status int) *http.Response {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no"))}
	}
	for name, c := range map[string]struct {
		status int
		want   rewards.Status
	}{"failing": {500, rewards.Recorded}, "not offered": {404, rewards.Executed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.wire.fault = func(r *http.Request, carry func() (*http.Response, error)) (*http.Response, error) {
					if r.URL.Path == "/v1/corporate-actions" {
						return answer(c.status), nil
					}
					return carry()
				}
				r := w.give("AAPL", 5_000_000)
				w.run(time.Minute)
				w.want(r, c.want)
				if !w.alarmed("corporate_actions_unknown") {
					t.Error("no alarm")
				}
				w.wire.fault = nil
				w.run(30 * time.Second)
				w.want(r, rewards.Executed)
				if w.alarmed("corporate_actions_unknown") {
					t.Error("the alarm remains")
				}
			}, always)
		})
	}
}

// Read before the evening does not count for the next day.
func TestAnnouncementsOfTheEveningBeforeAreNeeded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(_ *testing.T, w *world) {
		w.until("2000-01-04 19:50:00")
		w.run(20 * time.Second)
		w.wire.fault = func(r *http.Request, carry func() (*http.Response, error)) (*http.Response, error) {
			if r.URL.Path == "/v1/corporate-actions" {
				return nil, errCut
			}
			return carry()
		}
		before := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(before, rewards.Executed)
		w.until("2000-01-04 20:00:00")
		after := w.give("AAPL", 5_000_000)
		w.run(time.Minute)
		w.want(after, rewards.Recorded)
		w.wire.fault = nil
		w.run(30 * time.Second)
		w.want(after, rewards.Executed)
	}, always)
}

// A position that is that of a split which nothing announced, or which was resumed too
// early, holds the stock; an operator accepts the difference.
func TestAPositionThatLooksLikeASplitHolds(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		r := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(r, rewards.Executed)
		id := w.announce("2", "3", "2000-01-05")
		w.run(20 * time.Second)
		w.resume(id)
		w.until("2000-01-05 02:31:00")
		w.run(5 * time.Second) // the first comparison: not ordered from here on
		r = w.give("AAPL", 5_000_000)
		w.run(30 * time.Second)
		w.want(r, rewards.Recorded)
		list, err := w.store.Actions(t.Context(), rewards.ActionHeld, "AAPL", 10)
		w.check(err)
		if len(list) != 1 || list[0].Type != rewards.ActionPosition || list[0].OldRate != "2" || list[0].NewRate != "3" {
			t.Fatalf("held: %+v, want one by the position, 2:3", list)
		}
		if !w.alarmed("corporate_action:" + list[0].ID) {
			t.Error("no alarm")
		}
		w.wantValued("AAPL", false)
		w.resume(list[0].ID)
		w.run(10 * time.Minute)
		w.want(r, rewards.Executed)
		list, err = w.store.Actions(t.Context(), rewards.ActionHeld, "", 10)
		w.check(err)
		if len(list) != 0 {
			t.Errorf("held again: %+v", list)
		}
	}, always)
}

// A list that lags behind the fills for a moment holds nothing.
func TestAPositionThatLagsHoldsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		r := w.give("AAPL", 5_000_000)
		w.run(10 * time.Second)
		w.want(r, rewards.Executed)
		booked, err := w.store.Booked(t.Context())
		w.check(err)
		lies := 1
		w.wire.fault = func(r *http.Request, carry func() (*http.Response, error)) (*http.Response, error) {
			if r.URL.Path != "/v2/positions" || lies == 0 {
				return carry()
			}
			lies--
			half := (booked[0].Quantity / 2).String()
			body := `[{"asset_id":"` + paper.AssetID("AAPL") + `","symbol":"AAPL","qty":"` + half + `"}]`
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
		}
		w.run(3 * time.Minute)
		if lies != 0 {
			t.Fatal("the positions were not read")
		}
		list, err := w.store.Actions(t.Context(), 0, "", 10)
		w.check(err)
		if len(list) != 0 {
			t.Errorf("held: %+v", list)
		}
		w.want(w.lastOf(t, w.give("AAPL", 5_000_000)), rewards.Executed)
		if got := booked[0].Quantity; got < money.Share/1000 {
			t.Errorf("the position is too small for this test: %s", got)
		}
	}, always)
}
