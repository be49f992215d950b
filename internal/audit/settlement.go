package audit

import "fmt"

// settlement checks what a settled order brought, member by member.
func (a *auditor) settlement(v *orderView) {
	left, parts := v.carried, int64(0)
	for i := range v.members {
		m := &v.members[i]
		due := max(0, min(m.amount, left))
		left -= due
		if due > 0 {
			parts++
		}
		a.memberDue(v, m, due)
	}
	a.dollars(v, left)
	a.residue(v, left, parts)
}

// memberDue checks that a member got its part of the dollars, and for it the shares.
func (a *auditor) memberDue(v *orderView, m *member, due int64) {
	a.t.row(checkOneSplit)
	if m.booked != due || (m.allocated != 0) != (due > 0) {
		a.t.fail(checkOneSplit, m.name(), "a part of "+usd(m.booked),
			usd(due)+" of the "+usd(v.carried)+" that were carried, by its position")
	}
	if m.allocated == 0 {
		return
	}
	a.t.row(checkAllocationFloor)
	want, ok := mulDiv(v.filledQty, m.booked, v.carried)
	if !ok || want != m.shares {
		a.t.fail(checkAllocationFloor, m.name(), shares(m.shares), fmt.Sprintf(
			"%s, floor(%s x %s / %s)", shares(want), shares(v.filledQty), usd(m.booked), usd(v.carried)))
	}
}

func (m *member) name() string {
	return fmt.Sprintf("member %d of order %s, %s", m.position, uuid(m.order), rewardName(m.app, m.reward))
}

// dollars checks that nothing was lost between the members and the house.
func (a *auditor) dollars(v *orderView, house int64) {
	a.t.row(checkDollarsSum)
	if !v.booked.plus(wideOf(house)).is(v.carried) {
		a.t.fail(checkDollarsSum, v.name(),
			v.booked.usd()+" of the parts and "+usd(house)+" of the house", usd(v.carried))
	}
}

// residue checks what the house got beyond what its dollars bought: what the
// floors of the parts, and of its own, left.
func (a *auditor) residue(v *orderView, house, parts int64) {
	a.t.row(checkHouseResidue)
	if v.carried == 0 {
		return // dust: not a millionth of a dollar was spent, so nobody got a part
	}
	if house > 0 {
		parts++
	}
	own, ok := mulDiv(v.filledQty, house, v.carried)
	if rest := v.houseShares - own; !ok || rest < 0 || rest >= parts {
		a.t.fail(checkHouseResidue, v.name(), shares(v.houseShares)+" of the house",
			fmt.Sprintf("%s for its %s, and less than %s more", shares(own), usd(house), shares(parts)))
	}
}
