package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

// cancel records an award and cancels it, which is an event.
func (c client) cancel(t *testing.T, user string) (reward string) {
	t.Helper()
	reward = c.give(t, user)
	_, _, err := c.world.store.ReverseReward(t.Context(), parseID[rewards.Reward](t, reward), 0, "of a test")
	check(t, err)
	return reward
}

// nextEvents returns the target of the Link header, which every page of events has.
func (a answer) nextEvents(t *testing.T) string {
	t.Helper()
	target, found := strings.CutSuffix(strings.TrimPrefix(a.header.Get("Link"), "<"), `>; rel="next"`)
	if !found {
		t.Fatalf("Link: %q", a.header.Get("Link"))
	}
	return target
}

// Section 4: events in pages, by type, by id; the link goes on where the page ended.
func TestEvents(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	c.hold(t, user, "NVDA", 1, 1)
	target := "/v1/events?limit=2"
	first := c.get(t, target).wantStatus(t, http.StatusOK)
	first.want(t, []any{}, "events")
	var given []string
	for range 3 {
		given = append(given, c.cancel(t, user))
	}
	action := c.world.announce(t, rewards.Action{Terms: rewards.Terms{Type: "forward_split", Symbol: "NVDA"}})
	var got []string
	last := ""
	for target = first.nextEvents(t); ; {
		page := c.get(t, target).wantStatus(t, http.StatusOK)
		list, _ := page.at(t, "events").([]any)
		if target = page.nextEvents(t); len(list) == 0 {
			break
		}
		for i := range list {
			one := c.get(t, "/v1/events/"+page.text(t, "events", i, "id")).wantStatus(t, http.StatusOK)
			if diff := cmp.Diff(list[i], one.at(t, "event")); diff != "" {
				t.Errorf("read alone (-page +one):\n%s", diff)
			}
			kind := page.text(t, "events", i, "type")
			var about string
			switch kind {
			case "reversal.completed":
				about = page.text(t, "events", i, "data", "reversal", "rewardId")
				back := c.get(t, "/v1/reversals?rewardId="+about).at(t, "reversals", 0)
				page.want(t, back, "events", i, "data", "reversal")
			case "reward.failed":
				about = page.text(t, "events", i, "data", "reward", "id")
				reward := c.get(t, "/v1/rewards/"+about).at(t, "reward")
				page.want(t, reward, "events", i, "data", "reward")
			default:
				about = page.text(t, "events", i, "data", "corporateAction", "id")
				page.want(t, c.get(t, "/v1/corporate-actions/"+about).at(t, "corporateAction"), "events", i, "data", "corporateAction")
			}
			got = append(got, kind+" "+about)
			sequence := fmt.Sprint(page.at(t, "events", i, "sequence"))
			if len(sequence) < len(last) || sequence <= last {
				t.Errorf("sequence %s after %s", sequence, last)
			}
			last = sequence
		}
	}
	var want []string
	for _, reward := range given {
		want = append(want, "reward.failed "+reward, "reversal.completed "+reward)
	}
	want = append(want, "corporate_action.announced "+action)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	c.get(t, "/v1/events?types=corporate_action.announced,corporate_action.held").want(t, action, "events", 0, "data", "corporateAction", "id")
	c.get(t, "/v1/events?types=reward.executed").want(t, []any{}, "events")
	c.get(t, "/v1/events?after="+last).want(t, []any{}, "events")
	id := c.get(t, "/v1/events").text(t, "events", 0, "id")
	newApp(t).get(t, "/v1/events").want(t, []any{}, "events")
	newApp(t).get(t, "/v1/events/"+id).wantError(t, http.StatusNotFound, "not_found", nil)
	c.get(t, "/v1/events/"+unknownID).wantStatus(t, http.StatusNotFound)
	c.get(t, "/v1/events/nothing").wantIssues(t, "eventId")
	c.post(t, "/v1/events", "{}").wantStatus(t, http.StatusMethodNotAllowed)
}

// Section 4: what is not well formed is a 400.
func TestEventParameters(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	for _, target := range []string{"/v1/events", "/v1/events/stream"} {
		for _, bad := range []string{
			"after=-1", "after=", "after=1.5", "after=x", "after=9007199254740992", "after=99999999999999999999",
			"after=%2B1", "after=1&after=2", "types=", "types=reward.bought", "types=reward.executed,",
			"types=reward.executed&types=reward.failed", "types=REWARD.FAILED",
		} {
			name, _, _ := strings.Cut(bad, "=")
			c.get(t, target+"?"+bad).wantIssues(t, name)
		}
	}
	for _, bad := range []string{"wait=21", "wait=-1", "wait=0.5", "wait=", "wait=1s", "limit=0", "limit=201"} {
		name, _, _ := strings.Cut(bad, "=")
		c.get(t, "/v1/events?"+bad).wantIssues(t, name)
	}
	c.get(t, "/v1/events?after=-1&types=x&limit=0&wait=99").wantIssues(t, "after", "types", "limit", "wait")
	c.get(t, "/v1/events?after=0&types="+url.QueryEscape(rewards.AllEvents.String())+"&limit=1&wait=0").wantStatus(t, http.StatusOK)
}

// Section 4: a request waits for an event of its types, and no longer than it asked to.
func TestEventsWait(t *testing.T) {
	t.Parallel()
	c, user := newAppWithUser(t)
	began := time.Now()
	c.get(t, "/v1/events?wait=1").want(t, []any{}, "events")
	if took := time.Since(began); took < time.Second || took > 3*time.Second {
		t.Errorf("an empty page came after %s", took)
	}
	type result struct {
		a   answer
		err error
	}
	answers := make(chan result)
	go func() {
		a, err := c.try(t, request{method: http.MethodGet, target: "/v1/events?wait=20&types=reward.failed"})
		answers <- result{a, err}
	}()
	stranger := newApp(t)
	stranger.cancel(t, stranger.newUser(t)) // wakes nobody else
	given := c.cancel(t, user)
	got := <-answers
	check(t, got.err)
	got.a.wantStatus(t, http.StatusOK).want(t, given, "events", 0, "data", "reward", "id")
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the event came after %s", took)
	}
}

// A request that waits ends when its key is revoked.
func TestARevokedKeyEndsTheWait(t *testing.T) {
	t.Parallel()
	c := newApp(t)
	statuses := make(chan int)
	go func() {
		a, _ := c.try(t, request{method: http.MethodGet, target: "/v1/events?wait=20"})
		statuses <- a.status
	}()
	check(t, c.world.store.RevokeKey(t.Context(), c.keyID))
	if got := <-statuses; got != http.StatusUnauthorized {
		t.Errorf("status %d", got)
	}
}
