package admission_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/admission"
	"stockrewards/internal/rewards"
)

// world is a gate with requests in the background, in fake time.
type world struct {
	*testing.T

	gate *admission.Gate
}

func run(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(&world{t, admission.New()}) })
}

func app(number byte) rewards.App { return rewards.App{ID: rewards.AppID{number}} }

// visit is a request in the background.
type visit struct {
	ticket admission.Ticket
	err    error
	done   chan struct{} // closed when it was admitted or refused
}

func (v *visit) entered() bool {
	select {
	case <-v.done:
		return true
	default:
		return false
	}
}

func (v *visit) failure() error {
	if !v.entered() {
		return nil
	}
	return v.err
}

func (w *world) send(ctx context.Context, a rewards.App, kind admission.Kind) *visit {
	v := &visit{done: make(chan struct{})}
	go func() {
		defer close(v.done)
		v.ticket, v.err = w.gate.Enter(ctx, a, kind)
	}()
	return v
}

// enter sends a request and returns when it is admitted, refused, or waiting.
func (w *world) enter(ctx context.Context, a rewards.App, kind admission.Kind) *visit {
	w.Helper()
	v := w.send(ctx, a, kind)
	synctest.Wait()
	return v
}

// flood sends requests and returns those that have a place and those that wait.
func (w *world) flood(a rewards.App, kind admission.Kind, count int) (working, waiting []*visit) {
	w.Helper()
	for range count {
		v := w.enter(w.Context(), a, kind)
		switch {
		case v.failure() != nil:
			w.Fatal(v.failure())
		case v.entered():
			working = append(working, v)
		default:
			waiting = append(waiting, v)
		}
	}
	return working, waiting
}

// end ends requests. Each must have a place by the time its turn comes.
func (w *world) end(list ...*visit) {
	w.Helper()
	for _, v := range list {
		synctest.Wait()
		if !v.entered() || v.failure() != nil {
			w.Fatalf("a request has no place, or failed: %+v", v)
		}
		v.ticket.Leave()
	}
	synctest.Wait()
}

// pass sends a request that must not wait, and ends it.
func (w *world) pass(a rewards.App, kind admission.Kind, otherwise string) {
	w.Helper()
	v := w.enter(w.Context(), a, kind)
	if !v.entered() {
		w.Errorf("kind %d: %s", kind, otherwise)
		return
	}
	w.end(v)
}

func TestAnAppsFloodWaitsAndOthersDoNot(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		for _, kind := range []admission.Kind{admission.Write, admission.Lookup, admission.List} {
			working, waiting := w.flood(app(1), kind, 300)
			if len(working) == 0 || len(waiting) < 40 {
				w.Fatalf("kind %d: %d have a place, %d wait", kind, len(working), len(waiting))
			}
			w.pass(app(2), kind, "another app's request waits for the flood")
			w.end(append(working, waiting...)...)
		}
	})
}

// While another app sends, an app has fewer places. Slow commits give it more places for
// writes, because writes are committed together.
func TestPlacesWhileSeveralAppsSend(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		places := func(shared bool, kind admission.Kind) int {
			if shared {
				w.end(w.enter(w.Context(), app(7), kind))
			}
			working, waiting := w.flood(app(1), kind, 300)
			w.end(append(working, waiting...)...)
			time.Sleep(2 * time.Second)
			return len(working)
		}
		for _, kind := range []admission.Kind{admission.Write, admission.Lookup, admission.List} {
			w.end(w.enter(w.Context(), app(1), kind))
			alone, shared, again := places(false, kind), places(true, kind), places(false, kind)
			if alone < 2*shared || again != alone {
				w.Errorf("kind %d: %d places alone, %d shared, %d a second later", kind, alone, shared, again)
			}
		}
		for range 100 {
			w.gate.Committed(20 * time.Millisecond)
		}
		if got := places(true, admission.Write); got < 70 || got > 150 {
			w.Errorf("%d places where a commit takes 20 ms, want one for each 250 µs", got)
		}
	})
}

// While another app sends, a large list keeps its place for a rest, a small one does not.
func TestLargeListsRestWhileSeveralAppsSend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shared bool
		bytes  int
		rest   time.Duration
	}{
		"large, shared": {true, 4_800_000, 95 * time.Millisecond},
		"small, shared": {true, 100_000, 0},
		"large, alone":  {false, 4_800_000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(w *world) {
				if c.shared {
					w.pass(app(7), admission.List, "a list of another app")
				}
				working, waiting := w.flood(app(1), admission.List, 40)
				working[0].ticket.Answered(c.bytes)
				working[0].ticket.Leave()
				synctest.Wait()
				if c.rest > 0 {
					time.Sleep(c.rest)
					synctest.Wait()
					if waiting[0].entered() {
						t.Error("the next list begins before the rest is over")
					}
					time.Sleep(10 * time.Millisecond)
					synctest.Wait()
				}
				if !waiting[0].entered() {
					t.Error("the next list waits too long")
				}
				w.end(append(working[1:], waiting...)...)
			})
		})
	}
}

// Waiting requests get places in order of arrival, one for each that is answered.
func TestRequestsGetPlacesInOrder(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		working, waiting := w.flood(app(1), admission.List, 12)
		for i, v := range waiting {
			working[i].ticket.Answered(0)
			synctest.Wait()
			if !v.entered() {
				w.Fatalf("request %d gets no place", i)
			}
			if i+1 < len(waiting) && waiting[i+1].entered() {
				w.Fatalf("request %d gets a place too early", i+1)
			}
			working = append(working, v)
		}
		w.end(working...)
	})
}

func TestTheWaitIsBounded(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		working, waiting := w.flood(app(1), admission.List, 12)
		time.Sleep(5*time.Second - time.Millisecond)
		if waiting[0].entered() {
			w.Fatal("refused early")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		for _, v := range waiting {
			if err := v.failure(); rewards.CodeOf(err) != rewards.CodeUnavailable || !errors.Is(err, admission.ErrAppBusy) {
				w.Errorf("after five seconds: %+v", v)
			}
		}
		ctx, leave := context.WithCancel(w.Context())
		gone := w.enter(ctx, app(1), admission.List)
		leave()
		synctest.Wait()
		if !errors.Is(gone.failure(), context.Canceled) {
			w.Errorf("a client that left: %+v", gone)
		}
		w.end(working...)
		w.pass(app(1), admission.List, "a request that gave up still has a place")
	})
}

// Clients that do not read their responses block only reads of their own app.
func TestUnreadBytesAreBounded(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		const answer, most = 3_300_000, 32 << 20
		var unread []*visit
		total := 0
		for a := byte(1); a <= 20; a++ {
			for range 50 {
				v := w.enter(w.Context(), app(a), admission.List)
				if !v.entered() {
					break
				}
				v.ticket.Answered(answer)
				unread, total = append(unread, v), total+answer
			}
			if a == 1 && (total > most/2+answer || total < most/4) {
				w.Errorf("one app has %d unread bytes", total)
			}
		}
		if total > most+20*answer {
			w.Errorf("20 apps have %d unread bytes", total)
		}
		for _, kind := range []admission.Kind{admission.Lookup, admission.List} {
			w.pass(app(99), kind, "an app without unread responses has to wait")
		}
		w.pass(app(1), admission.Write, "unread responses block writes")
		waits := w.enter(w.Context(), app(1), admission.Lookup)
		if waits.entered() {
			w.Error("an app with unread responses gets a place for a read")
		}
		w.end(unread...)
		w.end(waits)
	})
}

// An app may have only as many waiting requests as it leaves free for others.
func TestParkedRequestsAreBounded(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		flood := app(1)
		flood.Limits.Concurrent = rewards.MaxConcurrent
		ctx, stop := context.WithCancel(w.Context())
		defer synctest.Wait()
		defer stop()
		park := func(a rewards.App, count int) (refused int) {
			var list []*visit
			for range count {
				list = append(list, w.send(ctx, a, admission.List))
			}
			synctest.Wait()
			for _, v := range list {
				if err := v.failure(); err != nil {
					if !errors.Is(err, admission.ErrAppBusy) {
						w.Errorf("refused for another reason: %v", err)
					}
					refused++
				}
			}
			return refused
		}
		if refused := park(flood, 6000); refused < 1500 || refused > 2000 {
			w.Errorf("%d of 6000 are refused, want all beyond half of the limit", refused)
		}
		if refused := park(app(2), 100); refused != 0 {
			w.Errorf("%d of another app's requests are refused", refused)
		}
	})
}
