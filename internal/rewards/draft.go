package rewards

import (
	"slices"

	"stockrewards/internal/money"
)

// draft is an order that is being made of what waits.
type draft struct {
	lines  []*line
	most   int
	limits PlanLimits

	members   []Member
	sum       money.USD
	skipped   []Skipped
	needsMore bool // an app had a turn after all that was read of it
}

func newDraft(queues []Queue, most int, l PlanLimits) *draft {
	return &draft{lines: lines(queues), most: most, limits: l}
}

// takeTurns makes members of what fits, one of each app in turn.
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

// turn takes the next reward of an app that fits and reports whether there was one.
func (d *draft) turn(q *line) bool {
	for ; !q.closed && q.next < len(q.Waiting); q.next++ {
		w := q.Waiting[q.next]
		switch hold := d.never(w.Pending); {
		case hold != NoHold:
			d.pass(q.AppID, hold, w.Pending)
		case w.Pending > min(wholeCents(d.limits.MaxNotional), d.limits.quantity())-d.sum:
			q.closed = true // the next order begins with it
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

// never is why an amount fits into no order of today beside what was taken so far.
func (d *draft) never(pending money.USD) Hold {
	switch {
	case pending > d.limits.quantity():
		return HoldQuantity
	case pending > wholeCents(d.limits.DailyLeft)-d.sum:
		return HoldDaily
	}
	return NoHold
}

// pass counts what is passed over.
func (d *draft) pass(app AppID, hold Hold, pending money.USD) {
	i := slices.IndexFunc(d.skipped, func(p Skipped) bool { return p.AppID == app && p.Hold == hold })
	if i < 0 {
		d.skipped = append(d.skipped, Skipped{AppID: app, Hold: hold, Least: pending})
		i = len(d.skipped) - 1
	}
	d.skipped[i].Count++
	d.skipped[i].Least = min(d.skipped[i].Least, pending)
}

// hold is why nothing is a member.
func (d *draft) hold() Hold {
	if len(d.skipped) > 0 {
		return d.skipped[0].Hold // of the app that has waited longest
	}
	return HoldEmpty
}

// order is the plan of what was taken.
func (d *draft) order(p Plan) (Plan, Hold, error) {
	notional, err := d.sum.UpToCent()
	if err != nil {
		return Plan{}, 0, err
	}
	slices.SortFunc(d.members, func(a, b Member) int { return arrival(a.RewardID, b.RewardID) })
	if notional < MinNotional {
		hold := d.topUp(&p)
		p.Skipped = d.skipped
		if hold == HoldSmallPool && len(d.skipped) > 0 {
			hold = d.skipped[0].Hold // an operator should know of it, while the rest waits for more
		}
		if hold != NoHold {
			return p, hold, nil
		}
		notional = MinNotional
	}
	p.Members, p.Notional, p.House, p.Skipped = d.members, notional, notional-d.sum, d.skipped
	return p, NoHold, nil
}
