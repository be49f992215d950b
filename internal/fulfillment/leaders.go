package fulfillment

import (
	"slices"
	"sync"
	"time"
)

// leadersFor is for how long changes of the leader are counted.
const leadersFor = 5 * time.Minute

// takeover is when this process began to lead, and the lease's epoch since then.
type takeover struct {
	at    time.Time
	epoch int64
}

// takeovers are those of the last time. It is safe for concurrent use.
type takeovers struct {
	mu   sync.Mutex
	list []takeover
}

// add notes that this process begins to lead.
func (t *takeovers) add(epoch int64, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(now)
	t.list = append(t.list, takeover{now, epoch})
}

// forget drops what lies back too long.
func (t *takeovers) forget(now time.Time) {
	t.list = slices.DeleteFunc(t.list, func(o takeover) bool { return now.Sub(o.at).Abs() > leadersFor })
}

// LeaderChanges counts how often the leader has changed between the first and the last time that this process began to
// lead in the last five minutes. It is safe for concurrent use.
func (w *Worker) LeaderChanges() int {
	t := &w.takeovers
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(w.now())
	if len(t.list) == 0 {
		return 0
	}
	return int(t.list[len(t.list)-1].epoch - t.list[0].epoch)
}
