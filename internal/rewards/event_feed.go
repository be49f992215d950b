package rewards

import (
	"context"
	"time"
)

// newestFor is how long the newest sequence is cached: one read serves all who wait for events in a process.
const newestFor = 50 * time.Millisecond

// EventsAfter lists events of the app, oldest first, as Store.EventsAfter (additions, section 4).
func (s *Service) EventsAfter(
	ctx context.Context, app AppID, after int64, types EventTypes, limit int,
) (EventPage, error) {
	return s.store.EventsAfter(ctx, app, after, types, limit)
}

// Event returns an event of the app, or fails with CodeNotFound (additions, section 4).
func (s *Service) Event(ctx context.Context, app AppID, id EventID) (Event, error) {
	return s.store.Event(ctx, app, id)
}

// NewestEvent returns the newest sequence of all apps as it was within the last 50 milliseconds. When it
// has changed, an app may have new events.
func (s *Service) NewestEvent(ctx context.Context) (int64, error) {
	return s.newest.get(ctx, s.now, s.store.NewestEvent)
}
