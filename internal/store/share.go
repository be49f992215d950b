package store

import (
	"context"
	"sync"
	"time"
)

// While clients have something to record, all other writing gets a part of the time, so
// that buying what was given does not hold up giving.
const (
	pauseAlone  = 4                    // how often as long as a write took the others pause, where one writes at a time
	pauseBeside = 1                    // the same, where clients can write at the same time
	clientsGone = 5 * time.Millisecond // without a write of theirs: the others need no pause
)

// Beside marks an Engine that can write for clients and for others at the same time.
type Beside interface {
	Engine
	// WritesBeside marks the Engine.
	WritesBeside()
}

// share makes the others pause.
type share struct {
	pause time.Duration // pauseAlone or pauseBeside

	mu      sync.Mutex
	until   time.Time // the others' pause
	clients time.Time // when clients were last seen to write
}

func newShare(e Engine) share {
	if _, beside := e.(Beside); beside {
		return share{pause: pauseBeside}
	}
	return share{pause: pauseAlone}
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
	return min(s.until.Sub(now), s.clients.Add(clientsGone).Sub(now))
}

// wrote counts a write of the others.
func (s *share) wrote(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.until = now.Add(s.pause * took)
	if s.clients.After(now.Add(-took - clientsGone)) { // they may have waited
		s.clients = now
	}
}

// recorded tells that clients wrote.
func (s *share) recorded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = time.Now()
}
