package intake

import (
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// load is a number of requests and their bytes.
type load struct{ requests, bytes int }

func (l load) plus(more load) load { return load{l.requests + more.requests, l.bytes + more.bytes} }

func (l load) minus(less load) load { return load{l.requests - less.requests, l.bytes - less.bytes} }

// within reports whether no part of the load is above most.
func (l load) within(most load) bool { return l.requests <= most.requests && l.bytes <= most.bytes }

// atMost is the load, with no part above most.
func (l load) atMost(most load) load {
	return load{min(l.requests, most.requests), min(l.bytes, most.bytes)}
}

// The bounds of a queue, over all apps. Requests that come in bulks get half of it, so that
// single requests always find room.
const (
	maxQueued      = 8192 // requests
	maxQueuedBytes = 64 << 20
	bulkShare      = 2 // the divisor of both
)

// The sizes of a commit.
const (
	maxBatch = 1024 // requests in a commit while one app sends
	// changeBatch replaces maxBatch for changes of users. Over PostgreSQL each takes some exchanges, and
	// awards wait for the commit.
	changeBatch = 8
	// sharedBatch replaces maxBatch while several apps send. An app with a single request
	// waits for the commit in progress, so commits must be short.
	sharedBatch = 64
	// sharedFor is how long sharedBatch applies after two different apps sent.
	sharedFor = time.Second
	// restOf is the rest of bulks after a commit, in times of its duration.
	restOf = 2
	// maxRest bounds the rest of bulks, so that a slow commit does not hold them up for long.
	maxRest = 50 * time.Millisecond
)

// fairQueue is a bounded queue that serves apps in turn, and one app's requests in order of
// arrival. An app may queue only as much as it leaves free for others, and one bulk however
// many requests it has, so only an app that floods is refused: package admission bounds the
// bytes of all bulks. While several apps send, bulks rest after each commit for twice as long as
// it took, so that most single requests find the store idle. It is not safe for concurrent use.
type fairQueue[Q, A any] struct {
	most    int // requests in a commit
	singles turns[Q, A]
	bulks   turns[Q, A]
	last    rewards.AppID // app of the last request
	shared  time.Time     // when the app last changed
	rest    time.Time     // until when bulks rest
}

// turns are the requests of all apps, which are served in turn.
type turns[Q, A any] struct {
	apps map[rewards.AppID]*appQueue[Q, A]
	list []*appQueue[Q, A] // the queues that are not empty
	turn int               // index in list of the next queue
	all  load
}

// appQueue is one app's requests.
type appQueue[Q, A any] struct {
	app   rewards.AppID
	items []*request[Q, A]
	all   load
}

// add queues all requests of one app, a single one or a bulk. It reports false, and queues
// none, when the app's part of the queue is full.
func (f *fairQueue[Q, A]) add(list []*request[Q, A]) bool {
	app, into, more := list[0].app, &f.singles, load{}
	for _, q := range list {
		more = more.plus(load{1, q.bytes})
	}
	ofBulks := load{maxQueued / bulkShare, maxQueuedBytes / bulkShare}
	if list[0].bulk == nil {
		own := f.singles.of(app).plus(f.bulks.of(app)).plus(more)
		queued := f.singles.all.plus(f.bulks.all.atMost(ofBulks))
		if !own.within(load{maxQueued, maxQueuedBytes}.minus(queued)) {
			return false
		}
	} else {
		into = &f.bulks
		own, free := into.of(app), ofBulks.minus(into.all)
		if own.requests == 0 {
			free.requests = max(free.requests, more.requests)
		}
		if !more.within(free) || !own.within(free) { // not both together: bulks are large
			return false
		}
	}
	into.add(app, list, more)
	f.note(app)
	return true
}

func (f *fairQueue[Q, A]) all() load { return f.singles.all.plus(f.bulks.all) }

// note notes which app sent, to know whether several do.
func (f *fairQueue[Q, A]) note(app rewards.AppID) {
	if app == f.last {
		return
	}
	if !f.last.IsZero() {
		f.shared = time.Now()
	}
	f.last = app
}

// isShared reports whether several apps send.
func (f *fairQueue[Q, A]) isShared() bool {
	return !f.shared.IsZero() && time.Since(f.shared) < sharedFor
}

// take removes a batch: one request of each app in turn, up to the size of a batch. It has
// requests of bulks unless they rest; half of a small commit is for them.
func (f *fairQueue[Q, A]) take() []*request[Q, A] {
	most := f.most
	if f.isShared() {
		most = min(most, sharedBatch)
	}
	singles := most
	if f.isShared() && f.resting() == 0 && f.bulks.all.requests > 0 {
		singles = most / 2
	}
	batch := f.singles.take(make([]*request[Q, A], 0, min(most, f.all().requests)), singles)
	if f.resting() > 0 {
		return batch
	}
	return f.bulks.take(batch, most)
}

// committed begins the rest of bulks after a commit of a batch that has some.
func (f *fairQueue[Q, A]) committed(batch []*request[Q, A], took time.Duration) {
	if batch[len(batch)-1].bulk != nil { // take adds them last
		f.rest = time.Now().Add(min(restOf*took, maxRest))
	}
}

// resting returns how long bulks still rest.
func (f *fairQueue[Q, A]) resting() time.Duration {
	if f.rest.IsZero() || !f.isShared() {
		return 0
	}
	return max(0, time.Until(f.rest))
}

// of returns what an app has queued.
func (t *turns[Q, A]) of(app rewards.AppID) load {
	if own := t.apps[app]; own != nil {
		return own.all
	}
	return load{}
}

func (t *turns[Q, A]) add(app rewards.AppID, list []*request[Q, A], more load) {
	own := t.apps[app]
	if own == nil {
		own = &appQueue[Q, A]{app: app}
		if t.apps == nil {
			t.apps = make(map[rewards.AppID]*appQueue[Q, A])
		}
		t.apps[app] = own
		t.list = append(t.list, own)
	}
	own.items, own.all, t.all = append(own.items, list...), own.all.plus(more), t.all.plus(more)
}

// take moves requests to a batch until it has that many or none is left.
func (t *turns[Q, A]) take(batch []*request[Q, A], most int) []*request[Q, A] {
	for len(batch) < most && len(t.list) > 0 {
		if t.turn >= len(t.list) {
			t.turn = 0
		}
		own := t.list[t.turn]
		q := own.items[0]
		own.items = own.items[1:]
		batch = append(batch, q)
		less := load{1, q.bytes}
		own.all, t.all = own.all.minus(less), t.all.minus(less)
		t.turn++
		if len(own.items) == 0 {
			t.turn--
			t.list = slices.Delete(t.list, t.turn, t.turn+1)
			delete(t.apps, own.app)
		}
	}
	return batch
}
