package audit

import (
	"fmt"

	"stockrewards/internal/audit/value"
)

// A member has a place: the number of its order x 1,024 + its position. Members that an earlier version
// booked have none until they are moved, and neither have their orders a number.

// booked reports whether the part has a place in an order that has ended.
func (p *part) booked() bool { return p.place > 0 && p.state >= value.Settled }

// livePlaces checks that each part with a place is of an order, and unchanged until that is booked.
func livePlaces(v *rewardView) (found, expected string) {
	for i := range v.parts {
		p := &v.parts[i]
		found, expected = judge(
			func() string {
				return fmt.Sprintf("place %d of order %s, %s for %s of %s, completes %d, before %d", p.place,
					value.UUID(p.order), value.Shares(p.shares), value.USD(p.bought), value.USD(p.amount),
					p.completes, p.before)
			},
			must{p.place == 0 || p.state != 0, "an order with the number of the place"},
			must{p.bought >= 0 && p.bought <= p.amount, "a rest from $0 to its amount"},
			must{!p.live() || !p.allocated() && p.completes == 0, "nothing bought until the order is final"},
			must{!p.live() || p.before == 0, "no place before until the order is final"},
		)
		if expected != "" {
			return found, expected
		}
	}
	return "", ""
}

// chain checks that the reward's place and then the one before of each member lead to each of its booked
// places once.
func chain(v *rewardView) (found, expected string) {
	var shares value.Sum
	booked, live := 0, int64(0)
	for i := range v.parts {
		switch p := &v.parts[i]; {
		case p.booked():
			booked++
			shares.Add(p.shares)
		case p.live():
			live = p.place
		}
	}
	visited, place := 0, v.place
	for place != 0 && visited <= booked {
		visited++
		at := v.bookedAt(place)
		if at == nil {
			return "place " + value.Int(place), "a place of the reward in an order that has ended"
		}
		place = at.before
	}
	open := openReward{}
	if len(v.open) > 0 {
		open = v.open[0]
	}
	ordered := open.status == executing && open.waiting == 0
	return judge(
		func() string {
			return fmt.Sprintf("place %d, %d places found of %d, %s, place %d while it is open", v.place, visited,
				booked, value.Shares(v.reward.shares), open.place)
		},
		must{visited == booked, "each place once"},
		must{shares.Is(v.reward.shares), shares.Shares() + ", of these places"},
		must{!ordered || open.place == live, "place " + value.Int(live) + ", in the order that has it"},
		must{open.status != recorded || open.place == 0, "no place while it was in no order"},
	)
}

// bookedAt returns the booked part with a place; nil: none has it.
func (v *rewardView) bookedAt(place int64) *part {
	for i := range v.parts {
		if p := &v.parts[i]; p.place == place && p.booked() {
			return p
		}
	}
	return nil
}

// orderPlaces checks that the members of an order are stored as its number says.
func orderPlaces(v *orderView) (found, expected string) {
	places := 0
	for i := range v.members {
		if v.members[i].place > 0 {
			places++
		}
	}
	final := v.state == value.Settled || v.state == value.Refused
	return judge(
		func() string {
			return fmt.Sprintf("number %d, %d of %d members with a place, %s", v.number, places, len(v.members),
				value.OrderState(v.state))
		},
		must{v.number > 0 || v.number == 0 && final, "a number, unless an earlier version has booked it"},
		must{v.number == 0 || places == len(v.members), "a place for each member of an order with a number"},
		must{v.number > 0 || places == 0, "no places in an order without a number"},
	)
}
