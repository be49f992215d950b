package fulfillment_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/rewards"
)

// brokenList is a list that cannot be read to its end.
type brokenList struct {
	next      func(token string) string // the next page that a page names, by its own token; "" for a page that fails
	perMinute int                       // the most requests
}

var brokenLists = map[string]brokenList{
	"the second page fails": {func(token string) string { return map[string]string{"": "1"}[token] }, 13},
	"a loop":                {func(token string) string { return map[string]string{"": "1", "1": "2", "2": "1"}[token] }, 13},
	"no end": {func(token string) string {
		n, _ := strconv.Atoi(token)
		return strconv.Itoa(n + 1)
	}, 40},
}

// pages answers with the pages of the list, and counts the requests.
func (l brokenList) pages(page func(next string) string, requests *int) fault {
	return func(r *http.Request, carry carrier) (*http.Response, error) {
		*requests++
		if token := l.next(r.URL.Query().Get("page_token")); token != "" {
			return says(200, page(token))(r, carry)
		}
		return down(r, carry)
	}
}

// wantOneAlarm checks that a broken list raises an alarm, once, that the failure is logged once, and that the rate limit
// has room for orders.
func (w *world) wantOneAlarm(l brokenList, match func(*http.Request) bool, page func(next string) string, alarm, logs string) {
	w.t.Helper()
	requests := 0
	var logged strings.Builder
	log := slog.New(slog.NewTextHandler(io.MultiWriter(w.t.Output(), &logged), nil))
	w.worker = fulfillment.New(w.store, newClient(w.wire), w.market, w.cfg, time.Now, log)
	w.run(time.Minute)
	off := w.faulty(match, l.pages(page, &requests))
	w.until("2000-01-03 21:00:00") // announcements of before the evening count no longer
	for range 6 {                  // in fine steps
		w.run(4 * time.Minute)
	}
	requests = 0
	for s := 0; s < 180 && !w.t.Failed(); s++ {
		w.run(time.Second)
		w.wantAlarm(alarm, true)
	}
	if requests > 3*l.perMinute {
		w.t.Errorf("%d requests in three minutes, want at most %d", requests, 3*l.perMinute)
	}
	for line, want := range map[string]int{logs: 1, "msg=alarm name=" + alarm: 1, `msg="alarm cleared" name=` + alarm: 0} {
		if got := strings.Count(logged.String(), line); got != want {
			w.t.Errorf("%q was logged %d times, want %d", line, got, want)
		}
	}
	off()
	w.run(3 * time.Minute)
	w.wantAlarm(alarm, false)
	w.wantAfter(time.Minute, w.give("AAPL", 5*usd), rewards.Executed)
}

func TestActivitiesThatAreNeverReadToTheEnd(t *testing.T) {
	t.Parallel()
	page := func(next string) string { // its last activity is the next page's token
		return "[" + strings.Repeat(`{"id":"0","activity_type":"FEE"},`, 99) + fmt.Sprintf(`{"id":%q,"activity_type":"FEE"}]`, next)
	}
	for kind, match := range map[string]func(*http.Request) bool{
		"fills": ofFills, "others": func(r *http.Request) bool { return ofActivities(r) && !ofFills(r) },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			inWorlds(t, brokenLists, func(w *world, l brokenList) {
				w.wantOneAlarm(l, match, page, rewards.AlarmActivitiesUnknown, "cannot read the broker's account activities; retrying")
			})
		})
	}
}

func TestAnnouncementsThatAreNeverReadToTheEnd(t *testing.T) {
	t.Parallel()
	page := func(next string) string { return fmt.Sprintf(`{"corporate_actions":{},"next_page_token":%q}`, next) }
	inWorlds(t, brokenLists, func(w *world, l brokenList) {
		w.wantOneAlarm(l, ofActions, page, rewards.AlarmActionsUnknown, "cannot read corporate actions; retrying")
	})
}
