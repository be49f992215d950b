package test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// followers are clients of a fleet that must not miss an event: readers of the feed and receivers of webhooks.
type followers struct {
	f         *fleet
	stop      context.CancelFunc
	running   sync.WaitGroup
	readers   []*feedReader
	receivers []*inbox
}

// feedReader follows the feed from any process.
type feedReader struct {
	after  int64
	ids    []string // of events
	awards []string // their ids
}

// inbox is an HTTP server that gets webhooks.
type inbox struct {
	address string
	server  *http.Server
	flaky   bool // it answers 500 to every third request, and others with a long body

	mu       sync.Mutex
	requests int
	accepted map[string]bool     // ids of events
	first    map[int64]time.Time // the first request of each sequence
}

// stopped is the number of the receiver that refuses connections until the end.
const stopped = 2

// webhookFlags let a fleet send webhooks to this machine, with retries for two minutes.
func webhookFlags(t *testing.T) []string {
	t.Helper()
	return []string{
		"--webhook-allow", "127.0.0.0/8", "--webhook-key-file", filepath.Join(t.TempDir(), "webhook-key"),
		"--webhook-retries", "500ms,1s" + strings.Repeat(",2s", 60),
	}
}

// follow starts readers of the feed, and three receivers: one is healthy, one flaky, and one stops.
func (f *fleet) follow() {
	ctx, stop := context.WithCancel(f.t.Context())
	w := &followers{f: f, stop: stop}
	f.followers = w
	for range 3 {
		r := &feedReader{}
		w.readers = append(w.readers, r)
		w.running.Go(func() {
			for ctx.Err() == nil {
				w.read(ctx, r, f.members[rand.IntN(len(f.members))].service, 2)
			}
		})
	}
	for _, flaky := range []bool{false, true, false} {
		r := &inbox{flaky: flaky, accepted: map[string]bool{}, first: map[int64]time.Time{}, address: "127.0.0.1:0"}
		r.listen(f.t)
		w.receivers = append(w.receivers, r)
		f.must(201, "POST", "/v1/webhook-endpoints", fmt.Sprintf(`{"url":"http://%s/","types":["reward.executed"]}`, r.address))
	}
	noError(f.t, w.receivers[stopped].server.Close())
}

// read reads the next events from a process, and reports how many it got.
func (w *followers) read(ctx context.Context, r *feedReader, from *service, wait int) (count int, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	a, err := from.request(ctx, "GET", fmt.Sprintf("/v1/events?after=%d&limit=50&wait=%d", r.after, wait), "")
	if err != nil || a.status >= 500 {
		time.Sleep(10 * time.Millisecond)
		return 0, false
	}
	var page struct {
		Events []struct {
			ID       string
			Sequence int64
			Data     struct{ Reward struct{ ID, Status string } }
		}
	}
	if err := json.Unmarshal(a.body, &page); err != nil || a.status != 200 {
		w.f.t.Errorf("the feed answered %d %s", a.status, a.body)
		return 0, true
	}
	for _, e := range page.Events {
		if e.Sequence <= r.after || e.Data.Reward.Status != "executed" {
			w.f.t.Errorf("after %d came %+v", r.after, e)
		}
		r.after = e.Sequence
		r.ids, r.awards = append(r.ids, e.ID), append(r.awards, e.Data.Reward.ID)
	}
	return len(page.Events), true
}

// listen starts the receiver, again at its address.
func (r *inbox) listen(t *testing.T) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", r.address)
	noError(t, err)
	r.address = l.Addr().String()
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() { _ = r.server.Serve(l) }()
	t.Cleanup(func() { _ = r.server.Close() })
}

// ServeHTTP implements http.Handler.
func (r *inbox) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	sequence, err := strconv.ParseInt(request.Header.Get("X-Event-Sequence"), 10, 64)
	if err != nil {
		answer.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if _, again := r.first[sequence]; !again {
		r.first[sequence] = time.Now()
	}
	if r.flaky && r.requests%3 == 0 {
		answer.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.accepted[request.Header.Get("Webhook-Id")] = true
	if r.flaky {
		_, _ = answer.Write(make([]byte, 1<<20))
	}
}

// count returns how many events the receiver has accepted.
func (r *inbox) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.accepted)
}

// verify checks that no reader and no receiver missed an event of the load. The stopped receiver comes back.
func (w *followers) verify(l *load) {
	t := w.f.t
	t.Helper()
	w.stop()
	w.running.Wait()
	w.receivers[stopped].listen(t)
	whole := &feedReader{}
	for _, r := range append(w.readers, whole) {
		for count, ok := 1, true; count > 0 || !ok; {
			count, ok = w.read(t.Context(), r, w.f.service, 0)
		}
	}
	var want []string
	for _, r := range l.acknowledged {
		want = append(want, r.ID)
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(whole.awards)); !slices.Equal(got, want) {
		t.Errorf("the feed has %d events, %d awards were executed", len(got), len(want))
	}
	for i, r := range w.readers {
		if !slices.Equal(r.ids, whole.ids) {
			t.Errorf("reader %d has %d events, the feed has %d", i, len(r.ids), len(whole.ids))
		}
	}
	for i, r := range w.receivers {
		eventually(t, fmt.Sprintf("delivery of %d events to receiver %d", len(whole.ids), i), 2*time.Minute, func() bool {
			return r.count() >= len(whole.ids)
		})
		r.verify(t, whole.ids)
		if i < stopped { // to the stopped one only retries came
			r.verifyOrder(t)
		}
	}
	t.Logf("%d events were read and delivered; requests: %d, %d, %d", len(whole.ids), w.receivers[0].requests,
		w.receivers[1].requests, w.receivers[stopped].requests)
}

// verify checks what the receiver accepted.
func (r *inbox) verify(t *testing.T, ids []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range ids {
		if !r.accepted[id] {
			t.Errorf("the event %s was not delivered", id)
		}
	}
	if len(r.accepted) != len(ids) {
		t.Errorf("%d events were delivered, the feed has %d", len(r.accepted), len(ids))
	}
}

// verifyOrder checks that first attempts came in order. Requests that are under way at the same time may overtake
// each other, and one that a killed process had not written comes from another process after the lease.
func (r *inbox) verifyOrder(t *testing.T) {
	t.Helper()
	const moment = 10 * time.Second
	r.mu.Lock()
	defer r.mu.Unlock()
	latest, of := time.Time{}, int64(0)
	sequences := make([]int64, 0, len(r.first))
	for sequence := range r.first {
		sequences = append(sequences, sequence)
	}
	slices.Sort(sequences)
	for _, sequence := range sequences {
		if at := r.first[sequence]; at.After(latest) {
			latest, of = at, sequence
		} else if latest.Sub(at) > moment {
			t.Errorf("the event %d came %s before the event %d to %s", sequence, latest.Sub(at), of, r.address)
			return
		}
	}
}
