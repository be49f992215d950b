package server

import (
	"context"
	"log/slog"
	"os"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/rewards"
)

// guardedBroker passes each reading of the broker's clock on to the clock guard.
type guardedBroker struct {
	*alpaca.Client
	guard *rewards.ClockGuard
}

func (b guardedBroker) Clock(ctx context.Context) (rewards.MarketClock, error) {
	asked := time.Now()
	c, err := b.Client.Clock(ctx)
	if err == nil {
		b.guard.ReadBroker(c, asked)
	}
	return c, err
}

// unreadReminder is after how many failed readings of the database's clock, one a second, the log has a warning.
const unreadReminder = 60

// readDatabaseClock passes PostgreSQL's clock on to the clock guard.
func (s *Server) readDatabaseClock(ctx context.Context) {
	if s.fleet == nil {
		return
	}
	const timeout = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	asked := time.Now()
	shown, err := s.fleet.Clock(ctx)
	if err != nil {
		s.unread++
		level := slog.LevelDebug // a server that takes over is away for a moment
		if s.unread%unreadReminder == 0 {
			level = slog.LevelWarn
		}
		s.log.Log(ctx, level, "cannot read the database's clock", slog.Any("error", err))
		return
	}
	s.unread = 0
	s.clocks.ReadDatabase(shown, asked)
}

// watchClocks compares this machine's clock with the database's every second until ctx
// ends, and raises or clears this machine's alarm. The broker's clock is read with the
// prices.
func (s *Server) watchClocks(ctx context.Context) {
	const (
		every    = time.Second
		reminder = 5 // seconds; a new leader clears alarms that it did not raise
	)
	host, _ := os.Hostname() // "" is acceptable
	alarm := rewards.AlarmClockAhead + host
	if err := s.Store.ClearAlarm(ctx, alarm); err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "cannot clear an alarm", slog.Any("error", err))
	}
	raised := 0 // seconds for which the alarm has been raised
	for ; ctx.Err() == nil; sleep(ctx, every) {
		s.readDatabaseClock(ctx)
		ahead := s.Store.CheckClock()
		var err error
		switch {
		case ahead != nil:
			if raised%reminder == 0 {
				s.log.ErrorContext(ctx, "alarm", slog.String("name", alarm), slog.String("text", ahead.Error()))
				err = s.Store.RaiseAlarm(ctx, alarm, ahead.Error())
			}
			raised++
		case raised > 0:
			s.log.InfoContext(ctx, "alarm cleared", slog.String("name", alarm))
			if err = s.Store.ClearAlarm(ctx, alarm); err == nil {
				raised = 0
			}
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot store the alarm of the clock", slog.Any("error", err))
		}
	}
}
