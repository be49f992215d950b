package rewards

import (
	"slices"

	"stockrewards/internal/money"
)

// draft is an order while PlanOrder chooses its members.
type draft struct {
	lines  []*line
	most   int
	limits PlanLimits

	members   []Member
	sum       money.USD
	skipped   []Skipped
	needsMore bool // as in Plan
}

func newDraft(queues []Queue, most int, l PlanLimits) *draft {
	return &draft{lines: lines(queues), most: most, limits: l}
}

// takeTurns adds the rewards that fit, one of each app in turn.
func (d *draft) takeTurns() {
	for moved := true; moved; {
		moved = false
		for _, q := range d.lines {
			if len(d.members) == d.most {
				return
			}
			moved = d.turn(q) || moved
		}
	}
}

// turn adds the app's next reward that fits and reports whether there was one.
func (d *draft) turn(q *line) bool {
	for ; !q.closed && q.next < len(q.Waiting); q.next++ {
		w := q.Waiting[q.next]
		switch hold := d.impossible(w.Pending); {
		case hold != NoHold:
			d.skip(q.AppID, hold, w.Pending)
		case w.Pending > min(wholeCents(d.limits.MaxNotional), d.limits.quantity())-d.sum:
			q.closed = true // it comes first in the next order
		default:
			d.sum += w.Pending
			d.members = append(d.members, Member{AppID: w.AppID, RewardID: w.RewardID, Amount: w.Pending})
			q.next++
			return true
		}
	}
	d.needsMore = d.needsMore || q.More && !q.closed
	return false
}

// impossible returns why no order can take the amount today; NoHold if one can.
func (d *draft) impossible(pending money.USD) Hold {
	switch {
	case pending > d.limits.quantity():
		return HoldQuantity
	case pending > wholeCents(d.limits.DailyLeft)-d.sum:
		return HoldDaily
	}
	return NoHold
}

func (d *draft) skip(app AppID, hold Hold, pending money.USD) {
	i := slices.IndexFunc(d.skipped, func(p Skipped) bool { return p.AppID == app && p.Hold == hold })
	if i < 0 {
		d.skipped = append(d.skipped, Skipped{AppID: app, Hold: hold, Least: pending})
		i = len(d.skipped) - 1
	}
	d.skipped[i].Count++
	d.skipped[i].Least = min(d.skipped[i].Least, pending)
}

// hold returns why there are no members.
func (d *draft) hold() Hold {
	if len(d.skipped) > 0 {
		return d.skipped[0].Hold // of the app that has waited longest
	}
	return HoldEmpty
}

// order completes the plan p with the members chosen.
func (d *draft) order(p Plan) (Plan, Hold, error) {
	notional, err := d.sum.UpToCent()
	if err != nil {
		return Plan{}, 0, err
	}
	slices.SortFunc(d.members, func(a, b Member) int { return arrival(a.RewardID, b.RewardID) })
	if p.Shortage = d.shortage(notional); p.Shortage > 0 {
		notional += p.Shortage
	}
	if notional < MinNotional {
		p.Shortage = 0
		hold := d.topUp(&p)
		p.Skipped = d.skipped
		if hold == HoldSmallPool && len(d.skipped) > 0 {
			hold = d.skipped[0].Hold // an operator can act on it; a small pool only waits
		}
		if hold != NoHold {
			return p, hold, nil
		}
		notional = MinNotional
	}
	if notional, err = d.lessOffer(notional); err != nil {
		return Plan{}, 0, err
	}
	p.Members, p.Notional, p.House, p.Skipped = d.members, notional, notional-d.sum, d.skipped
	return p, NoHold, nil
}

// lessOffer returns the notional without what the house's own shares pay for.
func (d *draft) lessOffer(notional money.USD) (money.USD, error) {
	if d.limits.Offer <= 0 {
		return notional, nil
	}
	rest, err := max(0, d.sum-d.limits.Offer).UpToCent()
	return min(notional, max(rest, MinNotional)), err
}

// shortage is what the house adds to an order of the notional for the shares that it owes.
func (d *draft) shortage(notional money.USD) money.USD {
	left := min(d.limits.HouseLeft, d.limits.DailyLeft-notional, d.limits.MaxNotional-notional)
	return max(0, wholeCents(min(d.limits.Shortage, left)))
}

// houseOrder completes the plan p of an order without rewards, for the shares that the house owes.
func (d *draft) houseOrder(p Plan) (Plan, Hold, error) {
	notional := max(d.shortage(0), MinNotional)
	switch {
	case notional > d.limits.HouseLeft:
		return p, HoldHouse, nil
	case notional > d.limits.DailyLeft:
		return p, HoldDaily, nil
	}
	p.Notional, p.House, p.Shortage = notional, notional, notional
	return p, NoHold, nil
}

// ShortageCost returns the dollars that buy the shares which the house owes, at the last price and one percent more,
// less what it buys for in orders that are not booked. It is zero when the price is unknown.
func ShortageCost(owed money.Shares, price money.Price, buying money.USD) money.USD {
	if owed <= 0 || price <= 0 {
		return 0
	}
	cost, err := money.Value(owed, price, money.HalfAway)
	if err != nil {
		return 0
	}
	cost, err = (cost + cost/100 + 1).UpToCent()
	if err != nil {
		return 0
	}
	return max(0, cost-buying)
}
