package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"example.com/rewardsclient/api"
)

// reversals takes an award back, repeats the request, and reads the reversal alone and in the list.
func (p *program) reversals(ctx context.Context) error {
	reason := "the order was returned"
	sent := api.NewReversal{IdempotencyKey: "go-reversal", Reason: &reason}
	made, err := p.client.CreateReversalWithResponse(ctx, p.reward.Id, nil, sent)
	if err := saw("createReversal", 201, made, err); err != nil {
		return err
	}
	r := made.JSON201.Reversal
	if r.Status != api.ReversalStatusCompleted || r.AmountUsd != p.reward.AmountUsd || r.RewardId != p.reward.Id ||
		r.CompletedAt == nil || r.Reason == nil || *r.Reason != reason {
		return fmt.Errorf("the reversal is %s", made.Body)
	}
	p.reversal = r.Id
	again, err := p.client.CreateReversalWithResponse(ctx, p.reward.Id, nil, sent)
	if err := saw("createReversal", 200, again, err); err != nil {
		return err
	}
	if again.JSON200.Reversal.Id != p.reversal || !bool(again.JSON200.IdempotentReplay) {
		return fmt.Errorf("the repetition was answered %s", again.Body)
	}
	list, err := p.client.ListReversalsWithResponse(ctx, &api.ListReversalsParams{RewardId: &p.reward.Id})
	if err := saw("listReversals", 200, list, err); err != nil {
		return err
	}
	if all := list.JSON200.Reversals; len(all) != 1 || all[0].Id != p.reversal {
		return fmt.Errorf("the reversals are %s", list.Body)
	}
	one, err := p.client.GetReversalWithResponse(ctx, p.reversal, nil)
	return saw("getReversal", 200, one, err)
}

// wrongReversals causes every error of reversals that a client can cause.
func (p *program) wrongReversals(ctx context.Context) error {
	other := api.NewReversal{IdempotencyKey: "go-another-reversal"}
	none, err := p.client.CreateReversalWithResponse(ctx, p.reward.Id, nil, other)
	if err := saw("createReversal", 422, none, err); err != nil {
		return err
	}
	if left := none.JSON422.Error.Details.LeftUsd; left != 0 {
		return fmt.Errorf("%v is left of the award", left)
	}
	used, err := p.client.CreateReversalWithResponse(ctx, p.reward.Id, nil, api.NewReversal{IdempotencyKey: "go-reversal"})
	if err := saw("createReversal", 409, used, err); err != nil {
		return err
	}
	if key := used.JSON409.Error.Details.IdempotencyKey; key == nil || *key != "go-reversal" {
		return fmt.Errorf("the 409 is %s", used.Body)
	}
	unknown, err := p.client.CreateReversalWithResponse(ctx, uuid.New(), nil, other)
	if err := saw("createReversal", 404, unknown, err); err != nil {
		return err
	}
	malformed, err := p.client.CreateReversalWithResponse(ctx, p.reward.Id, nil, other, wrongID(p.reward.Id))
	if err := saw("createReversal", 400, malformed, err); err != nil {
		return err
	}
	long := strings.Repeat("x", 70_000)
	other.Reason = &long
	large, err := p.client.CreateReversalWithResponse(ctx, p.reward.Id, nil, other)
	if err := saw("createReversal", 413, large, err); err != nil {
		return err
	}
	const form = "application/x-www-form-urlencoded"
	typed, err := p.client.CreateReversalWithBodyWithResponse(ctx, p.reward.Id, nil, form, strings.NewReader("{}"))
	if err := saw("createReversal", 415, typed, err); err != nil {
		return err
	}
	zero := 0
	list, err := p.client.ListReversalsWithResponse(ctx, &api.ListReversalsParams{Limit: &zero})
	if err := saw("listReversals", 400, list, err); err != nil {
		return err
	}
	one, err := p.client.GetReversalWithResponse(ctx, p.reversal, nil, wrongID(p.reversal))
	if err := saw("getReversal", 400, one, err); err != nil {
		return err
	}
	one, err = p.client.GetReversalWithResponse(ctx, uuid.New(), nil)
	return saw("getReversal", 404, one, err)
}
