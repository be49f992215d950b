package webhook

import (
	"context"
	"slices"
	"sync"
	"time"

	"stockrewards/internal/rewards"
)

// The limits of a courier.
const (
	mostAtOnce    = 64                     // requests of an endpoint under way
	mostRead      = 200                    // events read at once
	fewRead       = 8                      // the same of a receiver that fails, and of each while very many wait
	mostUnsaved   = 4096                   // results in memory
	unsavedBytes  = 256 << 10              // the same in bytes: others wait while they are stored
	startPatience = 100 * time.Millisecond // of a first attempt with those before it
	idleCheck     = time.Minute            // the longest time between two looks for what is due
	trimAfter     = 200                    // deliveries between two trims
)

// courier sends the events of one endpoint, as it was stored in one version. Its goroutine starts
// attempts; a Dispatcher stores what it did.
type courier struct {
	d        *Dispatcher
	version  int64
	shard    rewards.WebhookShard
	secrets  func(time.Time) [][]byte
	wake     chan struct{}
	results  chan result
	cancel   context.CancelFunc // ends run
	abandon  context.CancelFunc // ends the requests under way
	attempts context.Context    //nolint:containedctx // of requests, which outlive run's context

	// Only the courier's goroutine uses these.
	read     int64   // the sequence up to which events were read
	skip     []int64 // sequences, ascending: their first attempt was made before this courier began
	known    int64   // the newest sequence of a delivery that was stored before this courier began
	due      []rewards.Delivery
	nextDue  time.Time
	inFlight int
	limit    int           // requests under way, at most
	failures int           // attempts that failed since the last success
	paused   time.Time     // no attempt starts before
	turn     bool          // the next attempt is a retry, if one is due
	behind   bool          // there were more events than could be read at once
	previous chan struct{} // closed when the next first attempt may start; nil: now
	patience time.Time     // until when it waits for that

	mu      sync.Mutex
	queue   []rewards.Event         // read, not started; only the courier's goroutine changes it
	e       rewards.WebhookEndpoint // Cursor, FailingSince and Disabled are the newest
	head    int64                   // the newest event of the app
	recheck bool                    // a delivery may be due
	urgent  bool                    // a delivery is due before the next regular storing
	started []*first                // first attempts, in order, from the cursor on
	sending map[int64]bool          // sequences of attempts under way
	unsaved outcomes
	saving  outcomes
	dirty   bool
	saved   time.Time // only the Dispatcher's goroutine sets it
	trimmed int       // delivered since the last trim; it begins as if many were: restarts may be frequent
}

// first is a first attempt.
type first struct {
	sequence int64
	at       time.Time // of the event
	ended    bool
}

// result is the outcome of an attempt.
type result struct {
	delivery rewards.Delivery // as it was before the attempt, with its body
	first    *first           // nil: a retry or a test
	answer   rewards.WebhookAnswer
	at       time.Time
}

func newCourier(
	d *Dispatcher, e rewards.WebhookEndpoint, shard rewards.WebhookShard, secrets func(time.Time) [][]byte,
) *courier {
	return &courier{
		d: d, e: e, version: e.Version, shard: shard, read: e.Cursor, limit: 1, secrets: secrets, trimmed: trimAfter,
		wake: make(chan struct{}, 1), results: make(chan result),
		sending: make(map[int64]bool), unsaved: newOutcomes(),
	}
}

// nudge wakes the courier's goroutine.
func (c *courier) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run sends until ctx ends, and then waits for the attempts under way.
func (c *courier) run(ctx context.Context) {
	for !c.begin(ctx) {
		if !c.pause(ctx, time.Second) {
			return
		}
	}
	for ctx.Err() == nil {
		wait := c.fill(ctx)
		var slots chan<- struct{}
		if c.ready() {
			slots = c.d.slots
		}
		timer := time.NewTimer(wait)
		select {
		case slots <- struct{}{}:
			c.start()
		case r := <-c.results:
			c.finish(r)
		case <-c.previous:
			c.previous = nil
		case <-c.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	for c.inFlight > 0 {
		c.finish(<-c.results)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropQueue()
}

// dropQueue forgets the events that were read and not started. The caller holds mu.
func (c *courier) dropQueue() {
	c.d.queued.Add(-int64(len(c.queue)))
	c.queue = nil
}

// end stops the courier of an endpoint that was changed or deleted. Its requests under way end too: they would count
// for no endpoint's limit, and changes would let them grow to the limit of all. The next courier makes them again.
func (c *courier) end() {
	c.cancel()
	c.abandon()
}

// follow takes in the newest event of each app.
func (c *courier) follow(heads map[rewards.AppID]int64) {
	c.mu.Lock()
	newer := heads[c.e.AppID] > c.head
	c.head = max(c.head, heads[c.e.AppID])
	c.mu.Unlock()
	if newer {
		c.nudge()
	}
}

// lookAgain makes the courier look for deliveries that are due.
func (c *courier) lookAgain() {
	c.mu.Lock()
	c.recheck = true
	c.mu.Unlock()
	c.nudge()
}

// pause waits, and reports whether ctx has not ended.
func (c *courier) pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// ready reports whether an attempt can start now. However many requests are open, an endpoint that does not fail may
// have one, so that slow receivers of others do not hold it up.
func (c *courier) ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	most := int64(mostOpen)
	if c.failures > 0 {
		most = mostFailing
	}
	full := c.d.open.Load() >= most && (c.failures > 0 || c.inFlight > 0)
	if full || c.inFlight >= c.limit || c.d.now().Before(c.paused) ||
		fullBy(mostUnsaved, unsavedBytes, c.unsaved, c.saving) {
		return false
	}
	return len(c.due) > 0 || c.firstReady()
}

// firstReady reports whether a first attempt can start. It waits a moment for the previous one: until
// that has ended, or, while there are very many events, was written. The caller holds mu.
func (c *courier) firstReady() bool {
	return c.e.Disabled == "" && len(c.queue) > 0 && (c.previous == nil || !c.d.now().Before(c.patience))
}

// start starts an attempt. The caller holds a slot.
func (c *courier) start() {
	now := c.d.now()
	c.mu.Lock()
	r := result{}
	c.turn = !c.turn
	retry := len(c.due) > 0 && (c.turn || !c.firstReady())
	if retry {
		r.delivery, c.due = c.due[0], c.due[1:]
		if len(r.delivery.Body) == 0 {
			r.delivery.Body = testMessage(r.delivery)
		}
	} else {
		event := c.queue[0]
		c.queue = c.queue[1:]
		c.d.queued.Add(-1)
		r.delivery = c.d.newDelivery(c.e, event, now)
		r.first = &first{sequence: event.Sequence, at: event.At}
		c.started = append(c.started, r.first)
		c.previous, c.patience = make(chan struct{}), now.Add(startPatience)
	}
	c.sending[r.delivery.Sequence] = true
	e := c.e
	c.mu.Unlock()
	c.inFlight++
	c.d.open.Add(1)
	go c.attempt(e, r, c.previous, c.behind)
}

// attempt makes one attempt. After a moment it gives its slot back, so that receivers that do not
// answer hold up no other endpoint.
func (c *courier) attempt(e rewards.WebhookEndpoint, r result, next chan struct{}, behind bool) {
	free := sync.OnceFunc(func() { <-c.d.slots })
	timer := time.AfterFunc(slotTime, free)
	defer free()
	defer timer.Stop()
	began := c.d.now()
	release, written := func() {}, func() {}
	if r.first != nil {
		release = sync.OnceFunc(func() { close(next) })
	}
	if behind {
		written = release
	}
	r.answer = c.d.sender.Send(c.attempts, Request{
		URL: e.URL, ID: r.delivery.EventID, Sequence: r.delivery.Sequence, Body: r.delivery.Body,
		Secrets: c.secrets(began), At: began, Written: written,
	})
	release()
	free()
	c.d.open.Add(-1)
	r.at = c.d.now()
	c.d.observer.WebhookAttempt(r.answer, r.at.Sub(began))
	c.results <- r
}

// finish takes in the outcome of an attempt.
func (c *courier) finish(r result) {
	c.inFlight--
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sending, r.delivery.Sequence)
	if c.attempts.Err() != nil && !r.answer.Success() { // the end of this process is not the receiver's failure
		return
	}
	c.adapt(r)
	c.e.Answered(r.answer, r.at)
	d := r.delivery.After(r.answer, r.at, c.d.schedule, c.d.random)
	c.unsaved.put(outcome{d, r.first != nil && d.Sequence > c.known})
	if d.Status == rewards.DeliveryPending && !d.NextAt.IsZero() {
		c.urgent = c.urgent || d.NextAt.Before(c.saved.Add(saveEvery+tick))
		if d.NextAt.Before(c.nextDue) {
			c.nextDue = d.NextAt
		}
	}
	if d.Status == rewards.DeliveryDelivered {
		c.trimmed++
	}
	if c.e.Disabled != "" {
		c.dropQueue()
		c.due = slices.DeleteFunc(c.due, func(d rewards.Delivery) bool { return !d.Test() })
	}
	if r.first != nil {
		r.first.ended = true
	}
	c.dirty = true
	c.advance()
}

// adapt changes how many requests may be under way: one more after a success, half as many after a
// failure. A receiver that fails again and again gets a pause between two attempts.
func (c *courier) adapt(r result) {
	const (
		patience = 10 // failures without a pause
		step     = 50 * time.Millisecond
		longest  = 5 * time.Second
	)
	if r.answer.Success() {
		c.limit, c.failures, c.paused = min(c.limit+1, mostAtOnce), 0, time.Time{}
		return
	}
	c.limit = max(1, c.limit/2)
	c.failures++
	if c.failures > patience {
		c.paused = r.at.Add(min(longest, time.Duration(c.failures-patience)*step))
	}
}

// advance moves the cursor over first attempts that have ended. The caller holds mu.
func (c *courier) advance() {
	before := c.e.Cursor
	for len(c.started) > 0 && c.started[0].ended {
		c.e.Cursor = c.started[0].sequence
		c.started = c.started[1:]
	}
	if len(c.started) == 0 && len(c.queue) == 0 && c.e.Disabled == "" {
		c.e.Cursor = max(c.e.Cursor, c.read)
	}
	c.dirty = c.dirty || c.e.Cursor != before
}

// oldest returns the time of the oldest event whose first attempt has not ended; zero without one.
func (c *courier) oldest() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.started) > 0:
		return c.started[0].at
	case len(c.queue) > 0:
		return c.queue[0].At
	}
	return time.Time{}
}

// state returns the endpoint as it is now, and whether its progress must be stored. all ignores when it was stored.
func (c *courier) state(now time.Time, all bool) (e rewards.WebhookEndpoint, due bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	soon := c.e.Disabled != "" || c.urgent || fullBy(mostUnsaved/2, unsavedBytes/2, c.unsaved)
	return c.e, c.dirty && (now.Sub(c.saved) >= saveEvery || soon || all)
}

// progress returns what must be stored. Call stored afterwards.
func (c *courier) progress(now time.Time) rewards.WebhookProgress {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saving, c.unsaved, c.dirty, c.saved = c.unsaved, newOutcomes(), false, now
	c.urgent = false
	p := rewards.WebhookProgress{Endpoint: c.e, Shard: c.shard, Deliveries: newestDelivered(c.saving.list)}
	if c.trimmed >= trimAfter {
		p.Trim, c.trimmed = true, 0
	}
	return p
}

// stored takes in whether the last progress was stored. A courier that had too many results in memory
// goes on.
func (c *courier) stored(ok bool) {
	defer c.nudge()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.saving.list {
		if !ok && !c.unsaved.has(d.Sequence) {
			c.unsaved.put(d)
		}
		c.recheck = c.recheck || !d.NextAt.IsZero() // it may have become due meanwhile
	}
	c.dirty = c.dirty || !ok
	c.saving = outcomes{}
}
