package main

import (
	"context"
	"strconv"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type appLimits struct {
	databaseFlag
	reasonFlag
	App               string `arg:"" help:"The app's id or name."`
	RequestsPerSecond *int   `env:"-" placeholder:"N" help:"Limit the requests per second that each process takes from the app; 0: no limit (default: as it is)."`
	Concurrent        *int   `env:"-" placeholder:"N" help:"Limit the app's concurrent requests in each process; 0: back to 2000 (default: as it is)."`
	None              bool   `env:"-" help:"Remove both limits: no limit per second, 2000 concurrent requests."`
}

// Run changes the limits that are given, and shows all of them.
func (c *appLimits) Run(ctx context.Context) error {
	given := c.RequestsPerSecond != nil || c.Concurrent != nil
	if given && c.None {
		return usageErrorf("--none cannot be given with other limits: leave one of them out")
	}
	if !given && !c.None {
		return c.with(ctx, func(s *store.Store) error {
			a, err := s.App(ctx, c.App)
			if err != nil {
				return err
			}
			return showLimits(a)
		})
	}
	return c.operate(ctx, "app limits", c.reasonFlag, func(s *store.Operator) error {
		a, err := s.SetLimits(ctx, c.App, c.change)
		if err != nil {
			return err
		}
		return showLimits(a)
	})
}

func (c *appLimits) change(l rewards.Limits) rewards.Limits {
	if c.None {
		return rewards.Limits{}
	}
	if c.RequestsPerSecond != nil {
		l.RequestsPerSecond = *c.RequestsPerSecond
	}
	if c.Concurrent != nil {
		l.Concurrent = *c.Concurrent
	}
	return l
}

func showLimits(a rewards.App) error {
	sayf("%s (%s), in each process:\n", a.Name, a.ID)
	return table("LIMIT\tVALUE", [][]string{
		{"requests per second", rateOf(a.Limits)}, {"requests at once", strconv.Itoa(a.Limits.AtOnce())},
	})
}

// rateOf is the limit of requests per second in a table.
func rateOf(l rewards.Limits) string {
	if l.RequestsPerSecond == 0 {
		return "no limit"
	}
	return strconv.Itoa(l.RequestsPerSecond)
}
