package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// broken is an engine whose reads panic once it is open.
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

func TestAPanicFailsAReadNotTheProcess(t *testing.T) {
	t.Parallel()
	e := &broken{slow: newSlow(10 * time.Millisecond)}
	s, err := store.New(t.Context(), e, time.Now, zeros{})
	if err != nil {
		t.Fatal(err)
	}
	e.opened = true
	for range 2 { // the reader goes on
		if _, err := s.Holdings(t.Context(), rewards.AppID{1}, rewards.UserID{2}); err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("got %v, want the panic", err)
		}
	}
}

// held is an engine whose reads wait, once letGo is set, until it is closed or their context ends.
type held struct {
	*slow

	letGo chan struct{}
}

func (e *held) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	if e.letGo == nil {
		return e.slow.Read(ctx, f)
	}
	select {
	case <-e.letGo:
		return e.slow.Read(ctx, f)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A shared read goes on when one of its requests ends, even the one that started it.
func TestTheEndOfARequestDoesNotEndTheReadingOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &held{slow: newSlow(10 * time.Millisecond)}
		s, err := store.New(t.Context(), e, time.Now, zeros{})
		if err != nil {
			t.Fatal(err)
		}
		e.letGo = make(chan struct{})
		read := func(ctx context.Context) chan error {
			ended := make(chan error, 1)
			go func() {
				_, err := s.Holdings(ctx, rewards.AppID{1}, rewards.UserID{2})
				ended <- err
			}()
			synctest.Wait()
			return ended
		}
		gone, leave := context.WithCancel(t.Context())
		reads := read(gone)                            // it reads alone
		first, second := read(gone), read(t.Context()) // the next round
		third := read(gone)
		leave()
		if err := <-third; !errors.Is(err, context.Canceled) {
			t.Errorf("a request that ended got %v", err)
		}
		close(e.letGo)
		for _, ended := range []chan error{reads, first, second} {
			if err := <-ended; rewards.CodeOf(err) != rewards.CodeNotFound {
				t.Errorf("got %v, want an answer: there is no such user", err)
			}
		}
	})
}
