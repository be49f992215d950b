package intake

import (
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// The bounds of a queue, over all apps.
const (
	maxQueued      = 8192 // requests
	maxQueuedBytes = 64 << 20
)

// The sizes of a batch.
const (
	maxBatch = 1024 // requests in a commit while one app sends
	// sharedBatch replaces maxBatch while several apps send. An app with a single request
	// waits for the commit in progress, so commits must be short.
	sharedBatch = 64
	// sharedFor is how long sharedBatch applies after two different apps sent.
	sharedFor = time.Second
)

// fairQueue is a bounded queue that serves apps in turn, and one app's requests in order of
// arrival. An app may queue only as much as it leaves free for others, so only an app that
// floods is refused. It is not safe for concurrent use.
type fairQueue[Q, A any] struct {
	apps   map[rewards.AppID]*appQueue[Q, A]
	turns  []*appQueue[Q, A] // the queues that are not empty
	turn   int               // index in turns of the next queue
	count  int               // requests
	bytes  int
	last   rewards.AppID // app of the last request
	shared time.Time     // when the app last changed
}

// appQueue is one app's requests.
type appQueue[Q, A any] struct {
	app   rewards.AppID
	items []*request[Q, A]
	bytes int
}

// add queues a request. It reports false when the app's part of the queue is full.
func (f *fairQueue[Q, A]) add(q *request[Q, A]) bool {
	own := f.apps[q.app]
	waiting, bytes := 0, q.bytes
	if own != nil {
		waiting, bytes = len(own.items), own.bytes+q.bytes
	}
	if waiting >= maxQueued-f.count || bytes > maxQueuedBytes-f.bytes {
		return false
	}
	if own == nil {
		own = &appQueue[Q, A]{app: q.app}
		if f.apps == nil {
			f.apps = make(map[rewards.AppID]*appQueue[Q, A])
		}
		f.apps[q.app] = own
		f.turns = append(f.turns, own)
	}
	own.items, own.bytes = append(own.items, q), bytes
	f.count++
	f.bytes += q.bytes
	if q.app != f.last {
		if !f.last.IsZero() {
			f.shared = time.Now()
		}
		f.last = q.app
	}
	return true
}

// take removes a batch: one request of each app in turn, up to the size of a batch.
func (f *fairQueue[Q, A]) take() []*request[Q, A] {
	most := maxBatch
	if !f.shared.IsZero() && time.Since(f.shared) < sharedFor {
		most = sharedBatch
	}
	most = min(most, f.count)
	batch := make([]*request[Q, A], 0, most)
	for len(batch) < most {
		if f.turn >= len(f.turns) {
			f.turn = 0
		}
		own := f.turns[f.turn]
		q := own.items[0]
		own.items, own.bytes = own.items[1:], own.bytes-q.bytes
		batch = append(batch, q)
		f.bytes -= q.bytes
		f.turn++
		if len(own.items) == 0 {
			f.turn--
			f.turns = slices.Delete(f.turns, f.turn, f.turn+1)
			delete(f.apps, own.app)
		}
	}
	f.count -= len(batch)
	return batch
}
