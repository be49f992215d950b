package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// broken is an engine whose readings panic once it is opened.
type broken struct {
	*slow
	opened bool
}

func (e *broken) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	if e.opened {
		panic("boom")
	}
	return e.slow.Read(ctx, f)
}

func TestAPanicFailsAReadingAndNotTheProcess(t *testing.T) {
	t.Parallel()
	e := &broken{slow: newSlow()}
	s, err := store.New(t.Context(), e, time.Now, zeros{})
	if err != nil {
		t.Fatal(err)
	}
	e.opened = true
	for range 2 { // the next round is read as well
		if _, err := s.Holdings(t.Context(), rewards.AppID{1}, rewards.UserID{2}); err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("got %v, want the panic", err)
		}
	}
}
