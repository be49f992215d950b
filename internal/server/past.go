package server

import (
	"context"
	"log/slog"
	"time"

	"stockrewards/internal/rewards"
)

// keepPast brings the orders of an older version up to date while the service is in use: it adds them to the
// log of events, and then moves their members and their lots.
func (s *Server) keepPast(ctx context.Context) {
	s.upgradeOrders(ctx, "listing the events of an older version", s.Store.LogPast)
	s.upgradeOrders(ctx, "moving the members of the orders of an older version", s.Store.MoveMembers)
	s.upgradeOrders(ctx, "moving the lots of an older version", s.Store.MoveLots)
}

// upgradeOrders calls a function that upgrades order after order, and logs its progress. After an error it
// tries again.
func (s *Server) upgradeOrders(
	ctx context.Context, what string, upgrade func(context.Context, func(rewards.OrderID)) error,
) {
	const report, again = 5 * time.Second, 10 * time.Second
	began, reported := time.Now(), time.Time{}
	for ctx.Err() == nil {
		err := upgrade(ctx, func(newest rewards.OrderID) {
			if time.Since(reported) >= report {
				reported = time.Now()
				s.log.InfoContext(ctx, "upgrading the store", slog.String("what", what),
					slog.Time("reached", newest.Time()))
			}
		})
		if err == nil {
			if !reported.IsZero() {
				s.log.InfoContext(ctx, "upgraded the store", slog.String("what", what),
					slog.Duration("took", time.Since(began)))
			}
			return
		}
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot upgrade the store", slog.String("what", what), slog.Any("error", err))
		}
		sleep(ctx, again)
	}
}
