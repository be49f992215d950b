package webhook_test

import (
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// An app that changes an endpoint all the time does not make all endpoints be read each time. What it changed last is
// in force within 250 milliseconds.
func TestEndpointsThatChangeAllTheTime(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.endpoint("first", accept)
		d, stop := w.dispatch("a")
		defer stop()
		time.Sleep(time.Second)
		w.listed.Store(0)
		change := func(to string) {
			t.Helper()
			_, err := w.ChangeWebhookEndpoint(t.Context(), e.AppID, e.ID, func(e *rewards.WebhookEndpoint) { e.URL = to })
			check(t, err)
			d.Nudge()
		}
		const seconds = 10
		for range 100 * seconds {
			change("next")
			time.Sleep(time.Second / 100)
		}
		if n := w.listed.Load(); n < 1 || n > 4*seconds {
			t.Errorf("all endpoints were read %d times in %d seconds", n, seconds)
		}
		w.receivers["last"] = accept
		change("last")
		time.Sleep(time.Second / 4)
		w.events(1)
		d.Nudge()
		time.Sleep(time.Second / 10)
		if n := len(w.received("last")); n != 1 {
			t.Errorf("the last receiver got %d events, want 1", n)
		}
	})
}

// An endpoint that is changed right after a first attempt failed keeps the delivery: it is in the list at once, and its
// retry has the body of the first attempt.
func TestChangeAfterAFailedAttempt(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*rewards.WebhookEndpoint){
		"description": func(e *rewards.WebhookEndpoint) { e.Description = "changed" },
		"disabled":    func(e *rewards.WebhookEndpoint) { e.Disable(rewards.DisabledByApp) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				e := w.endpoint("https://a/", refuse)
				d, stop := w.dispatch("one")
				defer stop()
				apply := func(change func(*rewards.WebhookEndpoint)) {
					t.Helper()
					_, err := w.ChangeWebhookEndpoint(t.Context(), e.AppID, e.ID, change)
					check(t, err)
					d.Nudge()
				}
				time.Sleep(1500 * time.Millisecond)
				w.events(2)
				d.Nudge()
				time.Sleep(50 * time.Millisecond)
				attempts := len(w.received("https://a/"))
				apply(change)
				w.data = []byte(`{"changed":true}`)
				time.Sleep(2 * time.Second)
				if counts := w.statuses(e); attempts == 0 || counts[rewards.DeliveryPending] < attempts {
					t.Errorf("stored: %v, want what was attempted %d times", counts, attempts)
				}
				apply((*rewards.WebhookEndpoint).Enable)
				time.Sleep(time.Minute)
				bodies := make(map[rewards.EventID]string)
				for n, r := range w.received("https://a/") {
					if first, known := bodies[r.ID]; known && first != string(r.Body) {
						t.Errorf("request %d has the body %s, the first attempt had %s", n, r.Body, first)
					} else if !known {
						bodies[r.ID] = string(r.Body)
					}
				}
			})
		})
	}
}

// The endpoints of a suspended app get nothing, and what waits for them waits until it is resumed.
func TestSuspendedAppGetsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.endpoint("https://a/", refuse)
		d, stop := w.dispatch("one")
		defer stop()
		requests := func(when string, want int) {
			t.Helper()
			if n := len(w.received("https://a/")); n != want {
				t.Errorf("%s: the receiver got %d requests, want %d", when, n, want)
			}
		}
		suspend := func(suspended bool) {
			t.Helper()
			_, err := w.SetSuspended(t.Context(), w.App.Name, suspended)
			check(t, err)
			time.Sleep(time.Minute)
		}
		w.events(1)
		d.Nudge()
		time.Sleep(time.Second)
		requests("before", 1)
		suspend(true)
		requests("while it is suspended", 1)
		suspend(false)
		requests("with its retry, after it was resumed", 2)
	})
}
