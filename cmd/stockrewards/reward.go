package main

import (
	"context"
	"unicode/utf8"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
	"stockrewards/internal/store"
)

type rewardCommands struct {
	Reverse rewardReverse `cmd:"" help:"Take a reward back, or a part of it. A reward that is in no order yet fails, and nothing is bought for it. Shares that were bought go to the house."`
	List    rewardList    `cmd:"" help:"List an app's rewards, newest first."`
	Show    rewardShow    `cmd:"" help:"Show a reward of any app: what happened to it, its orders, and what it waits for."`
}

type rewardReverse struct {
	databaseFlag
	ID     string `arg:"" help:"The reward's id."`
	Amount string `placeholder:"USD" help:"Take back only this part of the amount; by default all that is left."`
	Reason string `required:"" placeholder:"TEXT" help:"Give a reason of at most 200 characters. The app reads it in the reversal, and as the reward's failureReason."`
}

func (c *rewardReverse) Run(ctx context.Context) error {
	id, err := rewards.ParseID[rewards.Reward](c.ID)
	if err != nil {
		return usageErrorf("ID: %w", err)
	}
	var amount money.USD // 0: all that is left
	if c.Amount != "" {
		if amount, err = money.ParseUSD(c.Amount); err != nil || amount <= 0 {
			const must = "an amount of dollars greater than 0, with at most 6 decimals"
			return numberError("--amount", c.Amount, err, must)
		}
	}
	if utf8.RuneCountInString(c.Reason) > rewards.MaxReversalReason {
		return usageErrorf("--reason must have at most %d characters: the app reads it", rewards.MaxReversalReason)
	}
	return c.operate(ctx, "reward reverse", required(c.Reason), func(s *store.Operator) error {
		v, r, err := s.ReverseReward(ctx, id, amount, s.By().Reason)
		if err != nil {
			return err
		}
		sayf("reversal %s: %s of %s of %s is taken back\n", v.ID, v.Amount, r.Amount, r.Symbol)
		sayln(became(v, r))
		return nil
	})
}

// became says what becomes of a reward that an operator took back.
func became(v rewards.Reversal, r rewards.Reward) string {
	switch {
	case r.Status == rewards.Failed:
		return "the reward is failed (" + r.FailureReason + "); nothing is bought for it"
	case v.State == rewards.ReversalOrdered:
		return "the reward is executed: the running service takes the shares within a second"
	default:
		return "the reward is " + r.Status.String() + ": the shares are taken when it is executed"
	}
}
