// Package admission decides when a request is processed, so that one app's flood does not
// slow down other apps. An app's requests wait for each other before any work is done for
// them; the wait is bounded in requests and in time. Bytes of responses that clients have not
// read yet are bounded, per app and in total. A request of an app within its share never
// waits for another app, except for the memory of large bodies (body.go). Start with
// Gate.Enter; lane.go has the counters of one app.
package admission

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"stockrewards/internal/rewards"
)

// ErrAppBusy is the cause of a CodeUnavailable that the app's other requests bring about: they have all its places, or
// all its memory.
var ErrAppBusy = errors.New("the app has too many requests at once")

// Kind is the kind of work that a request needs.
type Kind int

// The kinds of requests.
const (
	Write  Kind = iota // stores something, in a batch with others
	Lookup             // reads a few rows by key
	List               // reads many rows; the response may have megabytes
	Batch              // stores up to a thousand rows; both bodies may have megabytes
	Change             // stores something, in a separate transaction
	decode             // a turn of a request that has another place already
	kinds
)

// The limits of waiting requests and unread responses.
const (
	maxParked = 8192            // waiting requests of all apps
	maxBytes  = 32 << 20        // unread response bytes of all apps
	patience  = 5 * time.Second // longest wait of a request
)

// The places of an app: how many of its requests are processed at once, while it sends
// alone and while other apps send too. Shared places are few, so that other apps find the
// processors, the database's writer and its readers nearly idle.
//
// A write holds its place from decoding to response. More writes than the processors can run
// would queue for the processors, together with other apps' requests. Writes are committed
// together: where a commit takes long (over a network, to a slow disk) there is one more
// place for each perWrite of its duration.
const (
	writesAlone                 = 256
	writesPerProcessor          = 2 // while another app sends too
	perWrite                    = 250 * time.Microsecond
	lookupsAlone, lookupsShared = 128, 8
	batchesAlone, batchesShared = 2, 1 // one is decoded while the other is committed
	changesAlone, changesShared = 4, 1 // another app's write waits for one transaction at most
	decodesPerProcessorAlone    = 2
	decodesShared               = 1
	mostLists                   = 8 // below the connections to a database
	sharedFor                   = time.Second
)

// Large answers to an app that sends beside others.
const (
	largeAnswer = 256 << 10 // bytes of an answer that is followed by a rest
	sharedRate  = 48 << 20  // bytes per second of such answers, at most
)

// Gate admits requests. It is safe for concurrent use.
type Gate struct {
	alone, shared [kinds]int // places of an app

	parked  atomic.Int64         // waiting requests
	bytes   atomic.Int64         // unread response bytes
	last    atomic.Pointer[lane] // of the last request
	began   time.Time
	changed atomic.Int64 // when last changed to another app, in nanoseconds since began
	commit  atomic.Int64 // recent mean duration of a commit, in nanoseconds

	followers atomic.Int64
	bodies    *semaphore.Weighted // bytes of large request bodies

	mu    sync.Mutex                              // held while lanes is replaced
	lanes atomic.Pointer[map[rewards.AppID]*lane] // one per app; the map itself is immutable
}

// New returns a gate.
func New() *Gate {
	processors := runtime.GOMAXPROCS(0)
	g := &Gate{
		began: time.Now(), bodies: semaphore.NewWeighted(maxBodies),
		alone: [kinds]int{
			writesAlone, lookupsAlone, min(mostLists, 2*processors), batchesAlone, changesAlone,
			decodesPerProcessorAlone * processors,
		},
		shared: [kinds]int{
			writesPerProcessor * processors, lookupsShared, min(mostLists, max(1, processors/2)), batchesShared,
			changesShared, decodesShared,
		},
	}
	g.changed.Store(-int64(sharedFor))
	g.lanes.Store(&map[rewards.AppID]*lane{})
	return g
}

// Ticket is an admitted request. The methods of the zero Ticket do nothing. It is not safe
// for concurrent use.
type Ticket struct {
	lane  *lane
	kind  Kind
	bytes int
	held  int64 // bytes of its body
	state state

	decoding time.Time // when its turn to decode began; zero: it has none

	follows bool
}

type state int

const (
	working state = iota + 1
	writing
	resting
)

// Enter admits a request of the app, if necessary after earlier requests of the same app. It
// fails with CodeTooMany beyond the app's limits, and with CodeUnavailable and ErrAppBusy when the
// wait is too long or too many requests wait. The caller must call Leave on the Ticket.
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
			l.leave(0)
			return Ticket{}, err
		}
	}
	return Ticket{lane: l, kind: kind, state: working}, nil
}

// Charge counts the items of an admitted batch toward the app's rate, in which the batch counts
// as one so far. It fails with CodeTooMany while that exceeds the app's rate. A batch beyond the
// largest burst needs the whole burst, and later requests wait for the rest.
func (t *Ticket) Charge(items int) error {
	if t.state != working {
		return nil
	}
	return t.lane.charge(items)
}

// Answered frees the request's place. bytes is the size of the response still to be written.
func (t *Ticket) Answered(bytes int) {
	if t.state != working {
		return
	}
	t.Decoded()
	t.letGo()
	t.bytes, t.state = bytes, writing
	t.lane.answered(t.kind, bytes)
}

// Leave ends the request. Further calls do nothing.
func (t *Ticket) Leave() {
	t.Answered(0)
	if t.follows {
		t.follows = false
		t.lane.unfollow()
	}
	if t.state == writing || t.state == resting {
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

// isShared reports whether several apps send requests.
func (g *Gate) isShared() bool {
	return int64(time.Since(g.began))-g.changed.Load() < int64(sharedFor)
}

// rest returns how long an answered request keeps its place. While several apps send, large
// lists in sequence would keep a processor and the database busy all the time, and so would refused batches.
func (g *Gate) rest(kind Kind, bytes int) time.Duration {
	if kind != List && kind != Batch || bytes < largeAnswer || !g.isShared() {
		return 0
	}
	return time.Duration(bytes) * time.Second / sharedRate
}

// places returns the number of places that each app has now.
func (g *Gate) places(kind Kind) int {
	if !g.isShared() {
		return g.alone[kind]
	}
	if kind == Write {
		return min(g.alone[kind], g.shared[kind]+int(g.commit.Load()/int64(perWrite)))
	}
	return g.shared[kind]
}

// lane returns the lane of an app and creates it if necessary.
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
	l := &lane{gate: g, bodies: semaphore.NewWeighted(appBodies)}
	lanes[app] = l
	g.lanes.Store(&lanes)
	return l
}
