package store

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stockrewards/internal/rewards"
)

// watched is an engine that remembers the outcome of the last write and gives client writes
// priority.
type watched struct {
	Engine
	now      func() time.Time
	pacer    *pacer
	patience *patience

	waiting atomic.Int32 // writes for clients that a Write excludes

	mu        sync.Mutex
	written   time.Time // when the last write was committed
	failure   error     // of the last write; nil when it was committed
	refusal   error     // of the last write for clients; nil when it was committed
	refusedAt time.Time // when it failed
	doubted   bool      // whether it failed for a reason that may be that of its data
	unread    time.Time // when a read failed last because the database is unavailable
	underWay  int       // writes for clients, and waits until they are durable
	progress  time.Time // when the first of them began, or the last one ended
}

// begin notes that a write for clients is under way. The function that it returns ends that.
func (e *watched) begin() (end func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.underWay == 0 {
		e.progress = e.now()
	}
	e.underWay++
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.underWay--
		e.progress = e.now()
	}
}

// Read implements Engine.
func (e *watched) Read(ctx context.Context, f func(context.Context, Tx) error) error {
	return e.watchRead(ctx, e.Engine.Read(ctx, f))
}

// ReadOf is Read for what clients of one app read.
func (e *watched) ReadOf(ctx context.Context, app rewards.AppID, f func(context.Context, Tx) error) error {
	err := e.ReadEarly(ctx, f)
	return errors.Join(e.DurableOf(ctx, app), err)
}

// ReadShared is Read for what no award and no new user changes, such as keys and settings. No commit is of the zero
// app.
func (e *watched) ReadShared(ctx context.Context, f func(context.Context, Tx) error) error {
	return e.ReadOf(ctx, rewards.AppID{}, f)
}

// ReadEarly implements EarlyReader. On another engine it is Read.
func (e *watched) ReadEarly(ctx context.Context, f func(context.Context, Tx) error) error {
	if own, early := e.Engine.(EarlyReader); early {
		return e.watchRead(ctx, own.ReadEarly(ctx, f))
	}
	return e.Read(ctx, f)
}

// DurableOf implements EarlyReader. On another engine what ReadEarly read is durable.
func (e *watched) DurableOf(ctx context.Context, app rewards.AppID) error {
	if own, early := e.Engine.(EarlyReader); early {
		return e.watchRead(ctx, own.DurableOf(ctx, app))
	}
	return nil
}

// watchRead notes that a read failed because the database is unavailable.
func (e *watched) watchRead(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && rewards.CodeOf(err) == rewards.CodeUnavailable {
		e.mu.Lock()
		e.unread = e.now()
		e.mu.Unlock()
	}
	return err
}

// Write is the engine's Write, and waits until its commit is durable. What f only found is durable after WriteBooks.
func (e *watched) Write(ctx context.Context, f func(context.Context, Tx) error) error {
	return e.durably(ctx, e.paced(ctx, e.Engine.Write, f))
}

// WriteOrders writes orders that are planned and sent, at the same time as WriteBookings if the engine can. When a
// power failure undoes its commit, what follows from it must be undone too, or be done again: no client may have
// learned of it, and nothing may have been sent to the broker.
func (e *watched) WriteOrders(ctx context.Context, f func(context.Context, Tx) error) error {
	if own, concurrent := e.Engine.(ConcurrentWriter); concurrent {
		return e.paced(ctx, own.WriteOrders, f)
	}
	return e.paced(ctx, e.Engine.Write, f)
}

// WriteBookings writes orders that are booked, as WriteOrders does.
func (e *watched) WriteBookings(ctx context.Context, f func(context.Context, Tx) error) error {
	if own, concurrent := e.Engine.(ConcurrentWriter); concurrent {
		return e.paced(ctx, own.WriteBookings, f)
	}
	return e.paced(ctx, e.Engine.Write, f)
}

// paced writes when clients leave room for it.
func (e *watched) paced(
	ctx context.Context, write func(context.Context, func(context.Context, Tx) error) error,
	f func(context.Context, Tx) error,
) error {
	if err := e.pacer.wait(ctx); err != nil {
		return rewards.Unavailable("the database is busy", err)
	}
	began := time.Now()
	err := write(ctx, func(ctx context.Context, tx Tx) error {
		began = time.Now() // it may have waited for others
		return f(ctx, tx)
	})
	e.pacer.otherWrote(time.Since(began))
	return e.watch(err)
}

// WriteForClients implements Engine.
func (e *watched) WriteForClients(ctx context.Context, f func(context.Context, Tx) error) error {
	return e.forClients(func() error { return e.Engine.WriteForClients(ctx, f) })
}

// WriteOf implements EarlyReader. On another engine it is WriteForClients.
func (e *watched) WriteOf(ctx context.Context, apps []rewards.AppID, f func(context.Context, Tx) error) error {
	if own, early := e.Engine.(EarlyReader); early {
		return e.forClients(func() error { return own.WriteOf(ctx, apps, f) })
	}
	return e.WriteForClients(ctx, f)
}

func (e *watched) forClients(write func() error) error {
	if !e.pacer.concurrent {
		e.waiting.Add(1)
		defer e.waiting.Add(-1)
	}
	defer e.begin()()
	err := write()
	e.pacer.clientsWrote()
	return e.watchClients(err)
}

// WriteBooks is the engine's WriteBooks, and waits as Write does.
func (e *watched) WriteBooks(ctx context.Context, f func(context.Context, Tx) error) error {
	e.waiting.Add(1)
	defer e.waiting.Add(-1)
	err := e.Engine.WriteBooks(ctx, f)
	e.pacer.clientsWrote()
	return e.durably(ctx, e.watch(err))
}

// durably waits until what a transaction committed or may have seen is durable. err is the transaction's.
func (e *watched) durably(ctx context.Context, err error) error {
	if failed := e.Engine.Durable(context.WithoutCancel(ctx)); failed != nil {
		return e.watch(errors.Join(failed, err))
	}
	return err
}

// Durable implements Engine.
func (e *watched) Durable(ctx context.Context) error {
	defer e.begin()()
	err := e.Engine.Durable(ctx)
	e.pacer.clientsWrote() // their requests waited for it
	if err != nil {
		return e.watchClients(err)
	}
	return nil // which does not say that anything was written
}

// clientWaits reports, during a Write, whether clients of this process want it to end soon.
func (e *watched) clientWaits() bool {
	return e.waiting.Load() > 0 || e.pacer.concurrent && e.pacer.crowded()
}

func (e *watched) watch(err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil {
		e.written, e.failure = e.now(), nil
	} else if rewards.CodeOf(err) == rewards.CodeUnavailable { // other errors are the fault of the data
		e.failure = err
	}
	return err
}

// watchClients is watch for writes for clients. They need more room than others, which may succeed meanwhile.
func (e *watched) watchClients(err error) error {
	_ = e.watch(err)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch code := rewards.CodeOf(err); {
	case err == nil:
		e.refusal, e.doubted = nil, false
	case code == rewards.CodeUnavailable:
		e.refusal, e.refusedAt = err, e.now()
	case code == rewards.CodeInternal: // a trial finds out
		e.doubted = true
	}
	return err
}

// last returns when the last write was committed, and how a write for clients failed that is younger than refusedProof.
// The time is zero when that write or a later read failed, or when those for clients have made no progress for long.
func (e *watched) last() (written time.Time, refused error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if age := e.now().Sub(e.refusedAt); e.refusal != nil && age >= 0 && age < refusedProof {
		refused = e.refusal
	}
	hangs := e.underWay > 0 && e.now().Sub(e.progress) > progressProof
	if e.failure == nil && e.refusal == nil && !e.doubted && !e.unread.After(e.written) && !hangs {
		written = e.written
	}
	return written, refused
}

// writeProof is how long a committed write proves that the database can be written. The
// fulfillment leader renews its lease more often.
const writeProof = 20 * time.Second

// refusedProof is how long a failed write for clients proves that none can be stored. Then it is tried.
const refusedProof = 2 * time.Second

// progressProof is how long a write for clients may take before the database is tried.
const progressProof = 5 * time.Second

// probePages is the size of the probe in pages of 4 KiB, about that of a few rewards.
const probePages = 8

// CheckClock runs the check that Guard set.
func (s *Store) CheckClock() error { return s.guard(s.ids.Next()) }

// CheckWrites reports whether clients can write to the store. It relies on a write for clients that just failed, or on
// a recent committed write, or else makes a small one as for clients, who do not wait for what the leader or a command
// does. When no key could be read, it reads one. It fails with CodeUnavailable, and when CheckClock does.
func (s *Store) CheckWrites(ctx context.Context) error {
	if err := s.CheckClock(); err != nil {
		return err
	}
	if s.keysUnread.Load() { // nobody gets as far as writing
		if _, _, err := s.AppByKey(ctx, rewards.KeyHash{}); rewards.CodeOf(err) == rewards.CodeUnavailable {
			return err
		}
	}
	now := s.now()
	written, refused := s.engine.last()
	if age := now.Sub(written); refused != nil || !written.IsZero() && age >= 0 && age < writeProof {
		return refused
	}
	stamp := now.UTC().Format(time.RFC3339Nano) + " "
	const page = 4096
	err := s.engine.WriteForClients(ctx, func(ctx context.Context, tx Tx) error {
		// The value differs each time, because the database does not write an unchanged one.
		return setSetting(ctx, tx, settingProbe, strings.Repeat(stamp, probePages*page/len(stamp)))
	})
	if err == nil {
		err = s.engine.Durable(ctx)
	}
	if errors.Is(err, ErrUnknownOutcome) {
		return rewards.Unavailable("the database cannot be written", err)
	}
	return err
}
