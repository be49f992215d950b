package webhook

import (
	"context"
	"slices"
	"time"

	"stockrewards/internal/rewards"
)

// begin reads which events after the cursor have had their first attempt, and which may have had one.
func (c *courier) begin(ctx context.Context) bool {
	list, err := c.d.store.PendingAfterCursor(ctx, c.e)
	slices.Sort(list)
	c.skip = list
	if err == nil {
		c.known, err = c.d.store.NewestDelivery(ctx, c.e)
	}
	c.d.report(ctx, "cannot read the deliveries of an endpoint", err)
	return err == nil
}

// fill reads what can be sent next, and returns how long nothing else can.
func (c *courier) fill(ctx context.Context) time.Duration {
	now := c.d.now()
	c.mu.Lock()
	e, head, look := c.e, c.head, len(c.due) == 0 && (c.recheck || !now.Before(c.nextDue))
	c.recheck = c.recheck && !look
	c.mu.Unlock()
	wait := idleCheck
	if look {
		c.readDue(ctx, e, now)
	}
	if e.Disabled == "" && len(c.queue) == 0 && head > c.read {
		switch {
		case !c.readEvents(ctx, e, head):
			wait = time.Second
		case len(c.queue) == 0 && head > c.read: // so far there were only events of other types
			wait = 0
		}
	}
	if c.d.open.Load() >= mostFailing {
		wait = min(wait, startPatience)
	}
	for _, at := range []time.Time{c.nextDue, c.paused, c.patience} {
		if at.After(now) {
			wait = min(wait, at.Sub(now))
		}
	}
	return wait
}

// readDue reads deliveries that are due.
func (c *courier) readDue(ctx context.Context, e rewards.WebhookEndpoint, now time.Time) {
	c.mu.Lock()
	underWay := len(c.sending) + len(c.unsaved.list) + len(c.saving.list)
	c.mu.Unlock()
	list, next, err := c.d.store.DueDeliveries(ctx, e, now, c.limit+underWay)
	c.d.report(ctx, "cannot read the deliveries that are due", err)
	if err != nil {
		c.nextDue = now.Add(time.Second)
		return
	}
	c.nextDue = now.Add(idleCheck)
	if !next.IsZero() && next.Before(c.nextDue) {
		c.nextDue = next
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range list {
		if c.sending[d.Sequence] || c.unsaved.has(d.Sequence) || c.saving.has(d.Sequence) {
			c.nextDue = now.Add(saveEvery) // until its result is stored
			continue
		}
		c.due = append(c.due, d)
	}
	if len(list) == c.limit+underWay {
		c.nextDue = now
	}
}

// nextEvents reads the next events of an endpoint. Few endpoints read at once, and one that searches among events of
// other types rests as long as it read: the database has few connections, which clients need.
// It reports whether there may be more.
func (c *courier) nextEvents(
	ctx context.Context, e rewards.WebhookEndpoint,
) (page rewards.EventPage, more bool, err error) {
	select {
	case c.d.reads <- struct{}{}:
		defer func() { <-c.d.reads }()
	case <-ctx.Done():
		return page, false, ctx.Err()
	}
	limit := mostRead
	if c.failures > 0 || c.d.queued.Load() >= mostQueued {
		limit = fewRead
	}
	began := time.Now()
	page, err = c.d.store.EventsAfter(ctx, e.AppID, c.read, e.Subscribed(), limit)
	if page.More && len(page.Events) < limit {
		c.pause(ctx, time.Since(began))
	}
	return page, len(page.Events) == limit || page.More, err
}

// readEvents reads the next events. It reports false when they cannot be read now.
func (c *courier) readEvents(ctx context.Context, e rewards.WebhookEndpoint, head int64) bool {
	page, more, err := c.nextEvents(ctx, e)
	if err != nil {
		if rewards.CodeOf(err) != rewards.CodeUnavailable {
			c.d.report(ctx, "cannot read events", err)
		}
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, event := range page.Events {
		i, tried := slices.BinarySearch(c.skip, event.Sequence)
		c.skip = c.skip[i:]
		if !tried {
			c.queue = append(c.queue, event)
			c.d.queued.Add(1)
		}
	}
	c.read, c.behind = page.Next, more
	if len(page.Events) == 0 && !page.More { // the rest is of other types
		c.read = max(c.read, head)
	}
	c.advance()
	return true
}
