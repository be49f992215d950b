package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"stockrewards/internal/admin"
	"stockrewards/internal/admission"
	"stockrewards/internal/api"
	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/fulfillment"
	"stockrewards/internal/intake"
	"stockrewards/internal/market"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
	"stockrewards/internal/store/postgres"
)

// server is everything that serve runs.
type server struct {
	log      *slog.Logger
	unlock   func() error
	store    *store.Store
	guard    *rewards.ClockGuard
	broker   *alpaca.Client
	kind     string
	role     string
	fleet    *postgres.Engine // nil over SQLite
	recorded chan struct{}    // a reward was, for the others of the fleet
	close    func() error     // the broker's
	intake   *intake.Intake
	worker   *fulfillment.Worker
	market   *market.Market
	service  *rewards.Service
	listener net.Listener
	proxy    api.Proxy
	api      api.Options
	http     *http.Server

	metrics       *admin.Metrics
	admin         *admin.Admin
	adminListener net.Listener // nil: none
	adminHosts    []string     // names by which it may be asked for
}

// wire makes the rooms and connects them.
func (s *server) wire(ctx context.Context, in store.Installation, cfg fulfillment.Config) error {
	holder := make([]byte, 8)
	if _, err := rand.Read(holder); err != nil {
		return err
	}
	cfg.Holder, cfg.Prefix = hex.EncodeToString(holder), "sr-"+in.ID+"-"
	s.market = market.New(guardedBroker{s.broker, s.guard}, s.store, time.Now, s.log)
	if err := s.market.Load(ctx); err != nil {
		return err
	}
	s.worker = fulfillment.New(s.store, s.broker, s.market, cfg, time.Now, s.log)
	s.intake = intake.New(s.store, s.nudge())
	s.service = rewards.NewService(s.store, s.intake, s.market, time.Now)
	s.api = api.Options{
		Service: s.service, CursorKey: in.CursorKey, Log: s.log, Observe: s.metrics.Request, Proxy: s.proxy,
		KeyThrottle: &admission.KeyThrottle{},
	}
	s.http = api.NewServer(s.api)
	return nil
}

// run serves until ctx ends, then drains: requests under way are answered, what
// was accepted is committed, the step under way is finished.
func (s *server) run(ctx context.Context) error {
	background := context.WithoutCancel(ctx)
	intakeCtx, stopIntake := context.WithCancel(background)
	workCtx, stopWork := context.WithCancel(background)
	defer stopIntake()
	defer stopWork()
	stopAdmin := s.serveAdmin(background)
	failed := make(chan error, 2)
	var intakeDone, workDone sync.WaitGroup
	intakeDone.Go(func() { s.intake.Run(intakeCtx) })
	workDone.Go(func() { s.refreshPrices(workCtx) })
	workDone.Go(func() { s.reviewKeys(workCtx) })
	workDone.Go(func() { s.watchClocks(workCtx) })
	if s.role != roleAPI {
		workDone.Go(func() {
			if err := s.pin(workCtx); err != nil {
				failed <- err
				return
			}
			s.worker.Run(workCtx)
		})
	}
	if s.fleet != nil {
		workDone.Go(func() { s.talk(workCtx) })
	}
	if s.listener != nil {
		go func() {
			if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
	var err error
	select {
	case <-ctx.Done():
		s.log.InfoContext(background, "draining")
	case err = <-failed:
	case err = <-s.store.Failed():
		err = fmt.Errorf("stopping; the next start recovers: %w", err)
	}
	s.admin.Drain()
	err = errors.Join(err, s.drainRequests(background, err == nil))
	stopWork()
	workDone.Wait()
	stopIntake()
	intakeDone.Wait()
	stopAdmin()
	return errors.Join(err, s.release())
}

// drainRequests lets the requests under way end.
func (s *server) drainRequests(ctx context.Context, patient bool) error {
	grace := 20 * time.Second
	if !patient {
		grace = time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.http.Close()
	}
	return err
}

// release closes what was opened, in the opposite order.
func (s *server) release() error {
	var errs []error
	for _, l := range []net.Listener{s.listener, s.adminListener} {
		if l == nil {
			continue
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if s.close != nil {
		errs = append(errs, s.close())
	}
	if s.store != nil {
		errs = append(errs, s.store.Close())
	}
	if s.unlock != nil {
		errs = append(errs, s.unlock())
	}
	return errors.Join(errs...)
}
