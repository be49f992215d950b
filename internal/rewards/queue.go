package rewards

import (
	"bytes"
	"slices"
)

// Queue is what waits of one app for an asset, oldest first.
type Queue struct {
	AppID   AppID
	Waiting []Waiting
	More    bool // more waits than was read
}

// Queues are rewards that wait for an asset, by app.
func Queues(waiting []Waiting) []Queue {
	var queues []Queue
	place := make(map[AppID]int)
	for _, w := range waiting {
		i, known := place[w.AppID]
		if !known {
			i = len(queues)
			place[w.AppID] = i
			queues = append(queues, Queue{AppID: w.AppID})
		}
		queues[i].Waiting = append(queues[i].Waiting, w)
	}
	for i := range queues {
		slices.SortStableFunc(queues[i].Waiting, func(a, b Waiting) int { return arrival(a.RewardID, b.RewardID) })
	}
	return queues
}

// arrival orders rewards as they were recorded.
func arrival(a, b RewardID) int { return bytes.Compare(a[:], b[:]) }

// line is a queue while an order is drafted.
type line struct {
	Queue
	next   int  // the first that was not looked at
	closed bool // has no more turns
}

// lines are the queues that have something, in the order of their turns.
func lines(queues []Queue) []*line {
	all := make([]*line, 0, len(queues))
	for _, q := range queues {
		if len(q.Waiting) > 0 {
			all = append(all, &line{Queue: q})
		}
	}
	slices.SortStableFunc(all, func(a, b *line) int {
		return arrival(a.Waiting[0].RewardID, b.Waiting[0].RewardID)
	})
	return all
}

// lookAhead is how many rewards of all apps are read at most for one order, so that
// what can't fit is passed over at a bounded cost.
const lookAhead = 8 * MaxMembers

// Lot is how many rewards of each app are read at first: enough for an order when all
// apps have as many.
func (r PlanRequest) FirstRead() int {
	const least = 8
	apps := max(r.Apps, 1)
	return max((r.MemberLimit()+apps-1)/apps, least)
}

// NextRead is how many rewards of each app are read when a lot was not enough; false when
// no more are read.
func NextRead(lot, apps int) (int, bool) {
	const growth = 4
	most := max(lookAhead/max(apps, 1), 1)
	return min(lot*growth, most), lot < most
}
