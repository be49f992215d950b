package server

import (
	"context"
	"log/slog"
	"time"

	"stockrewards/internal/rewards"
)

// logPast adds the orders of an older version to the log of events while the service is in use. After an
// error it tries again.
func (s *Server) logPast(ctx context.Context) {
	const report, again = 5 * time.Second, 10 * time.Second
	began, reported := time.Now(), time.Time{}
	for ctx.Err() == nil {
		err := s.Store.LogPast(ctx, func(newest rewards.OrderID) {
			if time.Since(reported) >= report {
				reported = time.Now()
				s.log.InfoContext(ctx, "listing the events of an older version",
					slog.Time("reached", newest.Time()))
			}
		})
		if err == nil {
			if !reported.IsZero() {
				s.log.InfoContext(ctx, "listed the events of an older version",
					slog.Duration("took", time.Since(began)))
			}
			return
		}
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot list the events of an older version", slog.Any("error", err))
		}
		sleep(ctx, again)
	}
}
