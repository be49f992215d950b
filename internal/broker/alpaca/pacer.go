package alpaca

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// The bounds of the pacing.
const (
	burstShare = 20               // a twentieth of a minute's requests may go out at once
	minPause   = time.Second      // after a 429, also when its reset lies in the past
	maxPause   = 60 * time.Second // after a 429, whatever its reset says
	maxStrikes = 6                // doublings of the pause when the broker names no reset
)

// pacer keeps the requests to one host within the broker's limit. It holds its
// lock only to look at the clock, never while it waits.
type pacer struct {
	limiter *rate.Limiter

	mu          sync.Mutex
	pausedUntil time.Time
	strikes     int // consecutive 429s
}

// newPacer allows at most perMinute requests in any minute: a burst, and the rest
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

// wait returns when a request may go out. It fails when the context ends first,
// or at once when a token would come only after the context's deadline.
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
		return nil
	}
}

// observe learns from an answer: a 429 starts or prolongs the pause, anything
// else ends the run of 429s.
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

// pauseFor is how long to keep silent: until the reset that the broker names in
// unix seconds, or a second that doubles with each strike when it names none.
func pauseFor(reset string, now time.Time, strikes int) time.Duration {
	pause := minPause << strikes
	if seconds, err := strconv.ParseInt(reset, 10, 64); err == nil {
		pause = time.Unix(seconds, 0).Sub(now)
	}
	return min(max(pause, minPause), maxPause)
}
