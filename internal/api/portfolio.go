package api

import (
	"context"
	"net/http"

	"stockrewards/internal/rewards"
)

// getPortfolio serves GET /v1/users/{userId}/portfolio (specification, section 4.4).
func (s *server) getPortfolio(ctx context.Context, c call) (reply, error) {
	id, err := pathID[rewards.User](c, "userId")
	if err != nil {
		return reply{}, err
	}
	p, err := s.Service.Portfolio(ctx, c.app, id)
	if err != nil {
		return reply{}, err
	}
	o := s.begin()
	o.number("value", p.Value.Append)
	o.number("costBasis", p.CostBasis.Append)
	o.optional("change", p.Change)
	appendList(&o, "holdings", p.Holdings, appendHolding)
	return o.reply(http.StatusOK), nil
}

// appendHolding writes a holding (specification, section 2.3).
func appendHolding(b []byte, h rewards.ValuedHolding) []byte {
	o := begin(b)
	o.string("asset", h.Symbol)
	o.number("quantity", h.Quantity.Append)
	o.number("value", h.Value.Append)
	o.number("costBasis", h.CostBasis.Append)
	o.optional("change", h.Change)
	return o.end()
}
