package admission

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"stockrewards/internal/rewards"
)

// lane is what is under way of one app.
type lane struct {
	gate *Gate

	mu      sync.Mutex
	limits  rewards.Limits
	rate    *rate.Limiter // nil: no limit
	under   int           // requests under way, those that wait included
	working [kinds]int
	waiting [kinds][]waiter // in order of arrival
	waits   int             // requests that wait
	bytes   int64           // of answers that are written
}

// waiter is closed when its request may be worked on.
type waiter chan struct{}

// enter counts a request in. It returns a waiter when the request must wait.
func (l *lane) enter(limits rewards.Limits, kind Kind) (waiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limits != l.limits {
		l.limit(limits)
	}
	if l.rate != nil {
		now := time.Now()
		turn := l.rate.ReserveN(now, 1)
		if wait := turn.DelayFrom(now); wait > 0 {
			turn.CancelAt(now)
			return nil, limits.TooFast(wait)
		}
	}
	if l.under >= limits.AtOnce() {
		return nil, limits.TooManyAtOnce()
	}
	if len(l.waiting[kind]) == 0 && l.free(kind) {
		l.under++
		l.working[kind]++
		return nil, nil //nolint:nilnil // it need not wait
	}
	if int64(l.waits) >= maxParked-l.gate.parked.Load() { // an app may hold as much as it leaves for others
		return nil, rewards.Unavailable("the service is busy with other requests of this app", nil)
	}
	w := make(waiter)
	l.under++
	l.waits++
	l.gate.parked.Add(1)
	l.waiting[kind] = append(l.waiting[kind], w)
	return w, nil
}

// limit puts new limits in force.
func (l *lane) limit(limits rewards.Limits) {
	l.limits = limits
	if limits.RequestsPerSecond == 0 {
		l.rate = nil
		return
	}
	l.rate = rate.NewLimiter(rate.Limit(limits.RequestsPerSecond), limits.RequestsPerSecond)
}

// free reports whether one more request may be worked on. An app whose clients do not read
// their answers may hold as many bytes as it leaves for others; with no bytes it may
// always go on.
func (l *lane) free(kind Kind) bool {
	if l.working[kind] >= l.gate.places(kind) {
		return false
	}
	return kind == Write || l.bytes == 0 || l.bytes < maxBytes-l.gate.bytes.Load()
}

// wait waits until the request may be worked on, at most for a while.
func (l *lane) wait(ctx context.Context, w waiter, kind Kind) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var cause error
	select {
	case <-w:
		return nil
	case <-ctx.Done():
		cause = ctx.Err()
	case <-timer.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting[kind], w)
	if i < 0 {
		return nil // its turn came meanwhile
	}
	l.waiting[kind] = slices.Delete(l.waiting[kind], i, i+1)
	l.waits--
	l.under--
	l.gate.parked.Add(-1)
	return rewards.Unavailable("the service is busy with other requests of this app", cause)
}

// answered counts an answer whose bytes are to be written.
func (l *lane) answered(kind Kind, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.working[kind]--
	l.bytes += int64(bytes)
	l.gate.bytes.Add(int64(bytes))
	l.next(kind)
}

// leave counts a request out.
func (l *lane) leave(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.under--
	l.bytes -= int64(bytes)
	l.gate.bytes.Add(-int64(bytes))
	if l.waits > 0 {
		for kind := range kinds {
			l.next(kind)
		}
	}
}

// next lets those through that may be worked on now.
func (l *lane) next(kind Kind) {
	for len(l.waiting[kind]) > 0 && l.free(kind) {
		close(l.waiting[kind][0])
		l.waiting[kind] = l.waiting[kind][1:]
		l.waits--
		l.gate.parked.Add(-1)
		l.working[kind]++
	}
}
