package fulfillment_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
)

// A process that is stopped while it asks the broker leaves no alarm and no reason behind:
// the request failed because the process ended.
func TestAStopWhileTheBrokerIsAskedIsNoAlarm(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]func(r *http.Request) bool{
		"list":    func(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Path == "/v2/orders" },
		"look-up": func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/v2/orders:by_client_order_id") },
		"clock":   func(r *http.Request) bool { return r.URL.Path == "/v2/clock" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(t *testing.T, w *world) {
				w.wire.fault = once(isSubmit, loseRequest)
				r := w.give("AAPL", 5_000_000)
				w.run(1100 * time.Millisecond)
				w.want(r, rewards.Executing)
				time.Sleep(2 * time.Minute) // so that the clock is asked again
				before, err := w.store.Alarms(t.Context())
				w.check(err)
				asked := make(chan struct{})
				w.wire.fault = func(r *http.Request, carry carrier) (*http.Response, error) {
					if !asks(r) {
						return carry()
					}
					close(asked)
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				reason := w.live()[0].Reason
				stop, done := w.start()
				<-asked
				stop()
				<-done
				after, err := w.store.Alarms(t.Context())
				w.check(err)
				for i, a := range after {
					if i >= len(before) || a.Name != before[i].Name || strings.Contains(a.Message, "cancel") {
						t.Errorf("alarm %+v; before %+v", a, before)
					}
				}
				if o := w.live()[0]; o.Reason != reason {
					t.Errorf("the order waits because %q; before %q", o.Reason, reason)
				}
			})
		})
	}
}
