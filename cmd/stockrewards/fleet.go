package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"stockrewards/internal/fulfillment"
	"stockrewards/internal/store/sqlite"
)

// fleetFlags are for processes that share a database.
type fleetFlags struct {
	Role string `enum:"all,api,worker" default:"all" help:"Choose what this process of a fleet over PostgreSQL does: api answers clients, worker buys stock (one at a time), all does both (default: all)."`
}

const (
	roleAll    = "all"
	roleAPI    = "api"
	roleWorker = "worker"
)

// fleetLease is how long a leader is believed that does not renew its lease; a
// second is added until another process notices.
const fleetLease = 6 * time.Second

// openBooks opens the books for serve, and returns the path of an SQLite file.
func (c *serveCommand) openBooks(ctx context.Context, s *server, cfg *fulfillment.Config) (path string, err error) {
	if !c.onPostgres() {
		return c.openFile(ctx, s)
	}
	if c.Broker == brokerPaper {
		return "", errors.New("--broker paper keeps its books beside an SQLite file, and a fleet needs one " +
			"brokerage: run `stockrewards paper` and start with --broker alpaca, --alpaca-url and " +
			"--alpaca-data-url of its address")
	}
	cfg.Exclusive, cfg.LeaseTTL = false, fleetLease
	if s.store, s.fleet, err = c.openPostgres(ctx, true); err != nil {
		return "", err
	}
	weakness, err := s.fleet.Weakness(ctx)
	if weakness != "" {
		s.log.WarnContext(ctx, "the database is weaker than it should be", slog.String("reason", weakness))
	}
	return "", err
}

// openFile opens an SQLite file, which one process has for itself.
func (c *serveCommand) openFile(ctx context.Context, s *server) (path string, err error) {
	if c.Role != roleAll {
		return "", usageErrorf("--role %s: only processes over PostgreSQL can have different roles", c.Role)
	}
	if path, err = c.path(); err != nil {
		return "", err
	}
	if err := makeFolder(path); err != nil {
		return "", err
	}
	if s.unlock, err = sqlite.Lock(path); err != nil {
		return "", err
	}
	s.store, err = c.open(ctx, true)
	return path, err
}

// nudge is what a recorded reward sets off: the worker of this process wakes, and
// those of the others.
func (s *server) nudge() func() {
	if s.fleet == nil {
		return s.worker.Nudge
	}
	s.recorded = make(chan struct{}, 1)
	return func() {
		s.worker.Nudge()
		select {
		case s.recorded <- struct{}{}:
		default:
		}
	}
}

// talk tells the other processes what was recorded here, and hears them, until ctx
// ends. A process that leads needs to tell nobody.
func (s *server) talk(ctx context.Context) {
	const gap = 20 * time.Millisecond
	if s.role != roleAPI {
		go s.fleet.Listen(ctx, s.worker.Nudge)
	}
	for {
		select {
		case <-s.recorded:
			if s.worker.Leads() {
				continue
			}
			if err := s.fleet.Nudge(ctx); err != nil && ctx.Err() == nil {
				s.log.DebugContext(ctx, "the others were not nudged", slog.Any("error", err))
			}
			wait(ctx, gap)
		case <-ctx.Done():
			return
		}
	}
}

// follows tells whether another process leads and asks the broker for prices, which
// this one reads from the books: the rate limit belongs to the leader.
func (s *server) follows() bool { return s.fleet != nil && !s.worker.Leads() }
