package rewards

import (
	"slices"
	"time"

	"stockrewards/internal/money"
)

// PlanAdoption plans the members of an order that was found at the broker: the waiting
// rewards that its notional pays for, in PlanOrder's turns. The rest of the notional is the
// house's. It fails with CodeConflict when this service could not have sent the order, or
// when its notional pays for no reward.
func PlanAdoption(queues []Queue, b BrokerOrder) (Plan, error) {
	refuse := func(message string) (Plan, error) {
		return Plan{}, &Error{Code: CodeConflict, Message: message}
	}
	if b.Problem != "" || b.Side != "buy" || b.Notional < MinNotional || b.Notional%money.Cent != 0 {
		return refuse("the service cannot have sent this order: it must be a buy of at least $1 in whole cents")
	}
	d := newDraft(queues, MaxMembers, PlanLimits{MaxNotional: b.Notional, DailyLeft: b.Notional})
	d.takeTurns()
	slices.SortFunc(d.members, func(a, b Member) int { return arrival(a.RewardID, b.RewardID) })
	p := Plan{Members: d.members, Notional: b.Notional, House: b.Notional - d.sum}
	if len(p.Members) == 0 {
		return refuse("the order pays for no waiting reward: acknowledge it; its shares stay outside the database")
	}
	return p, nil
}

// RefuseAcross fails with CodeConflict when an action of the stock happened between an order at the broker and the
// books: its shares would be booked in other units than they are in.
func RefuseAcross(actions []Action, b BrokerOrder) error {
	for _, a := range actions {
		units := a.Type.Known() && a.Type != ActionCashDividend && a.Type != ActionNameChange
		if !units || a.Type == ActionPosition || b.SubmittedAt.IsZero() {
			continue
		}
		message := "the order is from "
		switch after := !b.SubmittedAt.Before(a.Boundary); {
		case after && (a.State == ActionAnnounced || a.State == ActionHeld):
			message += "after the corporate action " + a.ID + ", which is not applied yet: adopt the orders from " +
				"before it; when the broker's position confirms it, it is applied, and this order can be adopted"
		case !after && (a.State == ActionApplied || a.State == ActionSwept):
			message += "before the corporate action " + a.ID + ", which is applied: take that back with " +
				"`action undo`, adopt the order, and `action apply` it again"
		default:
			continue
		}
		return &Error{Code: CodeConflict, Message: message}
	}
	return nil
}

// adoptedLookup is how long an adopted order is looked up at the broker, which has just
// reported it, before it is quarantined.
const adoptedLookup = 24 * time.Hour

// Adopted returns a planned order that the broker already has: as if this service had sent
// it and did not know the outcome.
func (o Order) Adopted(now time.Time) Order {
	return o.Attempt(now, time.Time{}, notBefore(now, o.CreatedAt()).Add(adoptedLookup))
}
