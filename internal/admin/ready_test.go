package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"stockrewards/internal/rewards"
)

type readiness struct {
	Status   string
	Reason   struct{ Code, Message string }
	Warnings []struct{ Code, Message string }
}

func (w *world) ready(t *testing.T, want int) readiness {
	t.Helper()
	status, body := w.get(t, "/readyz")
	var r readiness
	if err := json.Unmarshal([]byte(body), &r); err != nil || status != want {
		t.Fatalf("%d %s, want %d", status, body, want)
	}
	return r
}

// Readiness follows whether rewards can be recorded, in both directions.
func TestReadyWhileRewardsCanBeRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		if r := w.ready(t, 200); r.Status != "ready" || len(r.Warnings) != 0 {
			t.Errorf("%+v", r)
		}
		w.locked = 2
		if r := w.ready(t, 200); len(r.Warnings) != 1 || r.Warnings[0].Code != "webhook_key_missing" {
			t.Errorf("%+v", r)
		}
		w.locked, w.damaged = 0, []string{"the filter of the segments 3 to 3 was damaged"}
		if r := w.ready(t, 200); len(r.Warnings) != 1 || r.Warnings[0].Code != "filters_damaged" {
			t.Errorf("%+v", r)
		}
		w.damaged, w.leaders = nil, 5
		if r := w.ready(t, 200); len(r.Warnings) != 0 {
			t.Errorf("%+v", r)
		}
		w.leaders = 6
		if r := w.ready(t, 200); len(r.Warnings) != 1 || r.Warnings[0].Code != "leader_changes" {
			t.Errorf("%+v", r)
		}
		w.unwrite = rewards.Unavailable("the disk is full", errors.New("secret cause"))
		time.Sleep(1100 * time.Millisecond)
		r := w.ready(t, 503)
		if r.Status != "notReady" || r.Reason.Code != "books_not_writable" || r.Reason.Message != "the disk is full" {
			t.Errorf("%+v", r)
		}
		w.unwrite = nil
		time.Sleep(1100 * time.Millisecond)
		w.ready(t, 200)
		w.admin.Drain()
		if r := w.ready(t, 503); r.Reason.Code != "draining" {
			t.Errorf("%+v", r)
		}
	})
}

// What holds the database back is a warning and a metric, and is looked for once a minute at most.
func TestHeldBackIsAWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, c := range []struct{ heldBack, metric string }{
			{"", "stockrewards_space_held_back 0\n"},
			{"process 7 (user ann)", "stockrewards_space_held_back 1\n"},
			{"", "stockrewards_space_held_back 0\n"},
		} {
			w.heldBack = c.heldBack
			time.Sleep(61 * time.Second)
			for range 3 {
				found := w.ready(t, 200).Warnings
				if (len(found) == 1) != (c.heldBack != "") ||
					len(found) == 1 && (found[0].Code != "space_held_back" || found[0].Message != c.heldBack) {
					t.Errorf("held back by %q: %+v", c.heldBack, found)
				}
				if _, body := w.get(t, "/metrics"); !strings.Contains(body, c.metric) {
					t.Errorf("held back by %q: the metrics lack %q", c.heldBack, c.metric)
				}
				time.Sleep(time.Second)
			}
		}
		if w.looks != 3 {
			t.Errorf("%d looks in three minutes", w.looks)
		}
	})
}

// What is wrong with the server is a warning also while it is unknown what holds the database back, which then has no
// metric.
func TestWarningsOfTheServer(t *testing.T) {
	t.Parallel()
	w := newWorldOver(t, weakServer{})
	w.unknown = errors.New("permission denied for view pg_prepared_xacts")
	found := w.ready(t, 200).Warnings
	if len(found) != 2 || found[0].Code != "weak_commits" || found[1].Code != "transaction_ids_low" {
		t.Errorf("%+v", found)
	}
	_, body := w.get(t, "/metrics")
	if strings.Contains(body, "space_held_back") {
		t.Error("the metrics say what is unknown")
	}
	for _, code := range []string{"weak_commits", "transaction_ids_low"} {
		if metric := fmt.Sprintf("stockrewards_warnings{code=%q} 1\n", code); !strings.Contains(body, metric) {
			t.Errorf("the metrics lack %q", metric)
		}
	}
}

// A disk that does not answer makes the process not ready after two seconds.
func TestNotReadyWhileTheDiskHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hang = make(chan struct{})
		began := time.Now()
		if r := w.ready(t, 503); r.Reason.Code != "books_slow" || r.Warnings[0].Code != "books_not_readable" {
			t.Errorf("%+v", r)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %s", took)
		}
		time.Sleep(2500 * time.Millisecond) // the try has ended
		if r := w.ready(t, 503); r.Reason.Code != "books_slow" {
			t.Errorf("after the try has ended: %+v", r)
		}
		close(w.hang)
		w.mu.Lock()
		w.hang = nil
		w.mu.Unlock()
		time.Sleep(1100 * time.Millisecond)
		w.ready(t, 200)
	})
}

// While reads hang, a process that records is ready, answers quickly, and warns of what it read last.
func TestReadyWhileReadsHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.overview.Control.Paused = "for a test"
		w.ready(t, 200)
		w.hang, w.writable = make(chan struct{}), true
		time.Sleep(1100 * time.Millisecond)
		for range 10 {
			began := time.Now()
			r := w.ready(t, 200)
			if len(r.Warnings) != 2 || r.Warnings[0].Code != "books_not_readable" || r.Warnings[1].Code != "ordering_paused" {
				t.Errorf("%+v", r)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %s", took)
			}
			time.Sleep(4 * time.Second)
		}
		close(w.hang)
	})
}

// A flood of requests reads the store once a second.
func TestFloodIsCached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for range 3 {
			var group sync.WaitGroup
			for range 50 {
				group.Go(func() { w.get(t, "/readyz") })
				group.Go(func() { w.get(t, "/metrics") })
			}
			group.Wait()
			time.Sleep(1100 * time.Millisecond)
		}
		if w.reads != 3 || w.writes != 3 {
			t.Errorf("%d reads and %d writes, want 3", w.reads, w.writes)
		}
	})
}

// A caller that disconnects does not cancel the fetch for the others.
func TestFetchOutlivesItsFirstCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.hang = make(chan struct{})
		ctx, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { w.request(t, ctx, "/readyz") })
		synctest.Wait()
		var status int
		group.Go(func() { status, _ = w.get(t, "/readyz") })
		synctest.Wait()
		leave()
		synctest.Wait()
		close(w.hang)
		group.Wait()
		if status != 200 {
			t.Errorf("answered %d", status)
		}
	})
}

func TestWarningsAreBoundedAndClean(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.unusable = 2
	w.overview = rewards.Overview{
		Live:    map[rewards.OrderState]int{rewards.OrderQuarantined: 1},
		Control: rewards.Control{Paused: "checking \x1b[31mprices", Conflicts: 3},
		Alarms: []rewards.Alarm{
			{Name: "ordering_paused", Message: "reported once"},
			{Name: "price_in_doubt:KO", Message: strings.Repeat("ä", 1000)},
			{Name: "broker_orders_unknown", Message: "no answer"},
			{Name: "Strange: 7", Message: "unknown"},
		},
	}
	r := w.ready(t, 200)
	var codes []string
	for _, warning := range r.Warnings {
		codes = append(codes, warning.Code)
		if len(warning.Message) > 300 || strings.ContainsAny(warning.Message, "\x1b\n\ufffd") {
			t.Errorf("%q", warning.Message)
		}
	}
	want := []string{
		"ordering_paused", "broker_conflict", "orders_quarantined", "prices_not_usable", "price_in_doubt",
		"broker_orders_unknown", "Strange",
	}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := r.Warnings[5].Message; got != "no answer" {
		t.Errorf("a warning of one alarm says %q", got)
	}
	if _, body := w.get(t, "/metrics"); !strings.Contains(body, `stockrewards_warnings{code="other"} 1`) {
		t.Error("an unknown code is a label")
	}
	many := newWorld(t)
	for range 1000 {
		many.overview.Alarms = append(many.overview.Alarms, rewards.Alarm{Name: "order_waits:x"})
	}
	if n := len(many.ready(t, 200).Warnings); n != 50 {
		t.Errorf("%d warnings", n)
	}
}

// Only a stuck loop is a reason for a restart.
func TestLivez(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.unwrite, w.unread = errors.New("disk"), errors.New("disk")
	w.worker, w.intake = time.Minute, time.Minute // a broker that hangs, a slow disk
	if status, body := w.get(t, "/livez"); status != 200 || body != "ok\n" {
		t.Errorf("%d %s", status, body)
	}
	w.worker = 6 * time.Minute
	if status, body := w.get(t, "/livez"); status != 503 || !strings.Contains(body, "fulfillment has not moved for 6m0s") {
		t.Errorf("%d %s", status, body)
	}
	w.worker, w.intake = 0, 6*time.Minute
	if status, body := w.get(t, "/livez"); status != 503 || !strings.Contains(body, "the intake") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := w.get(t, "/"); status != 200 || !strings.Contains(body, `href="/metrics"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := w.get(t, "/debug/pprof/"); status != 404 {
		t.Errorf("%d", status)
	}
}
