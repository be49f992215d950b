package store

import (
	"context"
	"strings"
	"sync"
	"time"

	"stockrewards/internal/rewards"
)

// watched is an engine that remembers how the last write ended, and whose other writing
// leaves room for the clients'.
type watched struct {
	Engine
	now   func() time.Time
	pacer *pacer

	mu      sync.Mutex
	written time.Time // when the last write was committed
	failure error     // why the last one could not be; nil when it was
}

// Write implements Engine.
func (e *watched) Write(ctx context.Context, f func(context.Context, Tx) error) error {
	if err := e.pacer.wait(ctx); err != nil {
		return rewards.Unavailable("the database is busy", err)
	}
	began := time.Now()
	err := e.Engine.Write(ctx, f)
	e.pacer.wrote(time.Since(began))
	return e.watch(err)
}

// WriteForClients implements Engine.
func (e *watched) WriteForClients(ctx context.Context, f func(context.Context, Tx) error) error {
	began := time.Now()
	err := e.Engine.WriteForClients(ctx, f)
	e.pacer.recorded(time.Since(began))
	return e.watch(err)
}

func (e *watched) watch(err error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err == nil:
		e.written, e.failure = e.now(), nil
	case rewards.CodeOf(err) == rewards.CodeUnavailable:
		e.failure = err
	default: // the fault of what was to be written: it tells nothing
	}
	return err
}

func (e *watched) last() (written time.Time, failure error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.written, e.failure
}

// writeHolds is how long a committed write is taken for proof that the next one
// can be. A leader of fulfilment renews its lease more often.
const writeHolds = 20 * time.Second

// probePages is the size of a probing write in pages of 4 KiB: about what a few
// rewards take.
const probePages = 8

// CheckClock fails while nothing may be recorded because of the clocks (see Guard).
func (s *Store) CheckClock() error { return s.guard(s.ids.Next()) }

// CheckWrites tells whether the books can be written: at once when the last write
// was committed not long ago, otherwise by a small write of its own. It fails with
// CodeUnavailable when they can't, or when nothing may be recorded now.
func (s *Store) CheckWrites(ctx context.Context) error {
	if err := s.CheckClock(); err != nil {
		return err
	}
	now := s.now()
	written, failure := s.engine.last()
	if age := now.Sub(written); failure == nil && !written.IsZero() && age >= 0 && age < writeHolds {
		return nil
	}
	stamp := now.UTC().Format(time.RFC3339Nano) + " "
	const page = 4096
	return s.engine.Write(ctx, func(ctx context.Context, tx Tx) error {
		// The text differs each time: what is the same would not be written.
		return setSetting(ctx, tx, settingProbe, strings.Repeat(stamp, probePages*page/len(stamp)))
	})
}
