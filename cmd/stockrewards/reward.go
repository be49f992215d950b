package main

import (
	"context"

	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type rewardCommands struct {
	Reverse rewardReverse `cmd:"" help:"Reverse a recorded reward that is in no order yet: it fails, and nothing is bought for it."`
}

type rewardReverse struct {
	databaseFlag
	ID     string `arg:"" help:"The reward's id."`
	Reason string `required:"" placeholder:"TEXT" help:"Give a reason, which the app reads as the reward's failureReason."`
}

func (c *rewardReverse) Run(ctx context.Context) error {
	id, err := rewards.ParseID[rewards.Reward](c.ID)
	if err != nil {
		return usageErrorf("ID: %w", err)
	}
	return c.operate(ctx, "reward reverse", required(c.Reason), func(s *store.Operator) error {
		r, err := s.CancelReward(ctx, id, s.By().Reason)
		return said(err, "reversed: %s of %s; the reward is %s (%s)\n", r.Amount, r.Symbol, r.Status, r.FailureReason)
	})
}
