package server

import (
	"context"
	"log/slog"
	"time"
)

// keepIndex upgrades the index of an older store while the service is in use. Then it seals segments, and merges their
// filters. After an error it tries again.
func (s *Server) keepIndex(ctx context.Context) {
	const every = 10 * time.Second
	reported := 0
	for upgraded := false; ctx.Err() == nil; sleep(ctx, every) {
		reported = s.reportDamage(ctx, reported)
		var err error
		if !upgraded {
			err = s.upgradeIndex(ctx)
			upgraded = err == nil
		}
		for _, step := range []func(context.Context) (bool, error){s.Store.SealSegment, s.Store.MergeFilters} {
			for more := true; more && err == nil; {
				more, err = step(ctx)
			}
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot index rewards", slog.Any("error", err))
		}
	}
}

// reportDamage logs the damaged filters after the first ones, and returns how many there are.
func (s *Server) reportDamage(ctx context.Context, reported int) int {
	damaged := s.Store.DamagedFilters()
	for _, what := range damaged[reported:] {
		s.log.ErrorContext(ctx, "a filter of idempotency keys was damaged: every key is looked for in its segments "+
			"until it is made again; check the disk, and run `stockrewards audit`", slog.String("damage", what))
	}
	return len(damaged)
}

// upgradeIndex indexes the rewards of an older store, and logs its progress.
func (s *Server) upgradeIndex(ctx context.Context) error {
	const report = 5 * time.Second
	began, reported := time.Now(), time.Time{}
	err := s.Store.IndexRewards(ctx, func(done, total int64) {
		if time.Since(reported) >= report {
			reported = time.Now()
			s.log.InfoContext(ctx, "indexing the rewards of an older version",
				slog.Int64("done", done), slog.Int64("total", total))
		}
	})
	if err == nil && !reported.IsZero() {
		s.log.InfoContext(ctx, "indexed the rewards of an older version", slog.Duration("took", time.Since(began)))
	}
	return err
}
