package server

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// awaitFirstPrices requests prices before the first request arrives. It waits half a
// second at most: stored prices serve until the broker answers.
func (s *Server) awaitFirstPrices(ctx context.Context) {
	const timeout = 500 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, err := s.Market.Clock(ctx)
	if err = errors.Join(err, s.Market.Refresh(ctx)); err != nil {
		s.log.WarnContext(ctx, "no prices at the start", slog.Any("error", err))
	}
}

// refreshPrices keeps prices and market hours current until ctx ends.
func (s *Server) refreshPrices(ctx context.Context) {
	const every = time.Second
	warn := func(message string, err error) {
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, message, slog.Any("error", err)) //nolint:sloglint // constants, below
		}
	}
	for ; ctx.Err() == nil; sleep(ctx, every) {
		if s.followsLeader() {
			warn("cannot read the leader's prices", s.Market.Load(ctx))
			continue
		}
		_, err := s.Market.Clock(ctx)
		warn("cannot read the market's hours", err)
		warn("cannot refresh prices", s.Market.Refresh(ctx))
	}
}
