package fulfillment

import (
	"errors"
	"time"
)

// A list is read one page in a step. Its requests must leave orders their share of the broker's rate limit.
const (
	maxPages    = 200 // a longer list counts as endless and fails
	pagesAtOnce = 5   // later pages wait for each other
	pageEvery   = 2 * time.Second
)

var (
	errEndless = errors.New("the list does not end")
	errLoop    = errors.New("a page names an earlier page as the next one")
)

// pages are those of a list of the broker's that is being read. The zero value is before the first page.
type pages struct {
	token  string          // of the next page; "" for the first
	named  map[string]bool // the tokens so far
	readAt time.Time       // ours, of the last page
}

// turn goes on to the next page; "" ends the list. It fails when the list would never end.
func (p *pages) turn(next string, now time.Time) error {
	switch {
	case next == "":
		*p = pages{}
		return nil
	case p.named[next]:
		return errLoop
	case len(p.named) >= maxPages:
		return errEndless
	case p.named == nil:
		p.named = make(map[string]bool)
	}
	p.named[next] = true
	p.token, p.readAt = next, now
	return nil
}

// wait returns how long the next page waits.
func (p *pages) wait(now time.Time) time.Duration {
	since := now.Sub(p.readAt)
	if len(p.named) < pagesAtOnce || since < 0 {
		return 0
	}
	return max(0, pageEvery-since)
}
