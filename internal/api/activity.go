package api

import (
	"context"

	"stockrewards/internal/rewards"
)

// listActivity serves GET /v1/users/{userId}/activity (additions, section 6).
func (s *server) listActivity(ctx context.Context, c call) (reply, error) {
	q := c.query()
	user, err := rewards.ParseID[rewards.User](c.parameter)
	if err != nil {
		q.issue("userId", err.Error())
	}
	return listing[rewards.UserActivity]{
		name: "activity",
		read: func(place []byte, limit int) ([]rewards.UserActivity, error) {
			page := rewards.ActivityPage{Before: rewards.ParseActivityPlace(place), Limit: limit}
			return s.Service.Activity(ctx, c.app, user, page)
		},
		place: func(a rewards.UserActivity) []byte { return a.Place.Append(nil) },
		append: func(b []byte, a rewards.UserActivity) []byte {
			return appendActivity(b, a.ID(c.app, user), a)
		},
	}.reply(s, c, q)
}

// appendActivity writes a change of a user's holding (additions, section 6).
func appendActivity(b []byte, id rewards.ID[rewards.UserActivity], a rewards.UserActivity) []byte {
	o := begin(b)
	o.id("id", id.Append)
	o.string("type", a.Type)
	o.time("at", a.Place.At)
	o.string("assetSymbol", a.Symbol)
	o.number("quantity", a.Quantity.Append)
	o.number("costBasis", a.CostBasis.Append)
	if a.Price > 0 {
		o.number("priceUsd", a.Price.Append)
	} else {
		o.raw("priceUsd", "null")
	}
	if a.RewardID.IsZero() {
		o.raw("rewardId", "null")
	} else {
		o.id("rewardId", a.RewardID.Append)
	}
	if a.ReversalID.IsZero() {
		o.raw("reversalId", "null")
	} else {
		o.id("reversalId", a.ReversalID.Append)
	}
	o.optional("corporateActionId", a.ActionID)
	return o.end()
}
