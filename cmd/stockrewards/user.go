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
	outputFlag
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
		holdings, err := holdingRows(ctx, s, u)
		if err != nil {
			return err
		}
		const heading = "SYMBOL\tQUANTITY\tCOST BASIS"
		same := func(row []string) []string { return row }
		if c.JSON {
			report := objectOf([][2]string{
				{"user", u.ID.String()},
				{"app", a.ID.String()},
				{"app name", a.Name},
				{"created", moment(u.CreatedAt())},
				{"state", state},
				{"email", u.Email},
				{"external id", u.ExternalID},
			})
			report["holdings"] = objects(heading, holdings, same)
			return printJSON(report)
		}
		sayf("user %s of app %s (%s), created %s, %s\n", u.ID, a.Name, a.ID, moment(u.CreatedAt()), state)
		sayf("email: %s\nexternalId: %s\n", cmp.Or(u.Email, "-"), cmp.Or(u.ExternalID, "-"))
		return table(heading, holdings, same)
	})
}

// holdingRows returns what a user holds: symbol, quantity and cost basis.
func holdingRows(ctx context.Context, s *store.Store, u rewards.User) (rows [][]string, err error) {
	holdings, err := s.Holdings(ctx, u.AppID, u.ID)
	if err != nil {
		return nil, err
	}
	assets, err := s.Assets(ctx)
	if err != nil {
		return nil, err
	}
	symbols := make(map[rewards.AssetID]string)
	for _, a := range assets {
		symbols[a.ID] = a.Symbol
	}
	for _, h := range holdings {
		if !h.IsEmpty() {
			rows = append(rows, []string{symbols[h.AssetID], h.Quantity.String(), h.CostBasis.String()})
		}
	}
	return rows, nil
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
