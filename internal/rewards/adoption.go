package rewards

import (
	"slices"

	"stockrewards/internal/money"
)

// PlanAdoption makes rewards that wait for an asset the members of an order that exists at
// the broker already: as many as its notional pays for, chosen as PlanOrder does. The house
// has the rest. It fails with CodeConflict when the order is not one that this service
// sends, or pays for no reward.
func PlanAdoption(queues []Queue, b BrokerOrder) (Plan, error) {
	refuse := func(message string) (Plan, error) {
		return Plan{}, &Error{Code: CodeConflict, Message: message}
	}
	if b.Problem != "" || b.Side != "buy" || b.Notional < MinNotional || b.Notional%money.Cent != 0 {
		return refuse("this is not an order that the service could have sent")
	}
	d := newDraft(queues, MaxMembers, PlanLimits{MaxNotional: b.Notional, DailyLeft: b.Notional})
	d.takeTurns()
	slices.SortFunc(d.members, func(a, b Member) int { return arrival(a.RewardID, b.RewardID) })
	p := Plan{Members: d.members, Notional: b.Notional, House: b.Notional - d.sum}
	if len(p.Members) == 0 {
		return refuse("no reward waits that the order could pay for: acknowledge it, and its stock is the house's")
	}
	return p, nil
}
