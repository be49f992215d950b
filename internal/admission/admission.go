// Package admission decides when a request is worked on, so that one app's flood does
// not harm another. It promises that an app's requests wait for each other before any
// work is done for them, that this wait is bounded in number and time, that the bytes of
// answers that clients have not read yet are bounded, for each app and in all, and that
// a request of an app that keeps within its share never waits for another app's.
// Start reading at Gate.Enter; lane.go has what is counted for one app.
package admission

import (
	"context"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"stockrewards/internal/rewards"
)

// Kind is what a request needs.
type Kind int

// The kinds of requests.
const (
	Write Kind = iota // it is stored, in a batch with others
	Point             // it reads by a key
	List              // it reads many rows, and its answer may have megabytes
	kinds
)

// The bounds of what is under way.
const (
	maxWrites = 256             // of an app, worked on at once: a commit has room for all
	maxPoints = 128             // of an app, worked on at once
	leastList = 4               // of an app, worked on at once: at least, on a small machine
	mostLists = 8               // of an app: below the connections to a database
	maxParked = 8192            // requests that wait, of all apps
	maxBytes  = 64 << 20        // of answers that clients have not read yet, of all apps
	patience  = 5 * time.Second // how long a request waits
)

// Gate lets requests through. It is safe for concurrent use.
type Gate struct {
	most   [kinds]int
	parked atomic.Int64
	bytes  atomic.Int64

	mu    sync.Mutex                              // of who replaces lanes
	lanes atomic.Pointer[map[rewards.AppID]*lane] // one for each app that has come; never changed, only replaced
}

// New makes a gate.
func New() *Gate {
	g := &Gate{most: [kinds]int{maxWrites, maxPoints, min(mostLists, max(leastList, 2*runtime.GOMAXPROCS(0)))}}
	g.lanes.Store(&map[rewards.AppID]*lane{})
	return g
}

// Ticket is a request that was let through. The zero Ticket is of none.
type Ticket struct {
	lane  *lane
	kind  Kind
	bytes int
	state state
}

type state int

const (
	working state = iota + 1
	writing
)

// Enter lets a request of the app through, at once or when earlier ones of the same app
// are done. It fails with CodeTooMany beyond the app's limits, and with CodeUnavailable
// when the wait is too long. The Ticket must be given back by Leave.
func (g *Gate) Enter(ctx context.Context, app rewards.App, kind Kind) (Ticket, error) {
	l := g.lane(app.ID)
	w, err := l.enter(app.Limits, kind)
	if err != nil {
		return Ticket{}, err
	}
	if w != nil {
		if err := l.wait(ctx, w, kind); err != nil {
			return Ticket{}, err
		}
	}
	return Ticket{lane: l, kind: kind, state: working}, nil
}

// Answered ends the work on the request: what is left is to write so many bytes.
func (t *Ticket) Answered(bytes int) {
	if t.state != working {
		return
	}
	t.bytes, t.state = bytes, writing
	t.lane.answered(t.kind, bytes)
}

// Leave ends the request, whatever became of it. It may be called again.
func (t *Ticket) Leave() {
	t.Answered(0)
	if t.state == writing {
		t.state = 0
		t.lane.leave(t.bytes)
	}
}

// lane finds the lane of an app, or makes it.
func (g *Gate) lane(app rewards.AppID) *lane {
	if l := (*g.lanes.Load())[app]; l != nil {
		return l
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	lanes := *g.lanes.Load()
	if l := lanes[app]; l != nil {
		return l
	}
	lanes = maps.Clone(lanes)
	l := &lane{gate: g}
	lanes[app] = l
	g.lanes.Store(&lanes)
	return l
}
