package webhook_test

import (
	"strconv"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/webhook"
)

// distinct returns the ids of requests, and whether their first attempts came in order.
func distinct(list []webhook.Request) (ids map[rewards.EventID]int, ordered bool) {
	ids, ordered = make(map[rewards.EventID]int), true
	last := int64(0)
	for _, r := range list {
		ids[r.ID]++
		if ids[r.ID] > 1 {
			continue
		}
		ordered = ordered && r.Sequence > last
		last = r.Sequence
	}
	return ids, ordered
}

// Each event is delivered once to a receiver that accepts it, in order, and the cursor follows.
func TestDelivery(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.events(3) // from before the endpoint
		e := w.endpoint("https://a/", func(r webhook.Request) rewards.WebhookAnswer {
			time.Sleep(time.Millisecond)
			return accept(r)
		})
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		w.events(300)
		d.Nudge()
		time.Sleep(3 * time.Second)
		got := w.received("https://a/")
		ids, ordered := distinct(got)
		if len(got) != 300 || len(ids) != 300 || !ordered {
			t.Errorf("%d requests about %d events, ordered: %v; want each of 300 once, in order", len(got), len(ids), ordered)
		}
		if counts := w.statuses(e); counts[rewards.DeliveryDelivered] != 300 {
			t.Errorf("stored: %v, want 300 delivered", counts)
		}
		stored, err := w.WebhookEndpoint(t.Context(), e.AppID, e.ID)
		check(t, err)
		if newest, _ := w.NewestEvent(t.Context()); stored.Cursor != newest {
			t.Errorf("the cursor is %d, want %d", stored.Cursor, newest)
		}
		stop()
	})
}

// A receiver that accepts at once gets more events than results are kept in memory, without a pause.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.endpoint("https://a/", accept)
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		const orders = 5
		for range orders {
			w.events(rewards.MaxMembers)
		}
		d.Nudge()
		time.Sleep(5 * time.Second)
		if ids, ordered := distinct(w.received("https://a/")); len(ids) != orders*rewards.MaxMembers || !ordered {
			t.Errorf("after 5 seconds: %d events, ordered: %v; want %d in order", len(ids), ordered, orders*rewards.MaxMembers)
		}
		stop()
	})
}

// A delivery that fails holds up no later one. It is retried with the same body, then kept as failed.
func TestRetries(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		var bad rewards.EventID
		e := w.endpoint("https://a/", func(r webhook.Request) rewards.WebhookAnswer {
			if bad.IsZero() {
				bad = r.ID
			}
			if r.ID == bad {
				return refuse(r)
			}
			return accept(r)
		})
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		w.events(5)
		d.Nudge()
		time.Sleep(3 * time.Second)
		if ids, ordered := distinct(w.received("https://a/")); len(ids) != 5 || ids[bad] != 1 || !ordered {
			t.Errorf("after a moment: %d events, %d attempts of the bad one; want 5 and 1", len(ids), ids[bad])
		}
		time.Sleep(5 * time.Second)
		if ids, _ := distinct(w.received("https://a/")); ids[bad] != 2 {
			t.Errorf("after 5 seconds: %d attempts, want 2", ids[bad])
		}
		time.Sleep(2 * time.Minute)
		if ids, _ := distinct(w.received("https://a/")); ids[bad] != 3 {
			t.Errorf("after the last retry: %d attempts, want 3", ids[bad])
		}
		if counts := w.statuses(e); counts[rewards.DeliveryFailed] != 1 || counts[rewards.DeliveryDelivered] != 4 {
			t.Errorf("stored: %v, want 1 failed and 4 delivered", counts)
		}
		stop()
	})
}

// A receiver that was stopped for an hour gets everything by the standard retries after it comes back, also when
// the process starts again meanwhile. First attempts were made in order.
func TestStoppedForAnHour(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.schedule = rewards.RetrySchedule()
		e := w.endpoint("https://a/", refuse)
		const times, each = 60, 2
		for half := range 2 {
			_, stop := w.dispatch("process " + strconv.Itoa(half))
			for range times / 2 {
				w.events(each)
				time.Sleep(time.Minute)
			}
			stop()
		}
		before, ordered := distinct(w.received("https://a/"))
		if len(before) != times*each || !ordered {
			t.Errorf("while it was stopped: first attempts of %d events, ordered: %v; want %d", len(before), ordered, times*each)
		}
		w.receivers["https://a/"] = accept
		_, stop := w.dispatch("the last process")
		time.Sleep(3 * time.Hour) // the longest pause until then is two hours and a tenth
		stop()
		if counts := w.statuses(e); counts[rewards.DeliveryDelivered] != times*each || len(counts) != 1 {
			t.Errorf("stored: %v, want %d delivered", counts, times*each)
		}
	})
}

// Receivers that do not answer hold up no other endpoint.
func TestDeadReceiversHoldUpNoOther(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		for _, url := range []string{"https://b/", "https://c/", "https://d/", "https://e/", "https://f/"} {
			w.endpoint(url, nil)
		}
		w.endpoint("https://a/", accept)
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		for range 5 {
			w.events(4)
			d.Nudge()
			time.Sleep(2 * time.Second)
		}
		if ids, ordered := distinct(w.received("https://a/")); len(ids) != 20 || !ordered {
			t.Errorf("%d events, ordered: %v; want 20 in order", len(ids), ordered)
		}
		stop()
	})
}

// 410 disables. The refused delivery stays pending; after enabling it and all later events come.
func TestGone(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		gone := true
		e := w.endpoint("https://a/", func(r webhook.Request) rewards.WebhookAnswer {
			if gone {
				return rewards.WebhookAnswer{StatusCode: 410}
			}
			return accept(r)
		})
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		w.events(3)
		d.Nudge()
		time.Sleep(time.Hour)
		stored, err := w.WebhookEndpoint(t.Context(), e.AppID, e.ID)
		check(t, err)
		if n := len(w.received("https://a/")); n != 1 || stored.Disabled != rewards.DisabledGone {
			t.Errorf("%d requests, disabled %q; want one, and disabled by it", n, stored.Disabled)
		}
		gone = false
		_, err = w.ChangeWebhookEndpoint(t.Context(), e.AppID, e.ID, (*rewards.WebhookEndpoint).Enable)
		check(t, err)
		time.Sleep(3 * time.Second)
		if counts := w.statuses(e); counts[rewards.DeliveryDelivered] != 3 {
			t.Errorf("stored after enabling: %v, want 3 delivered", counts)
		}
		stop()
	})
}

// A test reaches a disabled endpoint, which gets nothing else.
func TestPing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.endpoint("https://a/", accept)
		_, err := w.ChangeWebhookEndpoint(t.Context(), e.AppID, e.ID, func(e *rewards.WebhookEndpoint) {
			e.Disable(rewards.DisabledByApp)
		})
		check(t, err)
		_, stop := w.dispatch("one")
		w.events(2)
		time.Sleep(time.Second)
		id, err := w.AddWebhookTest(t.Context(), e.AppID, e.ID)
		check(t, err)
		time.Sleep(2 * time.Second)
		got := w.received("https://a/")
		if len(got) != 1 || got[0].ID != id || got[0].Sequence >= 0 {
			t.Errorf("%d requests: %+v; want the test", len(got), got)
		}
		stop()
	})
}

// A test is not sent again because its endpoint was changed a moment after it.
func TestPingBeforeAChange(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.endpoint("https://a/", accept)
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		for i := range 3 {
			failure := func(_ any, err error) { check(t, err) }
			failure(w.AddWebhookTest(t.Context(), e.AppID, e.ID))
			d.Nudge()
			time.Sleep(50 * time.Millisecond)
			failure(w.ChangeWebhookEndpoint(t.Context(), e.AppID, e.ID, func(e *rewards.WebhookEndpoint) {
				e.Description = "changed"
			}))
			d.Nudge()
			time.Sleep(3 * time.Second)
			if got := w.received("https://a/"); len(got) != i+1 {
				t.Fatalf("%d requests after %d tests", len(got), i+1)
			}
		}
		stop()
	})
}

// A retry comes when its pause has passed, also when the outcome of the attempt before is not stored yet.
func TestRetriesInTime(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		var tried []time.Time
		w.schedule = []time.Duration{300 * time.Millisecond, time.Second, time.Second}
		var first rewards.EventID
		w.endpoint("https://a/", func(r webhook.Request) rewards.WebhookAnswer {
			if first.IsZero() {
				first = r.ID
				return accept(r)
			}
			tried = append(tried, time.Now())
			return refuse(r)
		})
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		for range 2 {
			w.events(1)
			d.Nudge()
			time.Sleep(200 * time.Millisecond) // the first outcome is stored, the second waits for its turn
		}
		time.Sleep(10 * time.Second)
		stop()
		if len(tried) != 4 {
			t.Fatalf("%d attempts, want 4", len(tried))
		}
		for i := range 3 {
			if late := tried[i+1].Sub(tried[i]) - w.schedule[i]; late < 0 || late > 200*time.Millisecond {
				t.Errorf("retry %d came %s late", i+1, late)
			}
		}
	})
}

// A process that starts again, or takes over, goes on where the one before had come to.
func TestTakeover(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.endpoint("https://a/", accept)
		fails := w.endpoint("https://b/", refuse)
		_, stop := w.dispatch("one")
		time.Sleep(time.Second)
		w.events(10)
		time.Sleep(2 * time.Second)
		stop()
		w.events(10)
		w.receivers["https://b/"] = accept
		_, stop = w.dispatch("two")
		time.Sleep(10 * time.Minute)
		stop()
		for url, e := range map[string]rewards.WebhookEndpoint{"https://a/": e, "https://b/": fails} {
			ids, ordered := distinct(w.received(url))
			if counts := w.statuses(e); len(ids) != 20 || !ordered || counts[rewards.DeliveryDelivered] != 20 {
				t.Errorf("%s: %d events, ordered: %v, stored %v; want 20 delivered", url, len(ids), ordered, counts)
			}
		}
		if n := len(w.received("https://a/")); n != 20 {
			t.Errorf("%d requests to a healthy receiver, want 20", n)
		}
	})
}

// A process that cannot renew its lease sends nothing after it: another one may send the same.
func TestNothingIsSentWithoutALease(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.endpoint("https://a/", accept)
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		w.apart.Store(true)
		time.Sleep(7 * time.Second) // the lease ends
		w.events(10)
		d.Nudge()
		time.Sleep(time.Minute)
		if n := len(w.received("https://a/")); n > 0 {
			t.Errorf("%d requests without a lease", n)
		}
		w.apart.Store(false)
		time.Sleep(10 * time.Second)
		if n := len(w.received("https://a/")); n != 10 {
			t.Errorf("%d requests with a lease again, want 10", n)
		}
		stop()
	})
}

// A request that the end of this process cuts off is no failure of the receiver.
func TestAStopIsNoFailureOfTheReceiver(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.endpoint("https://a/", nil)
		_, stop := w.dispatch("one")
		time.Sleep(time.Second)
		w.events(1)
		time.Sleep(2 * time.Second)
		stop()
		after, err := w.WebhookEndpoint(t.Context(), e.AppID, e.ID)
		check(t, err)
		if n := len(w.received("https://a/")); n != 1 || len(w.statuses(e)) > 0 || !after.FailingSince.IsZero() {
			t.Errorf("%d requests, stored %v, failing since %s", n, w.statuses(e), after.FailingSince)
		}
	})
}

// A replay sends again what comes after a sequence.
func TestReplay(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.events(4)
		e := w.endpoint("https://a/", accept)
		_, stop := w.dispatch("one")
		time.Sleep(time.Second)
		_, err := w.ChangeWebhookEndpoint(t.Context(), e.AppID, e.ID, func(e *rewards.WebhookEndpoint) { e.ReplayFrom(0) })
		check(t, err)
		time.Sleep(3 * time.Second)
		if ids, ordered := distinct(w.received("https://a/")); len(ids) != 4 || !ordered {
			t.Errorf("%d events, ordered: %v; want the 4 from before the endpoint", len(ids), ordered)
		}
		stop()
	})
}
