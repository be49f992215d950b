package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"stockrewards/internal/rewards"
)

// createReward serves POST /v1/rewards (specification, section 4.5).
func (s *server) createReward(ctx context.Context, c call) (reply, error) {
	f, err := s.parse(c.body)
	if err != nil {
		return reply{}, err
	}
	r, err := f.newReward(c.app)
	if err != nil {
		return reply{}, err
	}
	c.ticket.Decoded()
	stored, replayed, err := s.Service.Award(ctx, r)
	if err != nil {
		return reply{}, err
	}
	return keyed(s, "reward", appendReward, stored, stored.Status, replayed), nil
}

// keyed answers a request with an idempotency key: 201, or 200 for a replay.
func keyed[T any](
	s *server, name string, write func([]byte, T) []byte, item T, status fmt.Stringer, replayed bool,
) reply {
	code := http.StatusCreated
	if replayed {
		code = http.StatusOK
	}
	o := s.begin()
	appendObject(&o, name, write, item)
	o.string("status", status.String())
	o.boolean("idempotentReplay", replayed)
	return o.reply(code)
}

// newReward reads a request for an award. It fails with every issue.
func (f *form) newReward(app rewards.AppID) (rewards.NewReward, error) {
	r := rewards.NewReward{
		AppID:          app,
		UserID:         f.userID("userId"),
		IdempotencyKey: f.string("idempotencyKey", true, bounds{rewards.MinIdempotencyKey, rewards.MaxIdempotencyKey}),
		Amount:         f.amount("amountUsd"),
		Symbol:         rewards.UpperSymbol(f.string("assetSymbol", true, bounds{1, rewards.MaxSymbol})),
		Source:         f.string("source", false, bounds{1, rewards.MaxSource}),
	}
	r.Metadata, r.Canonical = f.metadata("metadata")
	if err := f.err(); err != nil {
		return r, err
	}
	r.Fingerprint = rewards.NewFingerprint(r, r.Canonical)
	return r, nil
}

// getReward serves GET /v1/rewards/{rewardId} (specification, section 4.6).
func (s *server) getReward(ctx context.Context, c call) (reply, error) {
	id, err := pathID[rewards.Reward](c, "rewardId")
	if err != nil {
		return reply{}, err
	}
	r, err := s.Service.Reward(ctx, c.app, id)
	return single(s, http.StatusOK, "reward", appendReward, r, err)
}

// listRewards serves GET /v1/rewards (specification, section 4.7).
func (s *server) listRewards(ctx context.Context, c call) (reply, error) {
	q := c.query("userId", "status", "idempotencyKey", "createdAfter", "createdBefore")
	filter := rewards.RewardFilter{
		UserID:         optionalID[rewards.User](q, "userId"),
		Status:         q.status("status"),
		IdempotencyKey: q.idempotencyKey("idempotencyKey"),
		CreatedAfter:   q.moment("createdAfter"),
		CreatedBefore:  q.moment("createdBefore"),
	}
	return listing[rewards.Reward]{
		name: "rewards",
		read: func(place []byte, limit int) ([]rewards.Reward, error) {
			return s.Service.Rewards(ctx, c.app, filter, pageOf[rewards.Reward](place, limit))
		},
		place:  func(r rewards.Reward) []byte { return r.ID[:] },
		append: appendReward,
	}.reply(s, c, q)
}

// appendReward writes an award (specification, section 2.2).
func appendReward(b []byte, r rewards.Reward) []byte {
	o := begin(b)
	o.id("id", r.ID.Append)
	o.id("appId", r.AppID.Append)
	o.id("userId", r.UserID.Append)
	o.string("idempotencyKey", r.IdempotencyKey)
	o.number("amountUsd", r.Amount.Append)
	o.string("assetSymbol", r.Symbol)
	o.optional("source", r.Source)
	o.raw("metadata", cmp.Or(r.Metadata, "{}"))
	o.string("status", r.Status.String())
	o.time("createdAt", r.CreatedAt())
	o.optionalTime("executedAt", r.ExecutedAt)
	o.optional("failureReason", r.FailureReason)
	return o.end()
}
