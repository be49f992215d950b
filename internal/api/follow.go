package api

import (
	"context"
	"time"

	"stockrewards/internal/rewards"
)

const (
	lookEvery = 100 * time.Millisecond // how often a follower compares the newest sequence
	keyEvery  = time.Second            // how often its key is checked

	searchTime = 2 * time.Second // how long a request looks for its types among many others
)

// follower reads an app's events as they come.
type follower struct {
	server *server
	call   call
	after  int64 // the events up to this sequence were read
	types  rewards.EventTypes
	newest int64     // sequence of all apps when events were read last
	keyed  time.Time // when the key was checked last
}

// follow returns a follower for a request.
func (s *server) follow(c call, after int64, types rewards.EventTypes) *follower {
	return &follower{server: s, call: c, after: after, types: types, keyed: time.Now()}
}

// read returns the next events.
func (f *follower) read(ctx context.Context, limit int) (page rewards.EventPage, err error) {
	service := f.server.Service
	if f.newest, err = service.NewestEvent(ctx); err != nil { // before the events: later ones change it
		return page, err
	}
	page, err = service.EventsAfter(ctx, f.call.app, f.after, f.types, limit)
	if err == nil {
		f.after = page.Next
	}
	return page, err
}

// search returns the next events. Where many events of other types are between, it reads several pages, and for a
// bounded time: a connection to the database is free between them.
func (f *follower) search(ctx context.Context, limit int) (page rewards.EventPage, err error) {
	for until := time.Now().Add(searchTime); err == nil; {
		page, err = f.read(ctx, limit)
		if len(page.Events) > 0 || !page.More || !time.Now().Before(until) || ctx.Err() != nil {
			break
		}
	}
	return page, err
}

// await returns the next events, and waits for them.
func (f *follower) await(ctx context.Context, limit int, wait time.Duration) (rewards.EventPage, error) {
	until := time.Now().Add(wait)
	page, err := f.search(ctx, limit)
	if err != nil || len(page.Events) > 0 || page.More || wait == 0 {
		return page, err
	}
	if err := f.call.ticket.Follow(); err != nil {
		return page, err
	}
	for len(page.Events) == 0 {
		f.call.ticket.Rest()
		news, err := f.news(ctx, until)
		if err != nil || !news {
			return page, err
		}
		if err := f.call.ticket.Resume(ctx); err != nil {
			return page, err
		}
		if page, err = f.search(ctx, limit); err != nil || page.More {
			return page, err
		}
	}
	return page, nil
}

// news waits until there may be new events, and reports false at the time until or when the service drains.
// It fails when the key is no longer valid, or when ctx ends.
func (f *follower) news(ctx context.Context, until time.Time) (bool, error) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, rewards.Unavailable("the request ended before there were events", ctx.Err())
		case <-f.server.draining:
			return false, nil
		case <-look.C:
		}
		if err := f.checkKey(ctx); err != nil {
			return false, err
		}
		newest, err := f.server.Service.NewestEvent(ctx)
		if err != nil || newest > f.newest {
			return err == nil, err
		}
		if !time.Now().Before(until) {
			return false, nil
		}
	}
}

// checkKey fails when the key is no longer valid. It looks once a second.
func (f *follower) checkKey(ctx context.Context) error {
	now := time.Now()
	if now.Sub(f.keyed) < keyEvery {
		return nil
	}
	f.keyed = now
	_, _, err := f.server.Service.Authenticate(ctx, f.call.Header.Get("X-Api-Key"))
	return err
}

// isDraining reports whether followers must end.
func (s *server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}
