package api

import (
	"context"
	"net/http"

	"stockrewards/internal/rewards"
)

// getTimeline serves GET /v1/rewards/{rewardId}/timeline (additions, section 6).
func (s *server) getTimeline(ctx context.Context, c call) (reply, error) {
	id, err := pathID[rewards.Reward](c, "rewardId")
	if err != nil {
		return reply{}, err
	}
	list, err := s.Service.Timeline(ctx, c.app, id)
	if err != nil {
		return reply{}, err
	}
	o := s.begin()
	appendList(&o, "timeline", list, appendTimelineEntry)
	return o.reply(http.StatusOK), nil
}

// appendTimelineEntry writes an entry of a timeline (additions, section 6).
func appendTimelineEntry(b []byte, e rewards.TimelineEntry) []byte {
	o := begin(b)
	o.time("at", e.At)
	o.string("type", e.Type)
	o.string("message", e.Message)
	if e.Order != nil {
		appendObject(&o, "data", appendOrdered, e.Order)
	}
	return o.end()
}

// appendOrdered writes a reward's part in an order, as far as it is known.
func appendOrdered(b []byte, r *rewards.Ordered) []byte {
	o := begin(b)
	o.string("clientOrderId", r.ClientOrderID)
	o.number("notionalUsd", r.Notional.Append)
	if r.FilledQty > 0 {
		o.number("filledQuantity", r.FilledQty.Append)
		o.number("averagePriceUsd", r.FilledAvgPrice.Append)
	}
	if r.State.Final() {
		o.number("quantity", r.Bought.Shares.Append)
	}
	return o.end()
}
