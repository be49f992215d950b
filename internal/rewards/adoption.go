package rewards

import "stockrewards/internal/money"

// PlanAdoption makes the rewards that wait for an asset, given in order of arrival,
// the members of an order that exists at the broker already: as many as its
// notional pays for. The house has the rest. It fails with CodeConflict when the
// order is none that this service sends, or pays for no reward.
func PlanAdoption(waiting []Waiting, b BrokerOrder) (Plan, error) {
	refuse := func(message string) (Plan, error) {
		return Plan{}, &Error{Code: CodeConflict, Message: message}
	}
	if b.Problem != "" || b.Side != "buy" || b.Notional < MinNotional || b.Notional%money.Cent != 0 {
		return refuse("this is not an order that the service could have sent")
	}
	p := Plan{Notional: b.Notional, House: b.Notional}
	for _, w := range waiting {
		if len(p.Members) == MaxMembers || w.Pending > p.House {
			break
		}
		p.House -= w.Pending
		p.Members = append(p.Members, Member{AppID: w.AppID, RewardID: w.RewardID, Amount: w.Pending})
	}
	if len(p.Members) == 0 {
		return refuse("no reward waits that the order could pay for: acknowledge it, and its stock is the house's")
	}
	return p, nil
}
