package rewards

import (
	"bytes"
	"slices"
)

// Queue is one app's rewards that wait for an asset, oldest first.
type Queue struct {
	AppID   AppID
	Waiting []Waiting
	More    bool // more rewards wait than were read
}

// Queues groups the rewards that wait for an asset by app.
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
	next   int  // index of the first reward not considered yet
	closed bool // it gets no more turns
}

// lines returns the queues that are not empty, in the order of their turns.
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

// lookAhead is the most rewards that are read for one order, of all apps together. It bounds
// the cost of skipping rewards.
const lookAhead = 8 * MaxMembers

// FirstRead returns the number of rewards of each app to read first: enough to fill an order
// if each app has that number waiting.
func (r PlanRequest) FirstRead() int {
	const least = 8
	apps := max(r.Apps, 1)
	return max((r.MemberLimit()+apps-1)/apps, least)
}

// NextRead returns the number of rewards of each app to read when the last number was not
// enough; false when no more may be read.
func NextRead(last, apps int) (int, bool) {
	const growth = 4
	most := max(lookAhead/max(apps, 1), 1)
	return min(last*growth, most), last < most
}
