package main

import (
	"context"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type appDividends struct {
	databaseFlag
	reasonFlag
	App    string `arg:"" help:"The app's name or id."`
	Policy string `arg:"" enum:"reinvest,house" help:"reinvest (default): each user gets an award of the same stock; house: the house keeps the cash, which needs terms that users agreed to. Cash of a merger is always the users'."`
}

func (c *appDividends) Run(ctx context.Context) error {
	policy := rewards.DividendsReinvest
	if c.Policy == rewards.DividendsHouse.String() {
		policy = rewards.DividendsHouse
	}
	return c.operate(ctx, "app dividends", c.reasonFlag, func(s *store.Operator) error {
		err := s.SetDividends(ctx, c.App, policy)
		if err == nil {
			sayf("dividends of %s: %s, from the next payment on\n", c.App, policy)
		}
		return err
	})
}
