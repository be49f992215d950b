package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"stockrewards/internal/broker/alpaca"
	"stockrewards/internal/rewards"
)

// clockFlags say what may be recorded when clocks disagree.
type clockFlags struct {
	AllowFutureIDs bool `name:"allow-future-ids" help:"Record rewards although the newest id in the books is more than two minutes ahead of the clocks; new ids continue from it."`
}

// guardedBroker is the broker whose clock the guard learns with every reading.
type guardedBroker struct {
	*alpaca.Client
	guard *rewards.ClockGuard
}

// Clock implements market.Broker.
func (b guardedBroker) Clock(ctx context.Context) (rewards.MarketClock, error) {
	asked := time.Now()
	c, err := b.Client.Clock(ctx)
	if err == nil {
		b.guard.ReadBroker(c, asked)
	}
	return c, err
}

// readDatabaseClock has the guard learn the database's clock, where it has one.
func (s *server) readDatabaseClock(ctx context.Context) {
	if s.fleet == nil {
		return
	}
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	asked := time.Now()
	shown, err := s.fleet.Clock(ctx)
	if err != nil {
		s.log.DebugContext(ctx, "cannot read the database's clock", slog.Any("error", err))
		return
	}
	s.guard.ReadDatabase(shown, asked)
}

// watchClocks reads the database's clock every second until ctx ends, and keeps the
// alarm of this machine's clock. The broker's clock is read with the prices.
func (s *server) watchClocks(ctx context.Context) {
	const (
		every    = time.Second
		reminder = 5 // seconds; a new leader of fulfilment clears alarms that it does not know
	)
	host, _ := os.Hostname() // without one the alarm has no name behind the colon
	alarm := rewards.AlarmClockAhead + host
	if err := s.store.ClearAlarm(ctx, alarm); err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "cannot clear an alarm", slog.Any("error", err))
	}
	raised := 0 // seconds that the alarm has been raised
	for ; ctx.Err() == nil; wait(ctx, every) {
		s.readDatabaseClock(ctx)
		ahead := s.store.CheckClock()
		var err error
		switch {
		case ahead != nil:
			if raised%reminder == 0 {
				s.log.ErrorContext(ctx, "alarm", slog.String("name", alarm), slog.String("text", ahead.Error()))
				err = s.store.RaiseAlarm(ctx, alarm, ahead.Error())
			}
			raised++
		case raised > 0:
			s.log.InfoContext(ctx, "alarm cleared", slog.String("name", alarm))
			if err = s.store.ClearAlarm(ctx, alarm); err == nil {
				raised = 0
			}
		}
		if err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "cannot store the alarm of the clock", slog.Any("error", err))
		}
	}
}
