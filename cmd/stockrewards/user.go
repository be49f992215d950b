package main

import (
	"cmp"
	"context"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type userCommands struct {
	Show  userShow  `cmd:"" help:"Show a user of any app: the app, the email, the external id and the holdings."`
	Erase userErase `cmd:"" help:"Erase the email and the external id of a person for good. The user's id, rewards and holdings stay."`
}

type userShow struct {
	databaseFlag
	ID string `arg:"" help:"The user's id."`
}

func (c *userShow) Run(ctx context.Context) error {
	id, err := parseUserID(c.ID)
	if err != nil {
		return err
	}
	return c.with(ctx, func(s *store.Store) error {
		u, err := s.UserOfAnyApp(ctx, id)
		if err != nil {
			return err
		}
		a, err := s.App(ctx, u.AppID.String())
		if err != nil {
			return err
		}
		state := "active"
		if u.Erased() {
			state = "erased"
		}
		sayf("user %s of app %s (%s), created %s, %s\n", u.ID, a.Name, a.ID, moment(u.CreatedAt()), state)
		sayf("email: %s\nexternalId: %s\n", cmp.Or(u.Email, "-"), cmp.Or(u.ExternalID, "-"))
		return showHoldings(ctx, s, u)
	})
}

// showHoldings prints what a user holds, by symbol.
func showHoldings(ctx context.Context, s *store.Store, u rewards.User) error {
	holdings, err := s.Holdings(ctx, u.AppID, u.ID)
	if err != nil {
		return err
	}
	assets, err := s.Assets(ctx)
	if err != nil {
		return err
	}
	symbols := make(map[rewards.AssetID]string)
	for _, a := range assets {
		symbols[a.ID] = a.Symbol
	}
	return table("SYMBOL\tQUANTITY\tCOST BASIS", holdings, func(h rewards.Holding) []string {
		return []string{symbols[h.AssetID], h.Quantity.String(), h.CostBasis.String()}
	})
}

type userErase struct {
	databaseFlag
	ID     string `arg:"" help:"The user's id."`
	Reason string `required:"" placeholder:"TEXT" help:"Give a reason, which is stored in the operator log. Do not name the person."`
}

func (c *userErase) Run(ctx context.Context) error {
	id, err := parseUserID(c.ID)
	if err != nil {
		return err
	}
	return c.operate(ctx, "user erase", required(c.Reason), func(s *store.Operator) error {
		u, err := s.EraseUser(ctx, id)
		return said(err, "erased: user %s of app %s has no email and no external id\n", u.ID, u.AppID)
	})
}

func parseUserID(text string) (rewards.UserID, error) {
	id, err := rewards.ParseID[rewards.User](text)
	if err != nil {
		return id, usageErrorf("ID: %w", err)
	}
	return id, nil
}
