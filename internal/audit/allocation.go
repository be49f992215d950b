package audit

import (
	"stockrewards/internal/audit/reader"
	"stockrewards/internal/audit/value"
)

// pastAllocation is what a row of past_allocations has beyond its part.
type pastAllocation struct {
	app, reward, order string
	user               string
	at, cost           int64
}

func (b *pastAllocation) name() string {
	return "allocation of order " + value.UUID(b.order) + " to " + rewardName(b.app, b.reward)
}

// activity describes what an allocation is in its user's activity.
func (b *pastAllocation) activity() string {
	return "of user " + value.Hex(b.user) + ", at " + value.Time(b.at) + ", with a cost basis of " + value.USD(b.cost)
}

func pastStream() reader.Stream[pastAllocation] {
	return reader.Stream[pastAllocation]{
		What: "allocations of an earlier version",
		Query: `SELECT app_id, reward_id, order_id, user_id, at, cost FROM past_allocations
			ORDER BY app_id, reward_id, order_id`,
		Bind: func(b *pastAllocation) []any {
			return []any{&b.app, &b.reward, &b.order, &b.user, &b.at, &b.cost}
		},
		Key: func(b *pastAllocation) reader.Key { return reader.Key{b.app, b.reward} },
	}
}

// checkAllocations checks that each part that bought something is of another settled order, and that the
// last one completes an executed reward.
func (a *auditor) checkAllocations(v *rewardView) {
	seen := 0
	for i := range v.parts {
		p := &v.parts[i]
		if !p.allocated() {
			if p.completes != 0 {
				a.t.fail(checkActivity, p.name(), "nothing bought that completes the reward", "an allocation")
			}
			continue
		}
		seen++
		a.t.row(checkAllocationUnique)
		if i > 0 && p.order == v.parts[i-1].order && v.parts[i-1].allocated() {
			a.t.fail(checkAllocationUnique, p.name(), "another allocation", "one")
		}
		a.t.row(checkAllocationMember)
		if p.state != value.Settled {
			a.t.fail(checkAllocationMember, p.name(), "an order that is "+value.OrderState(p.state), "a settled order")
			continue
		}
		a.t.row(checkActivity)
		if last := seen == v.allocations && v.status == executed; last != (p.completes == 1) {
			a.t.fail(checkActivity, p.name(), "completes "+value.Int(p.completes)+", "+v.describe(),
				"1 exactly for the last part of an executed reward")
		}
	}
	for i := range v.past {
		a.checkPast(v, i)
	}
}

// checkPast checks an allocation that is not moved. Its activity must add up to the holdings, which users
// compares with the parts.
func (a *auditor) checkPast(v *rewardView, i int) {
	b, last := &v.past[i], ""
	if i > 0 && b.order == v.past[i-1].order {
		a.t.fail(checkAllocationUnique, b.name(), "another allocation", "one")
	}
	var of *part
	for n := range v.parts {
		if v.parts[n].order == b.order {
			of = &v.parts[n]
		}
		if v.parts[n].allocated() {
			last = v.parts[n].order
		}
	}
	switch {
	case of == nil:
		a.t.fail(checkAllocationMember, b.name(), "an order that did not carry it", "an order that did")
		return
	case of.place > 0:
		a.t.fail(checkPlaces, b.name(), "an order whose members have places", "an order without a number")
	}
	want := pastAllocation{user: v.user, at: of.settledAt}
	if last == b.order && v.status == executed {
		want.cost = v.amount
	}
	if found := (pastAllocation{user: b.user, at: b.at, cost: b.cost}); found != want {
		a.t.fail(checkActivity, b.name(), found.activity(), want.activity())
	}
}
