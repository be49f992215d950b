package api_test

import (
	"bytes"
	"net/http"
	"sync"
	"testing"
)

// Responses share buffers. Apps that read at the same moment get their own awards, each time the same bytes.
func TestResponsesDoNotMix(t *testing.T) {
	t.Parallel()
	const apps, times = 8, 100
	w := newWorld(t)
	var reading sync.WaitGroup
	for range apps {
		c := w.newApp(t)
		user := c.newUser(t)
		ids := c.giveMany(t, user, 20)
		for _, target := range []string{"/v1/rewards", "/v1/rewards/" + ids[0]} {
			want := c.get(t, target).wantStatus(t, http.StatusOK).body
			reading.Go(func() {
				for range times {
					got, err := c.try(t, request{method: http.MethodGet, target: target})
					if err != nil || !bytes.Equal(got.body, want) {
						t.Errorf("got %d %v %s\nwant %s", got.status, err, got.body, want)
						return
					}
				}
			})
		}
	}
	reading.Wait()
}
