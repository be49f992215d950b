package main

import (
	"context"
	"fmt"

	"example.com/rewardsclient/api"
)

// batch sends a new award, one that was recorded before, and each refusal. It reads the results.
func (p *program) batch(ctx context.Context) error {
	with := func(change func(*api.NewReward)) api.NewReward {
		award := p.award()
		award.IdempotencyKey = "go-in-a-batch"
		change(&award)
		return award
	}
	sent := api.NewRewards{Rewards: []api.NewReward{
		with(func(*api.NewReward) {}), with(func(*api.NewReward) {}), with(func(a *api.NewReward) { a.AmountUsd = 6 }),
		with(func(a *api.NewReward) { a.IdempotencyKey, a.AssetSymbol = "go-not-listed", "ZZZZZ" }),
		with(func(a *api.NewReward) { a.AmountUsd = 0 }),
	}}
	got, err := p.client.CreateRewardsWithResponse(ctx, nil, sent)
	if err := saw("createRewards", 200, got, err); err != nil {
		return err
	}
	if s := got.JSON200.Summary; s.Created != 1 || s.Replayed != 1 || s.Refused != 3 {
		return fmt.Errorf("the summary is %+v", s)
	}
	for i, want := range []api.BatchResultStatus{201, 200, 409, 422, 400} {
		r := got.JSON200.Results[i]
		if r.Index != i || r.Status != want || (r.Reward == nil) != (want > 201) || (r.Error == nil) != (want <= 201) {
			return fmt.Errorf("result %d is %+v, want %d", i, r, want)
		}
	}
	if first := got.JSON200.Results[0].Reward; first.AmountUsd != 5.25 || first.IdempotencyKey != "go-in-a-batch" {
		return fmt.Errorf("the award is %+v", first)
	}
	return nil
}
