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

func TestRequestsPerSecond(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		limited := app(1)
		limited.Limits.RequestsPerSecond = 5
		count := func(a rewards.App, tries int) (through int) {
			for range tries {
				ticket, err := w.gate.Enter(w.Context(), a, admission.Lookup)
				if err == nil {
					through++
					ticket.Leave()
					continue
				}
				e, _ := errors.AsType[rewards.Exceeded](err)
				if rewards.CodeOf(err) != rewards.CodeTooMany || e.Limit != 5 || e.Wait <= 0 || e.Wait > 200*time.Millisecond {
					w.Errorf("refused with %v (%+v)", err, e)
				}
			}
			return through
		}
		for _, step := range []struct {
			app   rewards.App
			after time.Duration
			tries int
			want  int
		}{
			{limited, 0, 20, 5},
			{limited, time.Second, 20, 5},
			{limited, 200 * time.Millisecond, 20, 1},
			{app(2), 0, 1000, 1000},
			{app(1), 0, 1000, 1000}, // the limit was removed
			{limited, 0, 20, 5},
			{limited, time.Hour, 20, 5},
		} {
			time.Sleep(step.after)
			if got := count(step.app, step.tries); got != step.want {
				w.Errorf("%+v after %s: %d of %d are admitted, want %d", step.app.Limits, step.after, got, step.tries, step.want)
			}
		}
	})
}

// A batch counts as its items toward the rate. One beyond the largest burst needs all of it, and
// later requests wait for the rest.
func TestABatchIsChargedForItsItems(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		limited := app(1)
		limited.Limits.RequestsPerSecond = 10
		for i, step := range []struct {
			after time.Duration
			items int
			wait  time.Duration // 0: it is admitted
		}{
			{0, 4, 0},
			{0, 7, 200 * time.Millisecond}, // 5 are left, and the refused one counts as one
			{200 * time.Millisecond, 7, 0},
			{0, 1, 100 * time.Millisecond},
			{time.Hour, 25, 0}, // 15 more than the burst
			{0, 1, 1600 * time.Millisecond},
			{1600 * time.Millisecond, 1, 0},
			{time.Hour, 10, 0},
			{500 * time.Millisecond, 1000, 600 * time.Millisecond},
			{time.Second, 1000, 0},
		} {
			time.Sleep(step.after)
			ticket, err := w.gate.Enter(w.Context(), limited, admission.Batch)
			if err == nil {
				err = ticket.Charge(step.items)
			}
			e, _ := errors.AsType[rewards.Exceeded](err)
			if e.Wait.Round(time.Millisecond) != step.wait || (err != nil) != (step.wait > 0) {
				w.Errorf("step %d: %d items: wait %s, %v; want %s", i, step.items, e.Wait, err, step.wait)
			}
			ticket.Leave()
		}
		ticket, err := w.gate.Enter(w.Context(), app(2), admission.Batch)
		if err != nil || ticket.Charge(1000) != nil {
			w.Error("an app without a limit is refused")
		}
		ticket.Leave()
		var none admission.Ticket
		if err := none.Charge(1000); err != nil {
			w.Errorf("the zero ticket: %v", err)
		}
	})
}

// One batch of an app is decoded while another is committed; beside other apps it is one at once.
func TestBatchesAtOnce(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		working, waiting := w.flood(app(1), admission.Batch, 5)
		if len(working) != 2 {
			w.Errorf("%d batches of an app alone have a place, want 2", len(working))
		}
		for _, kind := range []admission.Kind{admission.Write, admission.Lookup, admission.List} {
			w.pass(app(1), kind, "batches delay the app's other requests")
		}
		w.pass(app(2), admission.Batch, "an app's batches delay another app's")
		w.end(append(working, waiting...)...)
		working, waiting = w.flood(app(1), admission.Batch, 5)
		if len(working) != 1 {
			w.Errorf("%d batches of an app beside another have a place, want 1", len(working))
		}
		w.end(append(working, waiting...)...)
	})
}

// An app's changes, each a separate transaction, come one by one beside another app, whose write waits for one of them at
// most.
func TestChangesOneByOne(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		for _, places := range []int{4, 1} { // alone, and beside another app
			working, waiting := w.flood(app(1), admission.Change, 6)
			if len(working) != places {
				w.Errorf("%d changes of an app have a place, want %d", len(working), places)
			}
			for _, kind := range []admission.Kind{admission.Write, admission.Lookup, admission.List} {
				w.pass(app(1), kind, "changes delay the app's other requests")
			}
			w.pass(app(2), admission.Change, "an app's changes delay another app's")
			w.end(append(working, waiting...)...)
		}
	})
}

// The limit of concurrent requests includes waiting requests and unread responses.
func TestRequestsAtOnce(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		for concurrent, want := range map[int]int{3: 3, 0: rewards.DefaultConcurrent} {
			a := app(byte(1 + concurrent))
			a.Limits.Concurrent = concurrent
			ctx, stop := context.WithCancel(w.Context())
			for range want {
				w.enter(ctx, a, admission.List)
			}
			v := w.enter(ctx, a, admission.Write)
			e, _ := errors.AsType[rewards.Exceeded](v.failure())
			if rewards.CodeOf(v.failure()) != rewards.CodeTooMany || e.Limit != want {
				w.Errorf("one beyond %d: %v", want, v.failure())
			}
			stop()
			synctest.Wait()
		}
		a := app(9)
		a.Limits.Concurrent = 1
		v := w.enter(w.Context(), a, admission.Lookup)
		v.ticket.Answered(100)
		if second := w.enter(w.Context(), a, admission.Lookup); second.failure() == nil {
			w.Error("an unread response does not count")
		}
		w.end(v)
		w.end(w.enter(w.Context(), a, admission.Lookup))
	})
}
