package webhook_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/webhook"
)

// The dispatcher counts endpoints by status, and knows the oldest event that an enabled one was not sent.
func TestCount(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		w.endpoint("https://hangs/", nil)
		w.endpoint("https://refuses/", refuse)
		w.endpoint("https://gone/", func(webhook.Request) rewards.WebhookAnswer {
			return rewards.WebhookAnswer{StatusCode: 410, Error: "the receiver answered 410"}
		})
		_, err := w.CreateWebhookEndpoint(t.Context(), rewards.WebhookEndpoint{
			AppID: w.App.ID, URL: "https://locked/", Secret: rewards.SealedSecret("locked"),
		})
		check(t, err)
		d, stop := w.dispatch("one")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want := rewards.WebhookCounts{Enabled: 3, Locked: 1}
		if got := d.Count(); got != want {
			t.Errorf("before the first event: %+v, want %+v", got, want)
		}
		w.events(1)
		d.Nudge()
		time.Sleep(5 * time.Second)
		got := d.Count()
		if got.Enabled != 1 || got.Failing != 1 || got.Disabled != 1 || got.Locked != 1 || got.Oldest.IsZero() {
			t.Errorf("after the event: %+v", got)
		}
		time.Sleep(20 * time.Second) // the attempt that hung has failed
		if got := d.Count(); !got.Oldest.IsZero() || got.Failing != 2 {
			t.Errorf("after the first attempts: %+v", got)
		}
		stop()
	})
}

// An endpoint whose key is lost gets nothing until the app rotates the secret. Then its events come, with the new
// signature and that of the first secret.
func TestARotationReplacesALostKey(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.endpoint("https://a/", accept)
		change := func(secret string) {
			t.Helper()
			_, err := w.ChangeWebhookEndpoint(t.Context(), e.AppID, e.ID, func(e *rewards.WebhookEndpoint) {
				e.Rotate(rewards.SealedSecret(secret), w.Now())
			})
			check(t, err)
		}
		change("locked")
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		w.events(2)
		d.Nudge()
		time.Sleep(2 * time.Second)
		if got, counts := w.received("https://a/"), d.Count(); len(got) > 0 || counts.Locked != 1 {
			t.Fatalf("%d requests without the key, %+v", len(got), counts)
		}
		change("new")
		d.Nudge()
		time.Sleep(2 * time.Second)
		got, counts := w.received("https://a/"), d.Count()
		if len(got) != 2 || counts != (rewards.WebhookCounts{Enabled: 1}) {
			t.Fatalf("%d requests after the rotation, %+v", len(got), counts)
		}
		if signed := string(bytes.Join(got[0].Secrets, []byte(" "))); signed != "new secret" {
			t.Errorf("signed by %q", signed)
		}
		stop()
	})
}

// The requests of an endpoint that is changed again and again do not add up: only those of its newest version are open.
func TestChangesEndRequests(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		e := w.endpoint("https://hangs/", nil)
		d, stop := w.dispatch("one")
		w.events(1)
		for n := range 40 {
			_, err := w.ChangeWebhookEndpoint(t.Context(), e.AppID, e.ID, func(e *rewards.WebhookEndpoint) { e.Description = fmt.Sprint(n) })
			check(t, err)
			d.Nudge()
			time.Sleep(300 * time.Millisecond)
		}
		w.mu.Lock()
		open, all := w.open["https://hangs/"], len(w.got["https://hangs/"])
		w.mu.Unlock()
		if open > 1 || all < 20 {
			t.Errorf("%d of %d requests are open", open, all)
		}
		stop()
	})
}

// A retry that succeeds is stored, also when more deliveries are stored at once than an endpoint keeps.
func TestARetryIsStored(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		var bad rewards.EventID
		tries := 0
		e := w.endpoint("https://a/", func(r webhook.Request) rewards.WebhookAnswer {
			if bad.IsZero() {
				bad = r.ID
			}
			if r.ID == bad {
				tries++
			}
			if r.ID == bad && tries == 1 {
				return refuse(r)
			}
			time.Sleep(20 * time.Millisecond)
			return accept(r)
		})
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		w.events(1)
		d.Nudge()
		time.Sleep(2500 * time.Millisecond)
		for range 10 {
			w.events(1000)
		}
		d.Nudge()
		time.Sleep(3 * time.Minute)
		if pending := w.statuses(e)[rewards.DeliveryPending]; tries != 2 || pending != 0 {
			t.Errorf("after %d attempts %d deliveries are pending", tries, pending)
		}
		stop()
	})
}
