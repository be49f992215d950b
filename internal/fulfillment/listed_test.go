package fulfillment_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/rewards"
)

// A broker may list an action long after it was over: with other dates, or without the date by which it is found. It is
// the same action, and the other stocks are ordered.
func TestAnActionThatIsListedAgain(t *testing.T) {
	t.Parallel()
	split := func(id, day string) string {
		return fmt.Sprintf(`"forward_splits":[{"id":%q,"symbol":"AAPL","cusip":"1","old_rate":1,"new_rate":4,
			"ex_date":%q,"process_date":%[2]q}]`, id, day)
	}
	for name, over := range map[string]func(w *world) (list string){
		"applied": func(w *world) string {
			id := w.announce("1", "4", "2000-01-05")
			w.until("2000-01-04 20:00:00")
			w.run(10 * time.Second)
			w.until("2000-01-05 02:30:00")
			w.run(time.Minute)
			w.wantAction(id, rewards.ActionSwept)
			return split(id, "2000-01-20")
		},
		"ignored": func(w *world) string {
			id := w.announce("1", "4", "2000-01-10")
			w.ignore(id)
			w.control("DELETE", "corporate-actions/"+id, "")
			w.run(time.Minute)
			return split(id, "2000-02-10")
		},
		"without a process date": func(*world) string {
			return `"cash_dividends":[{"id":"x","symbol":"AAPL","cusip":"1","rate":0.5,"ex_date":"2000-01-05"}]`
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.buy()
				list := over(w)
				w.until("2000-01-21 12:00:00")
				w.run(time.Minute)
				w.faulty(ofActions, says(200, `{"corporate_actions":{`+list+`},"next_page_token":null}`))
				w.run(time.Minute)
				w.until("2000-01-21 20:00:10") // what was read before counts no longer
				w.wantAfter(time.Minute, w.give("KO", 5*usd), rewards.Executed)
				w.wantAlarm(rewards.AlarmActionsUnknown, false)
			})
		})
	}
}

// forgetful cannot store actions.
type forgetful struct{ fulfillment.Store }

func (forgetful) ChangeActions(context.Context, rewards.Lease, []rewards.ActionChange) error {
	return errors.New("no room")
}

// Announcements that cannot be stored are as unknown as those that cannot be read.
func TestAnnouncementsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.until("2000-01-05 12:00:00")
		w.control("POST", "corporate-actions", `{"type":"forward_split","symbol":"KO","old_rate":1,"new_rate":2,"ex_date":"2000-01-12"}`)
		w.restartWith(forgetful{w.store}, newClient(w.wire))
		w.wantAfter(time.Minute, w.give("AAPL", 5*usd), rewards.Recorded)
		w.wantAlarm(rewards.AlarmActionsUnknown, true)
		w.restart()
		w.run(time.Minute)
		w.wantAlarm(rewards.AlarmActionsUnknown, false)
	})
}
