package server

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Role is what a process of a fleet does.
type Role string

// The roles. One process over SQLite does everything.
const (
	RoleAll    Role = "all"
	RoleAPI    Role = "api"    // answers clients
	RoleWorker Role = "worker" // buys stock, when it leads
)

// leaseTTL is how long fulfillment's lease outlives its last renewal. In a fleet it is
// short, since another process waits for it; that process needs up to a second more.
func (s *Server) leaseTTL() time.Duration {
	const alone, fleet = 30 * time.Second, 6 * time.Second
	if s.fleet == nil {
		return alone
	}
	return fleet
}

// nudge wakes the worker after a reward is recorded, and those of the fleet.
func (s *Server) nudge() {
	s.worker.Nudge()
	if s.fleet == nil {
		return
	}
	select {
	case s.recorded <- struct{}{}:
	default:
	}
}

// nudgeFleet exchanges nudges with the other processes until ctx ends. The leader sends
// none: no other process could act on them.
func (s *Server) nudgeFleet(ctx context.Context) {
	const gap = 20 * time.Millisecond
	if s.cfg.Role != RoleAPI {
		var listening sync.WaitGroup
		listening.Go(func() { s.fleet.Listen(ctx, s.worker.Nudge) })
		defer listening.Wait()
	}
	for {
		select {
		case <-s.recorded:
			if s.worker.Leads() {
				continue
			}
			if err := s.fleet.Nudge(ctx); err != nil && ctx.Err() == nil {
				s.log.DebugContext(ctx, "cannot nudge the fleet", slog.Any("error", err))
			}
			sleep(ctx, gap)
		case <-ctx.Done():
			return
		}
	}
}

// followsLeader reports whether another process leads. Only the leader requests prices,
// since the broker's rate limit belongs to it; the others read them from the store.
func (s *Server) followsLeader() bool { return s.fleet != nil && !s.worker.Leads() }
