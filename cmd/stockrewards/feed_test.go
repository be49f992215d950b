package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"stockrewards/client"
	"stockrewards/internal/rewards"
)

// A page may have no event and go on further behind, because very many events of other types are between. The next
// request begins there.
func TestFeedPassesOverOtherTypes(t *testing.T) {
	t.Parallel()
	const looked, failed = 4352, 3 * 4352 // the sequences that a page looks at, and that of the event
	var asked []int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		after, err := strconv.Atoi(q.Get("after"))
		if err != nil || q.Get("types") != "reward.failed" || after != looked*len(asked) {
			http.Error(w, "unexpected: "+r.URL.String(), http.StatusBadRequest)
			return
		}
		asked = append(asked, after)
		q.Set("after", strconv.Itoa(after+looked))
		w.Header().Set("Link", `</v1/events?`+q.Encode()+`>; rel="next"`)
		event := ""
		if after+looked == failed {
			event = fmt.Sprintf(`{"id":%q,"type":"reward.failed","sequence":%d,"data":{}}`, rewards.EventID{1}, failed)
		}
		_, _ = fmt.Fprintf(w, `{"events":[%s]}`, event)
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, ended := make(chan rewards.Delivery), make(chan error, 1)
	go func() {
		ended <- feed{client: client.New(s.URL, "key"), types: "reward.failed"}.follow(ctx, 0, out)
	}()
	select {
	case d := <-out:
		if d.Sequence != failed {
			t.Errorf("the event has the sequence %d, want %d", d.Sequence, failed)
		}
	case err := <-ended:
		t.Errorf("after the pages %v: %v", asked, err)
	case <-time.After(time.Minute):
		t.Error("no event came")
	}
}
