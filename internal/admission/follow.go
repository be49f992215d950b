package admission

import (
	"context"
	"fmt"
	"time"

	"stockrewards/internal/rewards"
)

// The limits of followers: requests that wait for news.
const (
	maxFollowers      = 1024 // of all apps
	maxFollowersOfApp = 128
	followAgain       = 5 * time.Second // before a refused follower should try again
)

// Followers returns the number of followers.
func (g *Gate) Followers() int { return int(g.followers.Load()) }

// Follow makes an admitted request a follower, which may Rest without a place. It fails with CodeTooMany
// beyond the followers of the app, and with CodeUnavailable beyond those of all apps.
func (t *Ticket) Follow() error {
	if t.state != working || t.follows {
		return nil
	}
	l := t.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.followers >= maxFollowersOfApp {
		return &rewards.Error{
			Code:    rewards.CodeTooMany,
			Message: fmt.Sprintf("too many requests wait for events: the app may have %d at once", maxFollowersOfApp),
			Err:     rewards.Exceeded{Limit: maxFollowersOfApp, Wait: followAgain},
		}
	}
	if l.gate.followers.Add(1) > maxFollowers {
		l.gate.followers.Add(-1)
		return rewards.Unavailable("too many requests wait for events", nil)
	}
	l.followers++
	t.follows = true
	return nil
}

// Rest frees the place of a follower, and the bytes of what was written.
func (t *Ticket) Rest() {
	t.Answered(0)
	if t.state == writing {
		t.lane.written(t.bytes)
		t.bytes, t.state = 0, resting
	}
}

// Resume waits for a place for a resting follower, after earlier requests of the same app. It fails with
// CodeUnavailable and ErrAppBusy when the wait is too long.
func (t *Ticket) Resume(ctx context.Context) error {
	if t.state != resting {
		return nil
	}
	if w := t.lane.begin(t.kind); w != nil {
		if err := t.lane.wait(ctx, w, t.kind); err != nil {
			return err
		}
	}
	t.state = working
	return nil
}

// written ends the response, or a part of it, that had that number of bytes.
func (l *lane) written(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= int64(bytes)
	l.gate.bytes.Add(-int64(bytes))
	l.nextOfAll()
}

// unfollow ends a follower.
func (l *lane) unfollow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers--
	l.gate.followers.Add(-1)
}
