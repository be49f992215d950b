package main

import (
	"context"
	"log/slog"
	"time"

	"stockrewards/internal/rewards"
)

// reviewKeys logs once, as soon as the brokerage's account is known, which keys do not
// fit it.
func (s *server) reviewKeys(ctx context.Context) {
	const retry = time.Second
	for ctx.Err() == nil {
		account, err := s.store.AccountMode(ctx)
		if err == nil && account != rewards.ModeUnknown {
			err = s.logMisfits(ctx, account)
		}
		if err == nil && account != rewards.ModeUnknown {
			return
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot review the API keys; trying again", slog.Any("error", err))
		}
		wait(ctx, retry)
	}
}

// logMisfits logs each usable key whose mode is not the account's.
func (s *server) logMisfits(ctx context.Context, account rewards.Mode) error {
	apps, err := s.store.Apps(ctx)
	if err != nil {
		return err
	}
	for _, app := range apps {
		keys, err := s.store.Keys(ctx, app.ID.String())
		if err != nil {
			return err
		}
		for _, k := range keys {
			mode := k.Mode()
			if !k.ValidAt(time.Now()) || mode == rewards.ModeUnknown || mode == account {
				continue
			}
			attrs := []any{
				slog.String("key", k.ID.String()), slog.String("app", app.ID.String()),
				slog.String("app_name", app.Name),
			}
			if account.Accepts(mode) {
				s.log.WarnContext(ctx, "an sr_live_ key works over a paper account; "+
					"replace it with `key rotate`", attrs...)
			} else {
				s.log.ErrorContext(ctx, "an sr_test_ key cannot work: the brokerage's account is not a paper account; "+
					"replace it with `key rotate`", attrs...)
			}
		}
	}
	return nil
}
