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

// Beside marks an Engine that can write for clients and for others at the same time.
type Beside interface {
	Engine
	// WritesBeside marks the Engine.
	WritesBeside()
}

// share makes the others pause.
type share struct {
	most int64 // pauseAlone or pauseBeside

	mu    sync.Mutex
	until time.Time     // the pause
	seen  time.Time     // when clients were last seen to write
	busy  time.Duration // how long clients have written since the others did
	since time.Time     // when the others last did
}

func newShare(e Engine) *share {
	if _, beside := e.(Beside); beside {
		return &share{most: pauseBeside}
	}
	return &share{most: pauseAlone}
}

// wait waits while the others' pause lasts and clients write.
func (s *share) wait(ctx context.Context) error {
	for rest := s.rest(time.Now()); rest > 0; rest = s.rest(time.Now()) {
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
func (s *share) rest(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(s.until.Sub(now), s.seen.Add(clientsGone).Sub(now))
}

// wrote counts a write of the others.
func (s *share) wrote(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	elapsed := max(1, now.Sub(s.since).Microseconds())
	permille := min(s.busy.Microseconds(), elapsed) * 1000 / elapsed // of the time, by clients
	s.until = now.Add(time.Duration(s.most * permille * took.Microseconds()))
	if s.seen.After(now.Add(-took - clientsGone)) { // they may have waited
		s.seen = now
	}
	s.busy, s.since = 0, now
}

// recorded counts a write of the clients.
func (s *share) recorded(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy += took
	s.seen = time.Now()
}
