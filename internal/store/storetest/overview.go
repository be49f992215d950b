package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

func testOverview(t *testing.T, w *World) {
	wantEqual(t, "an empty store", rewards.Overview{Live: map[rewards.OrderState]int{}}, read(t, w.Overview))
	w.Give(t, 2_000_000)
	w.Give(t, 3_004_000)
	open := w.Open(t)
	w.Advance(time.Minute)
	first := w.Give(t, 1_000_000)
	w.Advance(time.Minute)
	w.Give(t, 2_000_000)
	check(t, w.SetPaused(t.Context(), "lunch"))
	check(t, w.RaiseAlarm(t.Context(), "a", "x"))
	want := rewards.Overview{
		Waiting: 2, OldestWaiting: first.CreatedAt(), Ordered: 2,
		Live:          map[rewards.OrderState]int{rewards.OrderOpen: 1},
		NotionalToday: open.Notional, HouseToday: 0, // rounding up to the cent does not count
		Control: rewards.Control{Paused: "lunch"},
		Alarms:  []rewards.Alarm{{Name: "a", Message: "x", Since: w.Now()}},
	}
	wantEqual(t, "with rewards and an order", want, read(t, w.Overview))
	w.Advance(24 * time.Hour)
	check(t, failure(w.SetSuspended(t.Context(), w.App.Name, true)))
	want.NotionalToday, want.OldestWaiting = 0, time.Time{}
	wantEqual(t, "the next day, with the app suspended", want, read(t, w.Overview))
	check(t, w.Settle(t, open, "filled", 20_000_000, 250_000_000_000))
	if v := read(t, w.Overview); v.Ordered != 0 || len(v.Live) != 0 || v.Waiting != 2 {
		t.Errorf("after the order: %+v", v)
	}
}

// counted counts writes, and fails them with fault if that is not nil.
type counted struct {
	store.Engine
	writes int
	fault  error
	unread error              // of reads
	hang   chan chan struct{} // the next write for clients waits until the element is closed
}

// Read implements store.Engine.
func (e *counted) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	if e.unread != nil {
		return e.unread
	}
	return e.Engine.Read(ctx, f)
}

// Write implements store.Engine.
func (e *counted) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	e.writes++
	if e.fault != nil {
		return e.fault
	}
	return e.Engine.Write(ctx, f)
}

// WriteBooks implements store.Engine.
func (e *counted) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.Write(ctx, f)
}

// WriteForClients implements store.Engine.
func (e *counted) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	select {
	case released := <-e.hang:
		<-released
	default:
	}
	return e.Write(ctx, f)
}

// expect checks what CheckWrites reports, and how often it writes.
func (e *counted) expect(t *testing.T, s *store.Store, when string, writes int, code rewards.Code) {
	t.Helper()
	before := e.writes
	err := s.CheckWrites(t.Context())
	if ok := err == nil && code == 0 || err != nil && rewards.CodeOf(err) == code; !ok {
		t.Errorf("%s: %v, want code %d", when, err, code)
	}
	if e.writes-before != writes {
		t.Errorf("%s: %d writes, want %d", when, e.writes-before, writes)
	}
}

// hanging calls meanwhile during a write for clients that hangs, and returns the write's error.
func (e *counted) hanging(write func() error, meanwhile func()) error {
	released, done := make(chan struct{}), make(chan error)
	e.hang <- released
	go func() { done <- write() }()
	for len(e.hang) > 0 {
		runtime.Gosched()
	}
	meanwhile()
	close(released)
	return <-done
}

// testUnknownErrors checks that a trial follows a write for clients whose error the engine does not know.
func testUnknownErrors(t *testing.T, w *World) {
	e := &counted{Engine: w.engine, hang: make(chan chan struct{}, 1)}
	books, err := store.New(t.Context(), e, w.Now, rand.NewChaCha8([32]byte{2}))
	check(t, err)
	e.expect(t, books, "before the first write", 1, 0)
	e.fault = errors.New("unknown to the engine")
	_, err = books.RecordRewards(t.Context(), []rewards.NewReward{w.Request(t, 1_000_000)})
	wantCode(t, err, rewards.CodeInternal)
	e.expect(t, books, "a reward met an unknown error, and so does the trial", 1, rewards.CodeInternal)
	e.fault = nil
	check(t, books.As(w.By()).SetPaused(t.Context(), ""))
	e.expect(t, books, "the trial alone shows that it is over", 1, 0)
	e.expect(t, books, "right after the trial", 0, 0)
}

func testCheckWrites(t *testing.T, w *World) {
	e := &counted{Engine: w.engine, hang: make(chan chan struct{}, 1)}
	books, err := store.New(t.Context(), e, w.Now, rand.NewChaCha8([32]byte{2}))
	check(t, err)
	s := books.As(w.By())
	expect := func(when string, writes int, code rewards.Code) {
		t.Helper()
		e.expect(t, books, when, writes, code)
	}
	expect("before the first write", 1, 0)
	expect("right after a write", 0, 0)
	w.Advance(19 * time.Second)
	check(t, s.SetPaused(t.Context(), ""))
	w.Advance(19 * time.Second)
	expect("another write was committed 19 s ago", 0, 0)
	w.Advance(2 * time.Second)
	expect("the last write was 21 s ago", 1, 0)
	wantCode(t, s.AcknowledgeConflict(t.Context(), "none", "why"), rewards.CodeNotFound)
	expect("a request was refused", 0, 0)
	e.fault = rewards.Unavailable("the disk is full", nil)
	wantCode(t, s.SetPaused(t.Context(), ""), rewards.CodeUnavailable)
	expect("the disk is full", 1, rewards.CodeUnavailable)
	e.fault = nil
	w.Advance(2 * time.Second)
	expect("the disk has space again", 1, 0)
	expect("right after that write", 0, 0)
	give := func() error {
		_, err := s.RecordRewards(t.Context(), []rewards.NewReward{w.Request(t, 1_000_000)})
		return errors.Join(err, s.Durable(t.Context())) // which succeeds
	}
	e.fault = rewards.Unavailable("no room for a reward", nil)
	wantCode(t, give(), rewards.CodeUnavailable)
	e.fault = nil
	check(t, s.SetPaused(t.Context(), "")) // there is room for that
	expect("a reward had no room", 0, rewards.CodeUnavailable)
	w.Advance(time.Second)
	expect("1 s ago a reward had no room", 0, rewards.CodeUnavailable)
	w.Advance(time.Second)
	expect("2 s ago a reward had no room", 1, 0)
	check(t, give())
	expect("a reward was recorded", 0, 0)
	check(t, e.hanging(give, func() {
		w.Advance(5 * time.Second)
		expect("a reward is under way for 5 s", 0, 0)
		w.Advance(time.Second)
		expect("a reward is under way for 6 s", 1, 0)
	}))
	expect("it was recorded", 0, 0)
	w.Advance(time.Second)
	e.unread = rewards.Unavailable("no connection", nil)
	wantCode(t, failure(s.Alarms(t.Context())), rewards.CodeUnavailable)
	e.unread, e.fault = nil, rewards.Unavailable("no connection", nil)
	expect("a read failed since", 1, rewards.CodeUnavailable)
	e.fault = nil
	expect("the database is back, which nobody has tried", 0, rewards.CodeUnavailable)
	w.Advance(2 * time.Second)
	expect("the database is back", 1, 0)
	byKey := func() error {
		_, _, err := s.AppByKey(t.Context(), rewards.KeyHash{1})
		return err
	}
	e.unread = rewards.Unavailable("keys are locked", nil)
	wantCode(t, byKey(), rewards.CodeUnavailable)
	check(t, s.SetPaused(t.Context(), ""))
	expect("no key can be read", 0, rewards.CodeUnavailable)
	e.unread = nil
	expect("keys can be read again, and a write succeeded meanwhile", 0, 0)
}
