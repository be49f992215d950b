package server

import (
	"context"
	"log/slog"
	"time"

	"stockrewards/internal/rewards"
)

// reviewKeys logs the keys whose mode does not match the broker account's: once, as soon
// as the account is known.
func (s *Server) reviewKeys(ctx context.Context) {
	const retry = time.Second
	for ctx.Err() == nil {
		account, err := s.Store.AccountMode(ctx)
		if err == nil && account != rewards.ModeUnknown {
			err = s.logMismatches(ctx, account)
		}
		if err == nil && account != rewards.ModeUnknown {
			return
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot review the API keys; retrying", slog.Any("error", err))
		}
		sleep(ctx, retry)
	}
}

// logMismatches logs each valid key whose mode is not the account's.
func (s *Server) logMismatches(ctx context.Context, account rewards.Mode) error {
	apps, err := s.Store.Apps(ctx)
	if err != nil {
		return err
	}
	for _, app := range apps {
		keys, err := s.Store.Keys(ctx, app.ID.String())
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
