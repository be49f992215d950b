package main

import (
	"context"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type assetCommands struct {
	List    assetList    `cmd:"" help:"List the catalog's stocks with their states."`
	Enable  assetEnable  `cmd:"" help:"Enable a stock for new rewards."`
	Disable assetDisable `cmd:"" help:"Disable a stock for new rewards. Holdings stay."`
	Sync    assetSync    `cmd:"" help:"Update the catalog from the broker's list: add new stocks, rename renamed ones, disable those it no longer sells."`
	Confirm assetConfirm `cmd:"" help:"Confirm a price in doubt as right: the stock is ordered and valued again."`
	Reject  assetReject  `cmd:"" help:"Reject a price in doubt as wrong: the next price is checked again."`
}

type assetList struct {
	databaseFlag
	outputFlag
}

func (c *assetList) Run(ctx context.Context) error {
	return c.with(ctx, func(s *store.Store) error {
		assets, err := s.Assets(ctx)
		if err != nil {
			return err
		}
		return listed(c.outputFlag, "SYMBOL\tSTATE\tNAME", assets, func(a rewards.Asset) []string {
			state := "enabled"
			if !a.Enabled {
				state = "disabled"
			}
			if a.Gone {
				state += ", not sold by the broker"
			}
			if a.Doubt.Exists() {
				state += ", price in doubt: " + a.Doubt.Price.String()
			}
			if a.Hold.Exists() {
				state += ", held by a corporate action"
				if a.Hold.Dated() {
					state += " from " + moment(a.Hold.From)
				}
			}
			return []string{a.Symbol, state, a.Name}
		})
	})
}

type assetChange struct {
	databaseFlag
	reasonFlag
	Symbol string `arg:"" help:"The stock's symbol."`
}

type (
	assetEnable  struct{ assetChange }
	assetDisable struct{ assetChange }
	assetConfirm struct{ assetChange }
	assetReject  struct{ assetChange }
)

func (c *assetEnable) Run(ctx context.Context) error { return c.enable(ctx, "asset enable", true) }

func (c *assetDisable) Run(ctx context.Context) error { return c.enable(ctx, "asset disable", false) }

func (c *assetChange) enable(ctx context.Context, command string, enabled bool) error {
	return c.operate(ctx, command, c.reasonFlag, func(s *store.Operator) error {
		symbol := rewards.UpperSymbol(c.Symbol)
		if err := s.SetEnabled(ctx, symbol, enabled); err != nil {
			return err
		}
		if !enabled {
			sayln(symbol, "is disabled")
			return nil
		}
		sayln(symbol, "is enabled")
		assets, err := s.Assets(ctx)
		for _, a := range assets {
			if a.Symbol == symbol && a.Gone {
				sayln("The broker does not sell it; rewards are possible after it does: see `stockrewards asset sync`.")
			}
		}
		return err
	})
}

func (c *assetConfirm) Run(ctx context.Context) error {
	return c.operate(ctx, "asset confirm", c.reasonFlag, func(s *store.Operator) error {
		return c.endDoubt(ctx, s.ConfirmAsset, "is accepted")
	})
}

func (c *assetReject) Run(ctx context.Context) error {
	return c.operate(ctx, "asset reject", c.reasonFlag, func(s *store.Operator) error {
		return c.endDoubt(ctx, s.RejectAsset, "is rejected; the next price is checked again")
	})
}

func (c *assetChange) endDoubt(
	ctx context.Context, end func(context.Context, string) (money.Price, error), result string,
) error {
	symbol := rewards.UpperSymbol(c.Symbol)
	price, err := end(ctx, symbol)
	switch {
	case err != nil:
		return err
	case price == 0:
		sayln("no price of", symbol, "is in doubt")
	default:
		sayf("%s: %s %s\n", symbol, price, result)
	}
	return nil
}
