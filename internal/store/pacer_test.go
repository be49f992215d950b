package store_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// slow is an engine without rows, whose writes take time and exclude each other.
type slow struct {
	turn   chan struct{}
	took   time.Duration // by a write that is not for clients
	others time.Duration // spent in such writes
}

func newSlow(took time.Duration) *slow { return &slow{turn: make(chan struct{}, 1), took: took} }

func (e *slow) run(ctx context.Context, took time.Duration, f func(context.Context, store.Tx) error) error {
	e.turn <- struct{}{}
	defer func() { <-e.turn }()
	err := f(ctx, none{})
	time.Sleep(took)
	return err
}

func (e *slow) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return f(ctx, none{})
}

func (e *slow) Write(ctx context.Context, f func(context.Context, store.Tx) error) error {
	e.others += e.took
	return e.run(ctx, e.took, f)
}

func (e *slow) WriteForClients(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.run(ctx, time.Millisecond, f)
}

func (e *slow) WriteBooks(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return e.WriteForClients(ctx, f)
}

func (e *slow) Durable(context.Context) error            { return nil }
func (e *slow) Backup(context.Context, string) error     { return nil }
func (e *slow) HeldBack(context.Context) (string, error) { return "", nil }
func (e *slow) Failed() <-chan error                     { return nil }
func (e *slow) Close() error                             { return nil }

// none is a transaction on empty tables.
type none struct{}

func (none) Exec(context.Context, string, ...any) (int64, error)                { return 1, nil }
func (none) ExecEach(context.Context, string, [][]any) (int64, error)           { return 0, nil }
func (none) Query(context.Context, func(store.Row) error, string, ...any) error { return nil }

// load is what clients of a test send.
type load struct {
	requests int           // at once; 0: none
	every    time.Duration // between two writes' beginnings; 0: a millisecond after each answer
}

// send records until ctx ends. A client with an own rate sends later what could not be sent while the writer
// was busy, all at once.
func (l load) send(ctx context.Context, t *testing.T, s *store.Store) {
	t.Helper()
	sent := time.Now()
	for l.requests > 0 && ctx.Err() == nil {
		n := l.requests
		if l.every > 0 {
			late := time.Since(sent).Truncate(l.every)
			sent = sent.Add(late)
			n *= int(late / l.every)
		}
		if n > 0 {
			if _, err := s.RecordRewards(t.Context(), make([]rewards.NewReward, n)); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(max(time.Millisecond, l.every))
	}
}

// othersShare is the share of ten seconds that other writers use beside loads, one after the other, when the last
// order had that many members.
func othersShare(t *testing.T, e *slow, loads []load, planned int) float64 {
	t.Helper()
	s, err := store.New(t.Context(), e, time.Now, zeros{})
	if err != nil {
		t.Fatal(err)
	}
	s.Planned(planned)
	const first, later, measured = 20 * time.Second, 70 * time.Second, 10 * time.Second
	whole := first + time.Duration(len(loads)-1)*later
	ctx, stop := context.WithTimeout(t.Context(), whole)
	defer stop()
	var clients sync.WaitGroup
	clients.Go(func() {
		lasts := first
		for _, l := range loads {
			within, end := context.WithTimeout(ctx, lasts)
			l.send(within, t, s)
			end()
			lasts = later
		}
	})
	began := time.Now()
	for ctx.Err() == nil {
		if time.Since(began) < whole-measured { // until the pacer knows the load
			e.others = 0
		}
		if err := s.RaiseAlarm(ctx, "tested", "nothing is wrong"); err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
	}
	clients.Wait()
	return e.others.Seconds() / measured.Seconds()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// Others write little beside clients who wait for answers, and much beside those who come at their own rate, if
// fulfillment is behind, whatever came before.
func TestOthersPauseWhileClientsWrite(t *testing.T) {
	t.Parallel()
	const brief, long, longest = 10 * time.Millisecond, 120 * time.Millisecond, 300 * time.Millisecond
	crowd, one := load{requests: 64}, load{requests: 1}
	stream, torrent := load{4, 2 * time.Millisecond}, load{40, 5 * time.Millisecond}
	for name, c := range map[string]struct {
		loads       []load
		took        time.Duration // by a write of others
		planned     int           // members of the last order
		least, most float64
	}{
		"a crowd":                              {[]load{crowd}, brief, 10, 0.04, 0.08},
		"a crowd, and behind":                  {[]load{crowd}, brief, 1000, 0.05, 0.11},
		"a crowd, behind, long writes":         {[]load{crowd}, long, 1000, 0.05, 0.2},
		"a crowd, behind, longest writes":      {[]load{crowd}, longest, 1000, 0.1, 0.35}, // a pause ends after a second
		"one request":                          {[]load{one}, brief, 10, 0.08, 0.15},
		"one request, and behind":              {[]load{one}, brief, 1000, 0.08, 0.17},
		"a steady stream":                      {[]load{stream}, brief, 10, 0.08, 0.15},
		"a steady stream, and behind":          {[]load{stream}, brief, 1000, 0.8, 0.95},
		"a steady stream, behind, long writes": {[]load{stream}, long, 1000, 0.7, 0.95},
		"a steady torrent, and behind":         {[]load{torrent}, brief, 1000, 0.8, 0.95},
		"a crowd after a stream":               {[]load{stream, crowd}, brief, 1000, 0.03, 0.11},
		"a crowd after a stream, long writes":  {[]load{stream, crowd}, long, 1000, 0.05, 0.2},
		"a stream after a crowd":               {[]load{crowd, stream}, brief, 1000, 0.8, 0.95},
		"a stream after a crowd, long writes":  {[]load{crowd, stream}, long, 1000, 0.7, 0.95},
		"no clients":                           {[]load{{}}, brief, 10, 0.95, 1.02}, // the last write ends later
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				share := othersShare(t, newSlow(c.took), c.loads, c.planned)
				if share < c.least || share > c.most {
					t.Errorf("others write in %.2f of the time, want %.2f to %.2f", share, c.least, c.most)
				}
			})
		})
	}
}

// The disk pauses when others write in full, and then a steady stream catches up. That is no reason to hold them back.
func TestPausesOfTheDiskHoldNobodyBack(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, every := range []time.Duration{200 * ms, time.Second, 1700 * ms} {
		for _, pause := range []time.Duration{35 * ms, 50 * ms, 120 * ms, 200 * ms} {
			if share := store.FullShare(every, pause); share < 0.85 {
				t.Errorf("pauses of %s every %s: others write in full in %.2f of the time", pause, every, share)
			}
		}
	}
}

// An order for a crowd has as many members as are booked in 9 milliseconds, from 100 to 250, or to 1,000 when the
// clients do not wait for it.
func TestAnOrderForACrowdIsBookedBriefly(t *testing.T) {
	t.Parallel()
	const crowd, one, many = 64, 1, 50
	for name, c := range map[string]struct {
		requests, bookings int
		each               time.Duration
		steady             bool
		want               int
	}{
		"before a booking":             {crowd, 0, 0, false, 250},
		"before a booking, steady":     {crowd, 0, 0, true, 250},
		"a small store":                {crowd, 1, 20 * time.Microsecond, false, 250},
		"a small store, steady":        {crowd, 1, 20 * time.Microsecond, true, 450},
		"a small store, steady, quick": {crowd, 1, 5 * time.Microsecond, true, rewards.MaxMembers},
		"a large store":                {crowd, 1, 60 * time.Microsecond, false, 150},
		"a slow disk":                  {crowd, 1, time.Millisecond, true, 100},
		"a large store, and nobody":    {one, many, 80 * time.Microsecond, false, rewards.MaxMembers},
	} {
		if got := store.MemberLimit(c.requests, c.bookings, c.each, c.steady); got != c.want {
			t.Errorf("%s: %d members, want %d", name, got, c.want)
		}
	}
}
