package api

import (
	"context"
	"net/http"

	"stockrewards/internal/rewards"
)

// createReward answers POST /v1/rewards (specification, section 4.5).
func (s *server) createReward(ctx context.Context, c call) (reply, error) {
	f, err := parse(c.body)
	if err != nil {
		return reply{}, err
	}
	r := rewards.NewReward{
		AppID:          c.app,
		UserID:         f.userID("userId"),
		IdempotencyKey: f.text("idempotencyKey", true, bounds{rewards.MinIdempotencyKey, rewards.MaxIdempotencyKey}),
		Amount:         f.amount("amountUsd"),
		Symbol:         rewards.UpperSymbol(f.text("assetSymbol", true, bounds{1, rewards.MaxSymbol})),
		Source:         f.text("source", false, bounds{1, rewards.MaxSource}),
	}
	kept, canonical := f.metadata("metadata")
	if err := f.err(); err != nil {
		return reply{}, err
	}
	r.Metadata, r.Canonical, r.Fingerprint = kept, canonical, rewards.NewFingerprint(r, canonical)
	stored, replayed, err := s.Service.Award(ctx, r)
	if err != nil {
		return reply{}, err
	}
	a := reply{status: http.StatusCreated}
	if replayed {
		a.status = http.StatusOK
	}
	o := begin(nil)
	o.name("reward")
	o.b = appendReward(o.b, stored)
	o.text("status", stored.Status.String())
	o.boolean("idempotentReplay", replayed)
	a.body = o.end()
	return a, nil
}

// getReward answers GET /v1/rewards/{rewardId} (specification, section 4.6).
func (s *server) getReward(ctx context.Context, c call) (reply, error) {
	id, err := pathID[rewards.Reward](c, "rewardId")
	if err != nil {
		return reply{}, err
	}
	r, err := s.Service.Reward(ctx, c.app, id)
	if err != nil {
		return reply{}, err
	}
	o := begin(nil)
	o.name("reward")
	o.b = appendReward(o.b, r)
	return reply{status: http.StatusOK, body: o.end()}, nil
}

// listRewards answers GET /v1/rewards (specification, section 4.7).
func (s *server) listRewards(ctx context.Context, c call) (reply, error) {
	q := c.query()
	filters := filtersOf(q.values, "userId", "status")
	filter := rewards.RewardFilter{UserID: q.userID("userId"), Status: q.status("status")}
	p := page[rewards.Reward](s, c, q, filters)
	if err := q.err(); err != nil {
		return reply{}, err
	}
	limit := p.Limit
	p.Limit++ // one more tells whether there is a next page
	found, err := s.Service.Rewards(ctx, c.app, filter, p)
	if err != nil {
		return reply{}, err
	}
	a := reply{status: http.StatusOK}
	if len(found) > limit {
		found = found[:limit]
		a.link = next(s, c, filters, found[limit-1].ID, limit)
	}
	o := begin(nil)
	list(&o, "rewards", found, appendReward)
	a.body = o.end()
	return a, nil
}

// appendReward writes a stock award (specification, section 2.2).
func appendReward(b []byte, r rewards.Reward) []byte {
	o := begin(b)
	o.id("id", r.ID)
	o.id("appId", r.AppID)
	o.id("userId", r.UserID)
	o.text("idempotencyKey", r.IdempotencyKey)
	o.number("amountUsd", r.Amount)
	o.text("assetSymbol", r.Symbol)
	o.optional("source", r.Source)
	if r.Metadata == "" {
		o.raw("metadata", "{}")
	} else {
		o.raw("metadata", r.Metadata)
	}
	o.text("status", r.Status.String())
	o.time("createdAt", r.CreatedAt())
	if r.ExecutedAt.IsZero() {
		o.null("executedAt")
	} else {
		o.time("executedAt", r.ExecutedAt)
	}
	o.optional("failureReason", r.FailureReason)
	return o.end()
}
