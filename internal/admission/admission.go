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
	Write  Kind = iota // it is stored, in a batch with others
	Lookup             // it reads by a key
	List               // it reads many rows, and its answer may have megabytes
	kinds
)

// The bounds of what is under way.
const (
	maxParked = 8192            // requests that wait, of all apps
	maxBytes  = 32 << 20        // of answers that clients have not read yet, of all apps
	patience  = 5 * time.Second // how long a request waits
)

// How many requests of an app are worked on at once: while it is alone, and while
// another app sends too, whose requests then find the processor, the database's writer
// and its readers nearly free.
//
// A write's place is taken from its decoding to its response, and what the processors can
// not do at once waits in their queue, where other apps' requests wait too. So an app has
// few places for writes while others send. Writes are committed together: where a commit
// takes long (over a network, to a slow disk) there is one more place for each perWrite of it.
const (
	writesAlone                 = 256
	writesPerProcessor          = 2 // while another app sends too
	perWrite                    = 250 * time.Microsecond
	lookupsAlone, lookupsShared = 128, 8
	mostLists                   = 8 // below the connections to a database
	sharedFor                   = time.Second
)

// Gate lets requests through. It is safe for concurrent use.
type Gate struct {
	alone, shared [kinds]int // places of an app

	parked  atomic.Int64
	bytes   atomic.Int64
	last    atomic.Pointer[lane] // whose request came last
	began   time.Time
	changed atomic.Int64 // when two apps last sent in turn, since began
	commit  atomic.Int64 // recent mean duration of a commit, in nanoseconds

	mu    sync.Mutex                              // of who replaces lanes
	lanes atomic.Pointer[map[rewards.AppID]*lane] // one for each app that has come; never changed, only replaced
}

// New makes a gate.
func New() *Gate {
	processors := runtime.GOMAXPROCS(0)
	g := &Gate{
		began:  time.Now(),
		alone:  [kinds]int{writesAlone, lookupsAlone, min(mostLists, 2*processors)},
		shared: [kinds]int{writesPerProcessor * processors, lookupsShared, min(mostLists, max(1, processors/2))},
	}
	g.changed.Store(-int64(sharedFor))
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
	if last := g.last.Load(); last != l {
		g.last.Store(l)
		if last != nil {
			g.changed.Store(int64(time.Since(g.began)))
		}
	}
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

// Committed reports how long a commit of clients' writes took; the last few dozen count.
// Two concurrent calls may count as one.
func (g *Gate) Committed(took time.Duration) {
	const weight = 16
	before := g.commit.Load()
	g.commit.Store(before + (int64(took)-before)/weight)
}

// places is how many requests of one app may be worked on at once now.
func (g *Gate) places(kind Kind) int {
	if int64(time.Since(g.began))-g.changed.Load() >= int64(sharedFor) {
		return g.alone[kind]
	}
	if kind == Write {
		return min(g.alone[kind], g.shared[kind]+int(g.commit.Load()/int64(perWrite)))
	}
	return g.shared[kind]
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
