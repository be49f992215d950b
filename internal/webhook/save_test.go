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
