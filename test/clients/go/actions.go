package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"example.com/rewardsclient/api"
)

// actions finds a dividend of a stock that the users hold, by its symbol and status, and reads it.
func (p *program) actions(ctx context.Context) error {
	symbol, status := "aapl", api.Announced
	params := &api.ListCorporateActionsParams{AssetSymbol: &symbol, Status: &status}
	list, err := p.client.ListCorporateActionsWithResponse(ctx, params)
	if err := saw("listCorporateActions", 200, list, err); err != nil {
		return err
	}
	if n := len(list.JSON200.CorporateActions); n != 1 {
		return fmt.Errorf("%d corporate actions: %s", n, list.Body)
	}
	a := list.JSON200.CorporateActions[0]
	if a.Type != api.CorporateActionTypeCashDividend || a.CashRate == nil || *a.CashRate != 0.25 || a.NewRate != nil || a.AppliedAt != nil ||
		a.ExDate == nil || a.ExDate.String() != "2099-12-01" {
		return fmt.Errorf("the dividend is %s", list.Body)
	}
	p.action = a.Id
	one, err := p.client.GetCorporateActionWithResponse(ctx, p.action, nil)
	if err := saw("getCorporateAction", 200, one, err); err != nil {
		return err
	}
	effects, err := p.client.ListCorporateActionEffectsWithResponse(ctx, p.action, nil)
	if err := saw("listCorporateActionEffects", 200, effects, err); err != nil {
		return err
	}
	zero := 0
	list, err = p.client.ListCorporateActionsWithResponse(ctx, &api.ListCorporateActionsParams{Limit: &zero})
	if err := saw("listCorporateActions", 400, list, err); err != nil {
		return err
	}
	for id, status := range map[string]int{"x": 400, uuid.NewString(): 404} {
		one, err = p.client.GetCorporateActionWithResponse(ctx, id, nil)
		if err := saw("getCorporateAction", status, one, err); err != nil {
			return err
		}
		effects, err = p.client.ListCorporateActionEffectsWithResponse(ctx, id, nil)
		if err := saw("listCorporateActionEffects", status, effects, err); err != nil {
			return err
		}
	}
	return nil
}
