package server

import (
	"context"
	"log/slog"
	"time"
)

// vacuumOpen frees the space of what is not open any more, over PostgreSQL, and gives it back to the disk when few
// rewards are booked. A step of the fulfillment must not wait for it. While a long reader keeps the removed rows, a
// vacuum frees nothing and takes longer each time, so vacuums become rarer.
func (s *Server) vacuumOpen(ctx context.Context) {
	const (
		every, rest, atLeast = time.Second, 20, 6_000
		calm, pause          = 100, time.Minute
	)
	shrink := time.Now()
	for ctx.Err() == nil {
		began := time.Now()
		err := s.Store.VacuumOpen(ctx, atLeast)
		if err == nil && !began.Before(shrink) {
			var again bool
			if again, err = s.Store.ShrinkOpen(ctx, calm); again {
				shrink = began.Add(pause)
			}
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot vacuum open_rewards", slog.Any("error", err))
		}
		sleep(ctx, max(every, rest*time.Since(began)))
	}
}
