package main

import (
	"context"
	"errors"
	"time"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type fulfillmentCommand struct {
	Pause  fulfillmentPause  `cmd:"" help:"Pause ordering within a second. Orders at the broker are still settled."`
	Resume fulfillmentResume `cmd:"" help:"Resume ordering."`
	Status fulfillmentStatus `cmd:"" help:"Show what waits, what is in orders and what needs an operator."`
}

type fulfillmentPause struct {
	databaseFlag
	Reason string `default:"paused by an operator" placeholder:"TEXT" help:"Give a reason, which fulfillment status shows (default: paused by an operator)."`
}

func (c *fulfillmentPause) Run(ctx context.Context) error {
	return c.operate(ctx, "fulfillment pause", required(c.Reason), func(s *store.Operator) error {
		return said(s.SetPaused(ctx, c.Reason), "ordering is paused\n")
	})
}

type fulfillmentResume struct {
	databaseFlag
	reasonFlag
}

func (c *fulfillmentResume) Run(ctx context.Context) error {
	return c.operate(ctx, "fulfillment resume", c.reasonFlag, func(s *store.Operator) error {
		if err := s.SetPaused(ctx, ""); err != nil {
			return err
		}
		control, err := s.Control(ctx)
		if err != nil {
			return err
		}
		if control.Conflicts > 0 {
			sayf("the pause is over, but ordering stays stopped: %d orders at the broker contradict the database "+
				"(see `stockrewards fulfillment status`)\n", control.Conflicts)
			return nil
		}
		sayln("ordering is on")
		return nil
	})
}

type fulfillmentStatus struct {
	databaseFlag
	outputFlag
}

func (c *fulfillmentStatus) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		if c.JSON {
			report, err := statusReport(ctx, s)
			return errors.Join(err, printJSON(report))
		}
		if err := printControl(ctx, s); err != nil {
			return err
		}
		if err := printWork(ctx, s); err != nil {
			return err
		}
		return printProblems(ctx, s)
	})
}

func printControl(ctx context.Context, s *store.Store) error {
	control, err := s.Control(ctx)
	if err != nil {
		return err
	}
	switch {
	case control.Paused != "":
		sayln("ordering: paused:", control.Paused)
	case control.Conflicts > 0:
		sayln("ordering: stopped: orders at the broker contradict the database")
	default:
		return printStandstill(ctx, s)
	}
	return nil
}

// printStandstill prints why no stock is ordered now, if so, as the timelines of rewards do.
func printStandstill(ctx context.Context, s *store.Store) error {
	why, err := standstill(ctx, s)
	switch {
	case err != nil:
		return err
	case why != "":
		sayln("ordering: on, but", why)
	default:
		sayln("ordering: on")
	}
	return nil
}

// standstill is why no stock is ordered now; "" for no reason.
func standstill(ctx context.Context, s *store.Store) (why string, err error) {
	led, err := s.Led(ctx)
	if err != nil || !led {
		return rewards.NotLed, err
	}
	list, err := s.Standstills(ctx)
	if err != nil {
		return "", err
	}
	for _, cause := range list {
		if cause.AssetID == 0 {
			return cause.Explain("", 0), nil
		}
	}
	return "", nil
}

func printWork(ctx context.Context, s *store.Store) error {
	pools, err := s.Pools(ctx)
	if err != nil {
		return err
	}
	sayln("assets with waiting rewards:", len(pools))
	if len(pools) > 0 {
		age := time.Since(pools[0].Oldest).Round(time.Second)
		sayf("longest waiting: %s, for %s\n", pools[0].Asset.Symbol, age)
	}
	if err := printWaits(ctx, s); err != nil {
		return err
	}
	live, err := s.LiveOrders(ctx)
	if err != nil {
		return err
	}
	counts := make(map[rewards.OrderState]int)
	for _, o := range live {
		counts[o.State]++
	}
	for state := rewards.OrderPlanned; !state.Final(); state++ {
		sayf("orders %s: %d\n", state, counts[state])
	}
	return nil
}

// conflictAdvice follows the list of conflicts.
const conflictAdvice = `
  After an old backup was restored: have the apps repeat their last requests. Then for each order
  "stockrewards order adopt ID --reason TEXT" gives its fill to waiting rewards.
  Otherwise find out what happened, then run "stockrewards order acknowledge ID --reason TEXT".`

func printProblems(ctx context.Context, s *store.Store) error {
	alarms, err := s.Alarms(ctx)
	if err != nil {
		return err
	}
	sayln("alarms:", len(alarms))
	for _, a := range alarms {
		sayf("  %s since %s: %s\n", a.Name, moment(a.Since), a.Message)
	}
	conflicts, err := s.Conflicts(ctx)
	if err != nil {
		return err
	}
	open := 0
	for _, c := range conflicts {
		if !c.AcknowledgedAt.IsZero() {
			continue
		}
		open++
		sayf("conflict: %s: %s\n", c.ClientOrderID, c.Detail)
	}
	if open > 0 {
		sayf(conflictAdvice[1:] + "\n")
	}
	return nil
}

// printWaits prints the waiting rewards by stock and app, with the cause.
func printWaits(ctx context.Context, s *store.Store) error {
	const most = 50
	waits, err := s.Waits(ctx)
	if err != nil {
		return err
	}
	for _, w := range waits[:min(len(waits), most)] {
		why := w.Why
		if why == "" {
			why = "no process has led fulfillment yet"
		}
		sayf("  %s of %s: %d since %s: %s\n", w.Asset.Symbol, w.App.Name, w.Count, moment(w.Oldest), why)
	}
	if more := len(waits) - most; more > 0 {
		sayf("  and %d more\n", more)
	}
	return nil
}
