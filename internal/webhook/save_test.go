package webhook_test

import (
	"fmt"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/webhook"
)

// Large deliveries that fail are stored in small transactions, because others wait for each, and few are in memory.
func TestStoresFewBytesAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		const each, large, most, patience = 200, 16 << 10, 256 << 10, 10
		w.data = make([]byte, large)
		const refused = each - each/patience
		var all []rewards.WebhookEndpoint
		for n := range 4 {
			requests := 0
			all = append(all, w.endpoint(fmt.Sprintf("https://fails%d/", n), func(r webhook.Request) rewards.WebhookAnswer {
				w.mu.Lock()
				requests++
				accepts := requests%patience == 0
				w.mu.Unlock()
				if accepts {
					return accept(r)
				}
				return rewards.WebhookAnswer{StatusCode: 503, Error: "later", RetryAfter: 24 * time.Hour}
			}))
		}
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		w.events(each)
		d.Nudge()
		time.Sleep(time.Minute)
		stop()
		for _, e := range all {
			if n := w.statuses(e)[rewards.DeliveryPending]; n != refused {
				t.Errorf("%d deliveries of an endpoint wait, want %d", n, refused)
			}
		}
		if n := w.bytes.Load(); n < large || n > most+2*large {
			t.Errorf("%d bytes were stored at once, want little more than %d", n, most)
		}
	})
}

// However much must be stored, a process renews its leases in time.
func TestLeasesAreRenewedWhileMuchIsStored(t *testing.T) {
	t.Parallel()
	inWorld(t, func(t *testing.T, w *world) {
		const each = 100
		w.data = make([]byte, 16<<10)
		w.storing.Store(int64(time.Second))
		for n := range rewards.MaxWebhookEndpoints {
			w.endpoint(fmt.Sprintf("https://fails%d/", n), refuse)
		}
		d, stop := w.dispatch("one")
		time.Sleep(time.Second)
		w.events(each)
		d.Nudge()
		time.Sleep(time.Minute)
		if gap := time.Duration(w.unkept.Load()); gap == 0 || gap >= leaseTTL {
			t.Errorf("between two renewals were %s, want less than %s", gap, leaseTTL)
		}
		stop()
	})
}

// Of more deliveries at once than an endpoint keeps, those with a stored row get their outcome: a row that stays pending
// would be sent again, and one that stays failed would be wrong.
func TestManyDeliveredAtOnceThatFailedBefore(t *testing.T) {
	t.Parallel()
	const refused, accepted = 40, 1000
	disable := func(e *rewards.WebhookEndpoint) { e.Disable(rewards.DisabledByApp) }
	replay := func(e *rewards.WebhookEndpoint) { e.ReplayFrom(0) }
	for name, changes := range map[string][2]func(*rewards.WebhookEndpoint){ // before and after the events
		"a replay":             {func(*rewards.WebhookEndpoint) {}, replay},
		"disabled and enabled": {disable, (*rewards.WebhookEndpoint).Enable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.schedule = []time.Duration{time.Second}
				e := w.endpoint("https://a/", refuse)
				d, stop := w.dispatch("one")
				defer stop()
				change := func(change func(*rewards.WebhookEndpoint)) {
					t.Helper()
					_, err := w.ChangeWebhookEndpoint(t.Context(), e.AppID, e.ID, change)
					check(t, err)
					d.Nudge()
					time.Sleep(5 * time.Second)
				}
				time.Sleep(time.Second)
				w.events(refused)
				d.Nudge()
				time.Sleep(10 * time.Minute)
				if n := w.statuses(e)[rewards.DeliveryFailed]; n != refused {
					t.Fatalf("%d deliveries failed, want %d", n, refused)
				}
				change(changes[0])
				w.mu.Lock()
				w.receivers["https://a/"] = accept
				w.mu.Unlock()
				w.events(accepted)
				w.events(accepted)
				d.Nudge()
				time.Sleep(5 * time.Second)
				before := len(w.received("https://a/"))
				change(changes[1])
				if counts := w.statuses(e); counts[rewards.DeliveryDelivered] < accepted || len(counts) != 1 {
					t.Errorf("stored: %v, want all delivered", counts)
				}
				if n := len(w.received("https://a/")) - before; n != refused+2*accepted {
					t.Errorf("%d requests, want %d", n, refused+2*accepted)
				}
			})
		})
	}
}
