package store

import (
	"context"
	"sync"
	"time"

	"stockrewards/internal/rewards"
)

// Client writes come first. While clients write, every other writer pauses after each write: eleven times as long as
// the write took without its sync, and 24 times beside more than twice a crowd. So fulfillment hardly delays recording.
// When fulfillment is behind, a trial finds out whether clients record as much while it writes more: in the trial it
// pauses a quarter as long as it wrote, and afterwards, if they do, a tenth, or not at all over PostgreSQL. Small
// orders cost much for each reward, so it is not hurried otherwise. Without load it does not pause.
const (
	crowd       = 9                    // requests in a client write from which on orders are smaller
	behind      = 100                  // members of an order from which on fulfillment is behind
	leastPause  = 1100                 // the shortest pause, in percent of that write
	triedPause  = 25                   // the pause in a trial while fulfillment is behind, likewise
	steadyPause = 10                   // the same when it has shown that clients record as much
	mostPause   = 2400                 // the longest pause, likewise
	maxPause    = time.Second          // so that a lease is renewed even when a write was slow
	clientsIdle = 5 * time.Millisecond // after this long without a client write only patient writers pause
	clientsGone = time.Second / 10     // after this long nobody pauses
)

// Beside a crowd an order has as many members as are booked in crowdedWrite, and at most mostCrowded if the crowd waits
// for the writer. In a large store a member takes several times as long as in a small one: nearly every one changes
// separate pages.
const (
	crowdedWrite  = 9 * time.Millisecond // a commit over SQLite takes a third more
	leastCrowded  = 100                  // members: smaller orders cost much for each
	mostCrowded   = 250                  // likewise: the crowd also waits for the other writes of an order
	fewestCounted = 50                   // of a booking that shows how long a member takes
)

// ConcurrentWriter is an Engine whose WriteForClients runs at the same time as a Write.
type ConcurrentWriter interface {
	Engine
	// WriteOrders is a Write that may run at the same time as a WriteBookings. It excludes Write and WriteBooks calls
	// and other WriteOrders calls.
	WriteOrders(ctx context.Context, f func(context.Context, Tx) error) error
	// WriteBookings is the same for bookings.
	WriteBookings(ctx context.Context, f func(context.Context, Tx) error) error
}

// pacer makes other writers pause while clients write.
type pacer struct {
	concurrent bool // the Engine is a ConcurrentWriter

	mu          sync.Mutex
	wrote       time.Time     // when the write of another writer ended after which the pause ends last
	held        time.Duration // how long it took
	clientsSeen time.Time     // the last client write
	requests    int64         // in the last client writes, recentWrites of them
	behind      bool          // fulfillment is
	perMember   time.Duration // to book one
	trial       trial
}

func newPacer(e Engine) *pacer {
	_, concurrent := e.(ConcurrentWriter)
	return &pacer{concurrent: concurrent}
}

// wait waits until another writer may write.
func (p *pacer) wait(ctx context.Context) error {
	for rest := p.rest(time.Now()); rest > 0; rest = p.rest(time.Now()) {
		if err := Sleep(ctx, rest); err != nil {
			return err
		}
	}
	return nil
}

// rest is how long another writer must pause before it looks again.
func (p *pacer) rest(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(p.wrote.Add(p.pauseAfter(p.held)).Sub(now), p.clientsSeen.Add(clientsIdle).Sub(now))
}

// pauseAfter is the pause after a write of another writer, by what clients do now.
func (p *pacer) pauseAfter(held time.Duration) time.Duration {
	percent := p.clientsPause()
	if p.behind && p.trial.full {
		percent = p.fullPause()
	}
	return pause(held, percent)
}

// clientsPause is the pause while clients write, in percent of a write.
func (p *pacer) clientsPause() int64 { return min(max(p.crowdedness(), leastPause), mostPause) }

func pause(held time.Duration, percent int64) time.Duration {
	return min(held*time.Duration(percent)/100, maxPause)
}

// fullPause is the pause while fulfillment writes in full. Over PostgreSQL clients do not wait for the writer.
func (p *pacer) fullPause() int64 {
	switch {
	case !p.trial.steady():
		return triedPause
	case p.concurrent:
		return 0
	default:
		return steadyPause
	}
}

// otherWrote notes a write of another writer.
func (p *pacer) otherWrote(held time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.wrote.Add(p.pauseAfter(p.held)).Before(now.Add(p.pauseAfter(held))) { // two writers may have written at once
		p.wrote, p.held = now, held
	}
	if p.clientsSeen.After(now.Add(-held - clientsIdle)) { // this write may have delayed them
		p.clientsSeen = now
	}
	p.trial.othersWrote(now, held, p.behind)
}

// crowdedness is the pause for the crowd, in percent of a write. A crowd twice as large makes it sixteen times as long.
func (p *pacer) crowdedness() int64 {
	percent := 100 * p.requests / (crowd * recentWrites)
	return percent * percent * percent * percent / 1e6
}

// clientsWrote notes a write for clients.
func (p *pacer) clientsWrote() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clientsSeen = time.Now()
}

// planned notes the number of members of an order.
func (p *pacer) planned(members int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.behind = members >= behind
}

// crowded reports whether clients wait in a crowd, so that another writer should write briefly.
func (p *pacer) crowded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.crowdedness() >= 100 && (!p.concurrent || !p.trial.full)
}

// memberLimit is how many members an order has at most.
func (p *pacer) memberLimit() int {
	if !p.crowded() {
		return rewards.MaxMembers
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.perMember == 0 {
		return mostCrowded
	}
	most := mostCrowded
	if p.trial.steady() {
		most = rewards.MaxMembers
	}
	return min(max(int(crowdedWrite/p.perMember), leastCrowded), most)
}

// booked notes how long a transaction took to book a number of members, without its commit and the disk's sync.
func (p *pacer) booked(members int, took time.Duration) {
	if members < fewestCounted {
		return
	}
	const before, all = 3, 4 // the last bookings count most
	p.mu.Lock()
	defer p.mu.Unlock()
	last := took / time.Duration(members)
	if p.perMember == 0 {
		p.perMember = last
	}
	p.perMember = (before*p.perMember + last) / all
}

// recentWrites is about the number of client writes that count.
const recentWrites = 64

// recorded notes the number of requests in a write for clients.
func (p *pacer) recorded(requests int) {
	const most = 4 * crowd
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests += int64(min(requests, most)) - p.requests/recentWrites
	p.trial.recorded(time.Now(), requests)
}

// Sleep waits for d. It returns early with the context's error when ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
