package store

import (
	"context"
	"sync"
	"time"
)

// While clients have something to record, all other writing pauses after each write: the
// longer, the more of the time clients write. So buying what was given never holds up
// giving, and is not held up where there is room.
const (
	pauseAlone  = 4                    // how often as long as its write took, when clients write all of the time
	pauseBeside = 1                    // the same, where clients can write at the same time
	clientsGone = 5 * time.Millisecond // without a write of theirs: no pause at all
)

// ConcurrentWriter marks an Engine that can write for clients and for others at the same time.
type ConcurrentWriter interface {
	Engine
	// WritesConcurrently marks the Engine.
	WritesConcurrently()
}

// pacer makes the others pause.
type pacer struct {
	most int64 // pauseAlone or pauseBeside

	mu    sync.Mutex
	until time.Time     // the pause
	seen  time.Time     // when clients were last seen to write
	busy  time.Duration // how long clients have written since the others did
	since time.Time     // when the others last did
}

func newPacer(e Engine) *pacer {
	if _, beside := e.(ConcurrentWriter); beside {
		return &pacer{most: pauseBeside}
	}
	return &pacer{most: pauseAlone}
}

// wait waits while the others' pause lasts and clients write.
func (p *pacer) wait(ctx context.Context) error {
	for rest := p.rest(time.Now()); rest > 0; rest = p.rest(time.Now()) {
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	return nil
}

// rest is how long the others are to pause before they look again.
func (p *pacer) rest(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(p.until.Sub(now), p.seen.Add(clientsGone).Sub(now))
}

// wrote counts a write of the others.
func (p *pacer) wrote(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	elapsed := max(1, now.Sub(p.since).Microseconds())
	permille := min(p.busy.Microseconds(), elapsed) * 1000 / elapsed // of the time, by clients
	p.until = now.Add(time.Duration(p.most * permille * took.Microseconds()))
	if p.seen.After(now.Add(-took - clientsGone)) { // they may have waited
		p.seen = now
	}
	p.busy, p.since = 0, now
}

// recorded counts a write of the clients.
func (p *pacer) recorded(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy += took
	p.seen = time.Now()
}
