package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"stockrewards/internal/rewards"
)

// pin binds the books to the broker's account, as soon as the broker
// reports which it is; before, nothing is ordered. It fails when the books belong to
// another account.
func (s *server) pin(ctx context.Context) error {
	const retry = 5 * time.Second
	for ctx.Err() == nil {
		account, err := s.broker.Account(ctx)
		if err == nil {
			err = s.store.PinBroker(ctx, s.kind, account)
			if rewards.CodeOf(err) != rewards.CodeUnavailable || err == nil {
				return err
			}
		}
		s.log.WarnContext(ctx, "cannot read the broker's account; ordering is disabled", slog.Any("error", err))
		if ctx.Err() == nil { // the worker clears it when it starts
			err = s.store.RaiseAlarm(ctx, rewards.AlarmAccountUnknown, "nothing is ordered: "+err.Error())
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "an alarm could not be stored", slog.Any("error", err))
		}
		wait(ctx, retry)
	}
	return nil
}

// firstPrices asks for prices before the first request comes, but does not wait
// long: what is stored answers too.
func (s *server) firstPrices(ctx context.Context) {
	const patience = 500 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := s.market.Clock(ctx)
	if err = errors.Join(err, s.market.Refresh(ctx)); err != nil {
		s.log.WarnContext(ctx, "no prices at the start", slog.Any("error", err))
	}
}

// refreshPrices asks for prices until ctx ends.
func (s *server) refreshPrices(ctx context.Context) {
	const every = time.Second
	for ctx.Err() == nil {
		if s.follows() {
			if err := s.market.Load(ctx); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "the leader's prices could not be read", slog.Any("error", err))
			}
			wait(ctx, every)
			continue
		}
		if _, err := s.market.Clock(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "the market's hours could not be read", slog.Any("error", err))
		}
		if err := s.market.Refresh(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "prices could not be refreshed", slog.Any("error", err))
		}
		wait(ctx, every)
	}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
