package api

import (
	"context"
	"net/http"

	"stockrewards/internal/money"
	"stockrewards/internal/rewards"
)

// createReversal serves POST /v1/rewards/{rewardId}/reversals (additions, section 1).
func (s *server) createReversal(ctx context.Context, c call) (reply, error) {
	id, f := formOf[rewards.Reward](s, c, "rewardId")
	n := rewards.NewReversal{
		AppID: c.app, RewardID: id,
		IdempotencyKey: f.string("idempotencyKey", true, bounds{rewards.MinIdempotencyKey, rewards.MaxIdempotencyKey}),
		Amount:         f.optionalAmount("amountUsd"),
		Reason:         f.string("reason", false, bounds{1, rewards.MaxReversalReason}),
	}
	if err := c.wrongIn(f); err != nil {
		return reply{}, err
	}
	r, replayed, err := s.Service.Reverse(ctx, n)
	if err != nil {
		return reply{}, err
	}
	return keyed(s, "reversal", appendReversal, r, r.State, replayed), nil
}

// optionalAmount reads an optional amount in dollars; 0 means not given.
func (f *form) optionalAmount(name string) money.USD {
	if !f.given(name) {
		return 0
	}
	return f.amount(name)
}

// getReversal serves GET /v1/reversals/{reversalId} (additions, section 1).
func (s *server) getReversal(ctx context.Context, c call) (reply, error) {
	id, err := pathID[rewards.Reversal](c, "reversalId")
	if err != nil {
		return reply{}, err
	}
	r, err := s.Service.Reversal(ctx, c.app, id)
	return single(s, http.StatusOK, "reversal", appendReversal, r, err)
}

// listReversals serves GET /v1/reversals (additions, section 1).
func (s *server) listReversals(ctx context.Context, c call) (reply, error) {
	q := c.query("rewardId", "userId", "status")
	filter := rewards.ReversalFilter{
		RewardID: optionalID[rewards.Reward](q, "rewardId"),
		UserID:   optionalID[rewards.User](q, "userId"),
		State:    q.reversalState("status"),
	}
	return listing[rewards.Reversal]{
		name: "reversals",
		read: func(place []byte, limit int) ([]rewards.Reversal, error) {
			return s.Service.Reversals(ctx, c.app, filter, pageOf[rewards.Reversal](place, limit))
		},
		place:  func(r rewards.Reversal) []byte { return r.ID[:] },
		append: appendReversal,
	}.reply(s, c, q)
}

// reversalState reads an optional status of reversals; 0 means not given.
func (q *query) reversalState(name string) rewards.ReversalState {
	value, ok := q.one(name)
	switch {
	case !ok:
		return 0
	case value == rewards.ReversalPending.String():
		return rewards.ReversalPending
	case value == rewards.ReversalCompleted.String():
		return rewards.ReversalCompleted
	}
	q.issue(name, "must be one of pending, completed")
	return 0
}

// appendReversal writes a reversal (additions, section 1).
func appendReversal(b []byte, r rewards.Reversal) []byte {
	o := begin(b)
	o.id("id", r.ID.Append)
	o.id("appId", r.AppID.Append)
	o.id("rewardId", r.RewardID.Append)
	o.id("userId", r.UserID.Append)
	o.string("idempotencyKey", r.IdempotencyKey)
	o.number("amountUsd", r.Amount.Append)
	o.number("quantity", r.Quantity.Append)
	o.optional("reason", r.Reason)
	o.string("status", r.State.String())
	o.time("createdAt", r.CreatedAt())
	o.optionalTime("completedAt", r.CompletedAt)
	return o.end()
}
