package audit

import (
	"fmt"

	"stockrewards/internal/audit/value"
)

// settlement checks the result of a settled order, member by member.
func (a *auditor) settlement(v *orderView) {
	left, parts := v.carried+v.given(), int64(0)
	for i := range v.members {
		m := &v.members[i]
		due := max(0, min(m.amount, left))
		left -= due
		if due > 0 {
			parts++
		}
		a.memberDue(v, m, due)
	}
	left -= v.given()
	a.dollars(v, left)
	a.residue(v, left, parts)
}

// given returns the dollars for which the house gave its own shares: what the parts exceed the
// carried dollars by, at most what it offered in proportion to these.
func (v *orderView) given() int64 {
	offered, ok := value.MulDiv(max(0, -v.house), v.carried, v.notional)
	if parts, fits := v.booked.Minus(value.SumOf(v.carried)).Int64(); ok && fits {
		return max(0, min(offered, parts))
	}
	return 0
}

// memberDue checks that a member got its part of the dollars, and the shares for it.
func (a *auditor) memberDue(v *orderView, m *member, due int64) {
	a.t.row(checkOneSplit)
	if m.booked != due || m.allocated() != (due > 0) {
		a.t.fail(checkOneSplit, m.name(), "a part of "+value.USD(m.booked),
			value.USD(due)+" of the carried "+value.USD(v.carried)+", by its position")
	}
	if !m.allocated() {
		return
	}
	a.t.row(checkAllocationFloor)
	want, ok := value.MulDiv(v.filledQty, m.booked, v.carried)
	if !ok || want != m.shares {
		a.t.fail(checkAllocationFloor, m.name(), value.Shares(m.shares), fmt.Sprintf("%s, floor(%s x %s / %s)",
			value.Shares(want), value.Shares(v.filledQty), value.USD(m.booked), value.USD(v.carried)))
	}
}

func (m *member) name() string {
	return fmt.Sprintf("member %d of order %s, %s", m.position, value.UUID(m.order), rewardName(m.app, m.reward))
}

// dollars checks that the parts and the house's dollars are the carried ones.
func (a *auditor) dollars(v *orderView, house int64) {
	a.t.row(checkDollarsSum)
	if !v.booked.Plus(value.SumOf(house)).Is(v.carried) {
		a.t.fail(checkDollarsSum, v.name(),
			v.booked.USD()+" of the parts and "+value.USD(house)+" of the house", value.USD(v.carried))
	}
}

// residue checks the house's shares: what its dollars bought, and what rounding down left of
// each part, its own included.
func (a *auditor) residue(v *orderView, house, parts int64) {
	a.t.row(checkHouseResidue)
	if v.carried == 0 {
		return // the fill cost less than a millionth of a dollar: the house has all of it
	}
	if house > 0 {
		parts++
	}
	if house < 0 {
		a.houseGave(v, -house, parts)
		return
	}
	own, ok := value.MulDiv(v.filledQty, house, v.carried)
	if rest := v.houseShares - own; !ok || rest < 0 || rest >= parts {
		a.t.fail(checkHouseResidue, v.name(), value.Shares(v.houseShares)+" of the house",
			fmt.Sprintf("%s for its %s, and less than %s more",
				value.Shares(own), value.USD(house), value.Shares(parts)))
	}
}

// houseGave checks the shares that the house gave: at the fill's price, rounded down for each part.
func (a *auditor) houseGave(v *orderView, dollars, parts int64) {
	due, ok := value.MulDiv(v.filledQty, dollars, v.carried)
	if short := due + v.houseShares; !ok || short < 0 || short >= parts {
		a.t.fail(checkHouseResidue, v.name(), value.Shares(v.houseShares)+" of the house",
			fmt.Sprintf("-%s for %s of the members' amounts, and less than %s fewer",
				value.Shares(due), value.USD(dollars), value.Shares(parts)))
	}
}
