package main

import (
	"context"
	"fmt"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type budgetCommands struct {
	Set    budgetSet    `cmd:"" help:"Set a spending limit of an app. Returns when what was awarded before is counted; the limit is in force from then on."`
	List   budgetList   `cmd:"" help:"List an app's budgets with what is used of them."`
	Remove budgetRemove `cmd:"" help:"Remove a budget of an app."`
}

type budgetSet struct {
	appChange
	Name   string `required:"" env:"-" placeholder:"NAME" help:"Name the budget; clients see the name. A budget of that name is replaced."`
	Per    string `required:"" env:"-" enum:"app,user" placeholder:"app|user" help:"Limit all awards of the app together (app), or those of each user (user)."`
	Period string `required:"" env:"-" enum:"day,month,total" placeholder:"day|month|total" help:"Add up awards of a day or a month of UTC, or for ever (total)."`
	Limit  string `required:"" env:"-" placeholder:"USD" help:"Refuse awards beyond this many dollars with 422; 0 refuses every award."`
}

// Run sets the budget and prints it. When it is interrupted, the same command goes on.
func (c *budgetSet) Run(ctx context.Context) error {
	limit, err := budgetLimit("--limit", c.Limit)
	if err != nil {
		return err
	}
	b := rewards.Budget{Name: c.Name, Limit: limit}
	b.Per = rewards.ParseBudgetPer(c.Per)
	b.Period = rewards.ParseBudgetPeriod(c.Period)
	if err := b.Check(); err != nil {
		return usageErrorf("--name %q: %w", c.Name, err) // the limit is checked already
	}
	return c.operate(ctx, "budget set", c.reasonFlag, func(s *store.Operator) error {
		b, err := s.SetBudget(ctx, c.App, b)
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("cannot count what was awarded before: %w; repeat the command, which goes on", err)
		}
		return said(err, "budget %s of %s: %s, in force\n", b.Name, c.App, b.Scope())
	})
}

// budgetLimit reads dollars.
func budgetLimit(flag, text string) (money.USD, error) {
	limit, err := money.ParseUSD(text)
	if err == nil {
		err = rewards.Budget{Name: flag, Limit: limit}.Check()
	}
	if err != nil {
		return 0, usageErrorf("%s: %w", flag, err)
	}
	return limit, nil
}

type budgetList struct {
	databaseFlag
	outputFlag
	App string `arg:"" help:"The app's id or name."`
}

func (c *budgetList) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		a, err := s.App(ctx, c.App)
		if err != nil {
			return err
		}
		list, err := s.Budgets(ctx, a.ID)
		if err != nil {
			return err
		}
		if len(list) == 0 && !c.JSON {
			sayf("%s has no budget: whoever has its key can award without a limit\n", a.Name)
			return nil
		}
		const heading = "NAME\tPER\tPERIOD\tLIMIT USD\tUSED USD\tRESETS\tSTATE"
		return listed(c.outputFlag, heading, list, func(u rewards.BudgetUse) []string {
			used := "-" // it has a sum for each user
			if u.Per == rewards.PerApp {
				used = u.Used.String()
			}
			return []string{
				u.Name, u.Per.String(), u.Period.String(), u.Limit.String(), used, moment(u.ResetsAt), u.State.String(),
			}
		})
	})
}

type budgetRemove struct {
	appChange
	Name string `arg:"" help:"The budget's name."`
}

func (c *budgetRemove) Run(ctx context.Context) error {
	return c.operate(ctx, "budget remove", c.reasonFlag, func(s *store.Operator) error {
		a, err := s.RemoveBudget(ctx, c.App, c.Name)
		return said(err, "removed: budget %s of %s (%s)\n", c.Name, a.Name, a.ID)
	})
}
