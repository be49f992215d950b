package webhook_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/webhook"
)

// receiver answers attempts, and notes them with the second in which they came.
type receiver struct {
	began  time.Time
	answer func(sequence int64, attempt int) rewards.WebhookAnswer
	got    []string
	tries  map[int64]int
}

// Send implements webhook.Deliverer.
func (r *receiver) Send(ctx context.Context, q webhook.Request) rewards.WebhookAnswer {
	r.tries[q.Sequence]++
	r.got = append(r.got, fmt.Sprintf("%d after %.0fs", q.Sequence, time.Since(r.began).Seconds()))
	a := r.answer(q.Sequence, r.tries[q.Sequence])
	if a.Error == "hangs" {
		<-ctx.Done()
	}
	return a
}

// forwarded runs a Forwarder over n events for a minute, and returns what it reported.
func forwarded(t *testing.T, r *receiver, n int) (f *webhook.Forwarder, reports []rewards.Delivery) {
	t.Helper()
	r.began, r.tries = time.Now(), make(map[int64]int)
	f = &webhook.Forwarder{
		Sender: r, URL: "http://receiver", Secret: []byte("secret"), Now: time.Now,
		Schedule: []time.Duration{time.Second, 10 * time.Second}, Random: func(int64) int64 { return 0 },
		Report: func(d rewards.Delivery, _ time.Duration) { reports = append(reports, d) },
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events := make(chan rewards.Delivery)
	go func() {
		for i := range n {
			d := webhook.NewForwarded(rewards.EventID{byte(i)}, "reward.failed", int64(101+i), time.Now(), []byte("{}"))
			select {
			case events <- d:
			case <-ctx.Done():
			}
		}
	}()
	f.Run(ctx, events)
	return f, reports
}

// An event that the receiver refuses comes again after the pauses, or when the receiver asks for it.
// Later events do not wait for it.
func TestForwarderRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(sequence int64, attempt int) rewards.WebhookAnswer {
			switch {
			case sequence == 101 && attempt < 3:
				return rewards.WebhookAnswer{StatusCode: 500, Error: "the receiver answered 500"}
			case sequence == 102 && attempt < 2:
				return rewards.WebhookAnswer{StatusCode: 429, RetryAfter: 30 * time.Second, Error: "the receiver answered 429"}
			case sequence == 103:
				return rewards.WebhookAnswer{Error: "the connection was refused"}
			case sequence == 104:
				return rewards.WebhookAnswer{StatusCode: 410, Error: "the receiver answered 410"}
			}
			return rewards.WebhookAnswer{StatusCode: 204}
		}}
		f, reports := forwarded(t, r, 5)
		want := []string{
			"101 after 0s", "102 after 0s", "103 after 0s", "104 after 0s", "105 after 0s", "101 after 1s", "103 after 1s",
			"101 after 11s", "103 after 11s", "102 after 30s",
		}
		if !slices.Equal(r.got, want) {
			t.Errorf("the attempts were %v, want %v", r.got, want)
		}
		outcomes := make(map[rewards.DeliveryStatus]int)
		for _, d := range reports {
			outcomes[d.Status]++
		}
		if outcomes[rewards.DeliveryDelivered] != 3 || outcomes[rewards.DeliveryFailed] != 1 || len(reports) != 10 {
			t.Errorf("reported: %v", outcomes)
		}
		if waiting, after := f.Rest(); waiting != 0 || after != 105 {
			t.Errorf("%d wait, continues after %d", waiting, after)
		}
	})
}

// At the end an attempt under way is given up, and the rest begins before what was not accepted.
func TestForwarderEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(sequence int64, _ int) rewards.WebhookAnswer {
			if sequence == 102 {
				return rewards.WebhookAnswer{Error: "hangs"}
			}
			return rewards.WebhookAnswer{StatusCode: 200}
		}}
		f, reports := forwarded(t, r, 3)
		if waiting, after := f.Rest(); waiting != 1 || after != 101 || len(reports) != 1 {
			t.Errorf("%d wait, continues after %d, %d reports", waiting, after, len(reports))
		}
	})
}

// A receiver that accepts nothing cannot fill the memory: no more events are taken then.
func TestForwarderIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{answer: func(int64, int) rewards.WebhookAnswer {
			return rewards.WebhookAnswer{StatusCode: 503, RetryAfter: time.Hour, Error: "the receiver answered 503"}
		}}
		f, _ := forwarded(t, r, 1500)
		if waiting, after := f.Rest(); waiting != 1000 || after != 100 || len(r.got) != 1000 {
			t.Errorf("%d wait after %d attempts, continues after %d", waiting, len(r.got), after)
		}
	})
}
