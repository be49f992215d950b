package admission

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"stockrewards/internal/rewards"
)

// lane counts the requests of one app in progress. It is safe for concurrent use.
type lane struct {
	gate   *Gate
	bodies *semaphore.Weighted // bytes of the app's large request bodies

	mu      sync.Mutex
	limits  rewards.Limits
	rate    *rate.Limiter   // nil: no limit
	active  int             // all requests, from enter to leave
	working [kinds]int      // requests that have a place
	waiting [kinds][]waiter // in order of arrival
	waits   int             // waiting requests of all kinds
	bytes   int64           // unread response bytes

	followers int
}

// waiter is closed when its request gets a place.
type waiter chan struct{}

// enter counts a request. It returns nil if the request has a place, and otherwise a waiter.
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
	if l.active >= limits.AtOnce() {
		return nil, limits.TooManyAtOnce()
	}
	if len(l.waiting[kind]) == 0 && l.free(kind) {
		l.active++
		l.working[kind]++
		return nil, nil //nolint:nilnil // no waiter: it has a place
	}
	if int64(l.waits) >= maxParked-l.gate.parked.Load() { // an app may park as many as it leaves free for others
		return nil, busy(nil)
	}
	l.active++
	return l.park(kind), nil
}

// begin takes a place for a request that enter has counted, or returns a waiter.
func (l *lane) begin(kind Kind) waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting[kind]) == 0 && l.free(kind) {
		l.working[kind]++
		return nil
	}
	return l.park(kind)
}

// park adds a waiter for a place.
func (l *lane) park(kind Kind) waiter {
	w := make(waiter)
	l.waits++
	l.gate.parked.Add(1)
	l.waiting[kind] = append(l.waiting[kind], w)
	return w
}

// charge counts the items of a batch, of which enter has counted one.
func (l *lane) charge(items int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rate == nil {
		return nil
	}
	now, burst := time.Now(), l.rate.Burst()
	most := min(items, burst) - 1
	turn := l.rate.ReserveN(now, most)
	if wait := turn.DelayFrom(now); wait > 0 { // a retry needs the one that enter has counted, too
		turn.CancelAt(now)
		return l.limits.TooFast(wait + time.Second/time.Duration(burst))
	}
	for rest := items - 1 - most; rest > 0; rest -= burst {
		l.rate.ReserveN(now, min(rest, burst))
	}
	return nil
}

// limit applies new limits.
func (l *lane) limit(limits rewards.Limits) {
	l.limits = limits
	if limits.RequestsPerSecond == 0 {
		l.rate = nil
		return
	}
	l.rate = rate.NewLimiter(rate.Limit(limits.RequestsPerSecond), limits.RequestsPerSecond)
}

// free reports whether there is a place for one more request. An app may have only as many
// unread bytes as it leaves free for others; an app without any gets a place regardless.
func (l *lane) free(kind Kind) bool {
	if l.working[kind] >= l.gate.places(kind) {
		return false
	}
	return kind == Write || kind == decode || l.bytes == 0 || l.bytes < maxBytes-l.gate.bytes.Load()
}

// busy refuses a request that waits for others of its app. ended is the error of its context, or nil.
func busy(ended error) error {
	cause := ErrAppBusy
	if ended != nil {
		cause = fmt.Errorf("%w: %w", ErrAppBusy, ended)
	}
	return rewards.Unavailable("the service is busy with other requests of this app", cause)
}

// wait waits until the request gets a place. It fails with CodeUnavailable and ErrAppBusy after
// patience, or when ctx ends.
func (l *lane) wait(ctx context.Context, w waiter, kind Kind) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var ended error
	select {
	case <-w:
		return nil
	case <-ctx.Done():
		ended = ctx.Err()
	case <-timer.C:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting[kind], w)
	if i < 0 {
		return nil // it got a place meanwhile
	}
	l.waiting[kind] = slices.Delete(l.waiting[kind], i, i+1)
	l.waits--
	l.gate.parked.Add(-1)
	return busy(ended)
}

// answered counts the bytes of the response and frees the request's place, after a rest if
// there is one.
func (l *lane) answered(kind Kind, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += int64(bytes)
	l.gate.bytes.Add(int64(bytes))
	l.restThenVacate(kind, l.gate.rest(kind, bytes))
}

// restThenVacate frees a place after a rest.
func (l *lane) restThenVacate(kind Kind, rest time.Duration) {
	if rest <= 0 {
		l.vacate(kind)
		return
	}
	time.AfterFunc(rest, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.vacate(kind)
	})
}

// vacate frees a place.
func (l *lane) vacate(kind Kind) {
	l.working[kind]--
	l.next(kind)
}

// leave ends a request whose response had that number of bytes.
func (l *lane) leave(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	l.bytes -= int64(bytes)
	l.gate.bytes.Add(-int64(bytes))
	l.nextOfAll()
}

// nextOfAll gives free places to waiting requests of every kind.
func (l *lane) nextOfAll() {
	if l.waits > 0 {
		for kind := range kinds {
			l.next(kind)
		}
	}
}

// next gives free places to waiting requests.
func (l *lane) next(kind Kind) {
	for len(l.waiting[kind]) > 0 && l.free(kind) {
		close(l.waiting[kind][0])
		l.waiting[kind] = l.waiting[kind][1:]
		l.waits--
		l.gate.parked.Add(-1)
		l.working[kind]++
	}
}
