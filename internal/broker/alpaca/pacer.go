package alpaca

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	burstShare = 20               // a twentieth of a minute's requests may go out at once
	minPause   = time.Second      // after a 429, also when its reset lies in the past
	maxPause   = 60 * time.Second // after a 429, also when its reset is later
	maxStrikes = 6                // doublings of the pause when the broker names no reset
)

// pacer keeps the requests to one host within the broker's rate limit. It does not hold its lock
// while it waits.
type pacer struct {
	limiter *rate.Limiter

	mu          sync.Mutex
	pausedUntil time.Time
	strikes     int // consecutive 429s
}

// newPacer returns a pacer for at most perMinute requests in any minute: a burst, and the rest
// spread over the minute.
func newPacer(perMinute int) *pacer {
	burst := max(1, perMinute/burstShare)
	spread := max(1, perMinute-burst)
	return &pacer{limiter: rate.NewLimiter(rate.Every(time.Minute/time.Duration(spread)), burst)}
}

func (p *pacer) ready() bool {
	return p.pauseLeft() <= 0 && p.limiter.Tokens() >= 1
}

func (p *pacer) pauseLeft() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.pausedUntil)
}

// wait returns when a request may go out. It fails when the context ends first, and at once when
// its deadline would come first.
func (p *pacer) wait(ctx context.Context) error {
	for {
		if err := p.awaitPause(ctx); err != nil {
			return err
		}
		if err := p.limiter.Wait(ctx); err != nil {
			return err
		}
		if p.pauseLeft() <= 0 {
			return nil
		}
	}
}

func (p *pacer) awaitPause(ctx context.Context) error {
	left := p.pauseLeft()
	if left <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		if deadline, set := ctx.Deadline(); set && !time.Now().Before(deadline) {
			return context.DeadlineExceeded // both ended at this moment
		}
		return nil
	}
}

// observe starts or extends the pause after a 429; any other status ends the run of 429s.
func (p *pacer) observe(status int, h http.Header) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if status != http.StatusTooManyRequests {
		p.strikes = 0
		return
	}
	now := time.Now()
	until := now.Add(pauseFor(h.Get("X-RateLimit-Reset"), now, p.strikes))
	if until.After(p.pausedUntil) {
		p.pausedUntil = until
	}
	p.strikes = min(p.strikes+1, maxStrikes)
}

// pauseFor returns the length of a pause: until the broker's reset, in Unix seconds, or without one
// a second that doubles with each strike.
func pauseFor(reset string, now time.Time, strikes int) time.Duration {
	pause := minPause << strikes
	if seconds, err := strconv.ParseInt(reset, 10, 64); err == nil {
		pause = time.Unix(seconds, 0).Sub(now)
	}
	return min(max(pause, minPause), maxPause)
}
