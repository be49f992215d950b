package server

import (
	"context"
	"log/slog"
	"time"
)

// indexRewards upgrades the index of an older store while the service is in use, and logs its
// progress. After an error it tries again.
func (s *Server) indexRewards(ctx context.Context) {
	const (
		report = 5 * time.Second
		again  = time.Minute
	)
	for {
		began, reported := time.Now(), time.Time{}
		err := s.Store.IndexRewards(ctx, func(done, total int64) {
			if time.Since(reported) >= report {
				reported = time.Now()
				s.log.InfoContext(ctx, "indexing the rewards of an older version",
					slog.Int64("done", done), slog.Int64("total", total))
			}
		})
		switch {
		case err == nil && reported.IsZero(): // nothing to do
			return
		case err == nil:
			s.log.InfoContext(ctx, "indexed the rewards of an older version", slog.Duration("took", time.Since(began)))
			return
		case ctx.Err() != nil:
			return
		}
		s.log.WarnContext(ctx, "cannot index the rewards of an older version", slog.Any("error", err))
		sleep(ctx, again)
	}
}
