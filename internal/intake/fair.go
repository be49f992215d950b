package intake

import (
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// The bounds of what waits in one line.
const (
	maxQueued      = 8192     // requests waiting, of all apps
	maxQueuedBytes = 64 << 20 // their size
)

// The sizes of a batch.
const (
	maxBatch = 1024 // requests in a commit while one app is alone
	// sharedBatch is the same while several apps send: an app that has one request waits for
	// the commit under way, which must then be short.
	sharedBatch = 64
	// sharedFor is how long after two apps sent in turn a batch stays that small.
	sharedFor = time.Second
)

// fair is a bounded queue that serves apps in turn, and the requests of one app in order
// of arrival. An app may hold as much as it leaves free for others: who floods is
// refused, who does not flood is not. It is not safe for concurrent use.
type fair[Q, A any] struct {
	apps   map[rewards.AppID]*appQueue[Q, A]
	turns  []*appQueue[Q, A] // those that wait
	turn   int               // of turns, who is next
	count  int
	bytes  int
	last   rewards.AppID // who sent last
	shared time.Time     // when two apps last sent in turn
}

// appQueue is what waits of one app.
type appQueue[Q, A any] struct {
	app   rewards.AppID
	items []*request[Q, A]
	bytes int
}

// add queues a request, or refuses it.
func (f *fair[Q, A]) add(q *request[Q, A]) bool {
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

// take takes a batch: one request of each app in turn, until nothing waits or the batch is
// as large as it may be.
func (f *fair[Q, A]) take() []*request[Q, A] {
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
