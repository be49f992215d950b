package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"stockrewards/internal/store"
)

// Run serves until ctx ends, then drains: it answers the requests under way, commits
// what was accepted, finishes the worker's step and closes s. It ends early, with an
// error, when the database fails or belongs to another broker account.
func (s *Server) Run(ctx context.Context) error {
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
	workDone.Go(func() { s.keepIndex(workCtx) })
	workDone.Go(func() { s.vacuumOpen(workCtx) })
	workDone.Go(func() { s.keepPast(workCtx) })
	if s.cfg.Role != RoleAPI {
		workDone.Go(func() {
			if err := s.pinAccount(workCtx); err != nil {
				failed <- err
				return
			}
			s.worker.Run(workCtx)
		})
	}
	if s.webhooks != nil {
		workDone.Go(func() { s.webhooks.Run(workCtx) })
	}
	if s.fleet != nil {
		workDone.Go(func() { s.nudgeFleet(workCtx) })
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
		s.admin.Drain()
		err = s.delayStop(failed)
	case err = <-failed:
	case err = <-s.Store.Failed():
		err = stopping(err)
		s.log.ErrorContext(background, "the database stops this process", slog.String("error", err.Error()))
	}
	s.admin.Drain()
	err = errors.Join(err, s.drainRequests(background, err == nil))
	if err == nil { // before the lease is returned, which writes
		err = stopping(s.Store.CheckFiles())
	}
	stopWork()
	workDone.Wait()
	stopIntake()
	intakeDone.Wait()
	stopAdmin()
	return errors.Join(err, s.Close())
}

// delayStop waits for StopDelay, so that whoever asks for readiness sends no more clients here. It ends early, with an
// error, when Run would.
func (s *Server) delayStop(failed <-chan error) error {
	timer := time.NewTimer(s.cfg.StopDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-failed:
		return err
	case err := <-s.Store.Failed():
		return stopping(err)
	}
}

// stopping adds to the database's error what the next start does.
func stopping(err error) error {
	if errors.Is(err, store.ErrNewerSchema) {
		return fmt.Errorf("cannot write any more: %w", err)
	}
	if err == nil || errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrMoved) {
		return err
	}
	return fmt.Errorf("cannot continue without the database; the next start recovers: %w", err)
}

// drainRequests waits for the requests under way: 20 seconds, or one after a failure.
func (s *Server) drainRequests(ctx context.Context, healthy bool) error {
	grace := 20 * time.Second
	if !healthy {
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

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
