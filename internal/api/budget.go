package api

import (
	"context"
	"net/http"

	"stockrewards/internal/rewards"
)

// listBudgets serves GET /v1/budgets (additions, section 3).
func (s *server) listBudgets(ctx context.Context, c call) (reply, error) {
	budgets, err := s.Service.Budgets(ctx, c.app)
	if err != nil {
		return reply{}, err
	}
	o := s.begin()
	appendList(&o, "budgets", budgets, appendBudget)
	return o.reply(http.StatusOK), nil
}

// appendBudget writes a budget (additions, section 3).
func appendBudget(b []byte, u rewards.BudgetUse) []byte {
	o := begin(b)
	o.string("name", u.Name)
	o.string("per", u.Per.String())
	o.string("period", u.Period.String())
	o.number("limitUsd", u.Limit.Append)
	if u.Per == rewards.PerApp {
		o.number("usedUsd", u.Used.Append)
	} else {
		o.raw("usedUsd", "null")
	}
	o.optionalTime("resetsAt", u.ResetsAt)
	return o.end()
}
