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
