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

// The bodies of all apps have 32 MiB in memory. Who comes when these are full waits for somebody's answer, for five seconds
// at most. Small bodies never wait. One app has a quarter.
func TestBodies(t *testing.T) {
	t.Parallel()
	run(t, func(w *world) {
		const batch = 4 << 20
		var held []*visit
		hold := func(number byte, bytes int64) error {
			v := w.enter(w.Context(), app(number), admission.Batch)
			held = append(held, v)
			return v.ticket.Hold(w.Context(), bytes)
		}
		for n := range byte(8) {
			if err := hold(n, batch); err != nil {
				w.Fatalf("batch %d: %v", n, err)
			}
		}
		began := time.Now()
		err := hold(8, 16<<10+1)
		if rewards.CodeOf(err) != rewards.CodeUnavailable || time.Since(began) != 5*time.Second ||
			errors.Is(err, admission.ErrAppBusy) {
			w.Errorf("one more, after %s: %v", time.Since(began), err)
		}
		if err := hold(9, 16<<10); err != nil {
			w.Errorf("a small one: %v", err)
		}
		got := make(chan error)
		last := w.enter(w.Context(), app(10), admission.Batch)
		go func() { got <- last.ticket.Hold(context.WithoutCancel(w.Context()), batch) }()
		synctest.Wait()
		held[3].ticket.Answered(100)
		if err := <-got; err != nil {
			w.Errorf("after an answer: %v", err)
		}
		for _, v := range append(held, last) {
			v.ticket.Leave()
		}
		held = nil
		for n := range 3 { // one app alone: its third one waits, and nobody else does
			v := w.enter(w.Context(), app(11), admission.Write)
			held = append(held, v)
			if err := v.ticket.Hold(w.Context(), batch); (n == 2) != errors.Is(err, admission.ErrAppBusy) {
				w.Errorf("body %d of an app: %v", n, err)
			}
		}
		began = time.Now()
		for n := range byte(6) {
			if err := hold(12+n, batch); err != nil || time.Since(began) > 0 {
				w.Errorf("beside an app with many: %v after %s", err, time.Since(began))
			}
		}
		for _, v := range held {
			v.ticket.Leave()
		}
	})
}
