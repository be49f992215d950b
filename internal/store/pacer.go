package store

import (
	"context"
	"sync"
	"time"
)

// Client writes come first. While clients write, every other writer pauses after each write, by the
// square of the clients' share of the time. Fulfillment thus hardly delays recording at full load,
// keeps up at half load, and does not pause without load.
const (
	pauseExclusive  = 8                    // pause after a write, as a multiple of its duration, at full client load
	pauseConcurrent = 1                    // the same on a ConcurrentWriter
	maxPause        = time.Second          // so that a lease is renewed even when a write was slow
	clientsIdle     = 5 * time.Millisecond // after this long without a client write nobody pauses
)

// ConcurrentWriter marks an Engine whose WriteForClients runs at the same time as a Write.
type ConcurrentWriter interface {
	Engine
	// WritesConcurrently marks the Engine.
	WritesConcurrently()
}

// pacer makes other writers pause while clients write.
type pacer struct {
	multiple int64 // pauseExclusive or pauseConcurrent

	mu          sync.Mutex
	pausedUntil time.Time
	clientsSeen time.Time     // the last client write
	clientsBusy time.Duration // of client writes since otherWrite
	otherWrite  time.Time     // the last write of the others
}

func newPacer(e Engine) *pacer {
	if _, concurrent := e.(ConcurrentWriter); concurrent {
		return &pacer{multiple: pauseConcurrent}
	}
	return &pacer{multiple: pauseExclusive}
}

// wait waits until another writer may write.
func (p *pacer) wait(ctx context.Context) error {
	for rest := p.rest(time.Now()); rest > 0; rest = p.rest(time.Now()) {
		if err := Sleep(ctx, rest); err != nil {
			return err
		}
	}
	return nil
}

// rest is how long another writer must pause before it looks again.
func (p *pacer) rest(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(p.pausedUntil.Sub(now), p.clientsSeen.Add(clientsIdle).Sub(now))
}

// otherWrote notes a write of another writer.
func (p *pacer) otherWrote(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	elapsed := max(1, now.Sub(p.otherWrite).Microseconds())
	permille := min(p.clientsBusy.Microseconds(), elapsed) * 1000 / elapsed // share of the time used by clients
	pause := took * time.Duration(p.multiple*permille*permille) / 1e6
	p.pausedUntil = now.Add(min(pause, maxPause))
	if p.clientsSeen.After(now.Add(-took - clientsIdle)) { // this write may have delayed them
		p.clientsSeen = now
	}
	p.clientsBusy, p.otherWrite = 0, now
}

// clientsWrote notes a write for clients.
func (p *pacer) clientsWrote(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clientsBusy += took
	p.clientsSeen = time.Now()
}

// Sleep waits for d. It returns early with the context's error when ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
