package storetest

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

// pausing is an engine that counts a statement of its reads, and whose next read pauses after it.
type pausing struct {
	store.Engine

	after     string // a part of the statement
	seen      atomic.Int64
	armed     atomic.Bool
	reached   chan struct{} // closed when the read has paused
	continues chan struct{} // closed to let it go on
}

// Read implements store.Engine.
func (p *pausing) Read(ctx context.Context, f func(context.Context, store.Tx) error) error {
	return p.Engine.Read(ctx, func(ctx context.Context, tx store.Tx) error {
		switch tx := tx.(type) {
		case networkTx:
			return f(ctx, pausingNetworkTx{tx, p})
		case store.ColumnTx:
			return f(ctx, pausingColumnTx{tx, p})
		default:
			return f(ctx, pausingTx{tx, p})
		}
	})
}

func (p *pausing) pause(query string) {
	if !strings.Contains(query, p.after) {
		return
	}
	p.seen.Add(1)
	if p.armed.CompareAndSwap(true, false) {
		close(p.reached)
		<-p.continues
	}
}

type pausingTx struct {
	store.Tx

	p *pausing
}

// Query implements store.Tx.
func (t pausingTx) Query(ctx context.Context, each func(store.Row) error, query string, args ...any) error {
	defer t.p.pause(query)
	return t.Tx.Query(ctx, each, query, args...)
}

type pausingColumnTx struct {
	store.ColumnTx

	p *pausing
}

// Query implements store.Tx.
func (t pausingColumnTx) Query(ctx context.Context, each func(store.Row) error, query string, args ...any) error {
	defer t.p.pause(query)
	return t.ColumnTx.Query(ctx, each, query, args...)
}

type networkTx interface {
	store.ColumnTx
	store.NetworkTx
}

type pausingNetworkTx struct {
	networkTx

	p *pausing
}

// Query implements store.Tx.
func (t pausingNetworkTx) Query(ctx context.Context, each func(store.Row) error, query string, args ...any) error {
	defer t.p.pause(query)
	return t.networkTx.Query(ctx, each, query, args...)
}

// LotsOfAnOlderSnapshot checks that a reader that began before lots were sealed finds them, also when others have read
// since and have fewer orders in memory. The engine reads and writes at the same time.
func LotsOfAnOlderSnapshot(t *testing.T, engine store.Engine) {
	t.Helper()
	w := NewWorld(t, engine)
	b := &bookings{World: w, want: make(map[rewards.UserID][]rewards.UserActivity)}
	for i := range 10 {
		w.Advance(time.Second)
		b.buy(t, i%3)
	}
	p := &pausing{
		Engine: w.engine, after: "FROM past_allocations", reached: make(chan struct{}), continues: make(chan struct{}),
	}
	s, err := store.New(t.Context(), p, w.Now, rand.NewChaCha8([32]byte{77}))
	check(t, err)
	u := w.Users[0]
	activity := func() []rewards.UserActivity {
		list, err := s.Activity(t.Context(), u.AppID, u.ID, rewards.ActivityPage{Limit: 100})
		if err != nil {
			t.Error(err)
		}
		return list
	}
	want := activity()
	p.armed.Store(true)
	older := make(chan []rewards.UserActivity, 1)
	go func() { older <- activity() }()
	<-p.reached
	w.sealAll(t)
	wantEqual(t, "after they were sealed", want, activity())
	close(p.continues)
	wantEqual(t, "of the snapshot before", want, <-older)
}
