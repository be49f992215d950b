package main

import (
	"context"
	"strconv"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type appLimits struct {
	appChange
	outputFlag
	RequestsPerSecond *int `env:"-" placeholder:"N" help:"Limit the app's requests per second in each process; 0: no limit (default: unchanged)."`
	Concurrent        *int `env:"-" placeholder:"N" help:"Limit the app's concurrent requests in each process; 0: reset to 2000 (default: unchanged)."`
	None              bool `env:"-" help:"Remove both limits: no limit per second, 2000 concurrent requests."`
}

// Run changes the given limits and prints all of them.
func (c *appLimits) Run(ctx context.Context) error {
	given := c.RequestsPerSecond != nil || c.Concurrent != nil
	if given && c.None {
		return usageErrorf("--none excludes the other limits: omit one of them")
	}
	if !given && !c.None {
		return c.with(ctx, func(s *store.Store) error {
			a, err := s.App(ctx, c.App)
			if err != nil {
				return err
			}
			return c.show(a)
		})
	}
	if c.RequestsPerSecond != nil {
		if err := (rewards.Limits{RequestsPerSecond: *c.RequestsPerSecond}).Check(); err != nil {
			return usageErrorf("--requests-per-second: %w", err)
		}
	}
	if c.Concurrent != nil {
		if err := (rewards.Limits{Concurrent: *c.Concurrent}).Check(); err != nil {
			return usageErrorf("--concurrent: %w", err)
		}
	}
	return c.operate(ctx, "app limits", c.reasonFlag, func(s *store.Operator) error {
		a, err := s.SetLimits(ctx, c.App, c.change)
		if err != nil {
			return err
		}
		return c.show(a)
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

// show prints an app's limits.
func (c *appLimits) show(a rewards.App) error {
	rate, atOnce := rateOf(a.Limits), strconv.Itoa(a.Limits.AtOnce())
	if c.JSON {
		return printJSON(objectOf([][2]string{
			{"app", a.ID.String()}, {"app name", a.Name}, {"requests per second", rate}, {"requests at once", atOnce},
		}))
	}
	sayf("%s (%s), in each process:\n", a.Name, a.ID)
	limits := [][]string{{"requests per second", rate}, {"requests at once", atOnce}}
	return table("LIMIT\tVALUE", limits, func(row []string) []string { return row })
}

func rateOf(l rewards.Limits) string {
	if l.RequestsPerSecond == 0 {
		return "no limit"
	}
	return strconv.Itoa(l.RequestsPerSecond)
}
