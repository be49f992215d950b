// Package webhook sends the events of apps to their endpoints. A Dispatcher shares the endpoints with
// the other processes of a fleet by leases on shards. It runs a courier for each endpoint of its
// shards: the courier reads the log of events from the endpoint's cursor on, and starts first attempts
// in the order of the log. The cursor, failures and the last deliveries are stored about once a second,
// so after a crash some events are sent again, and none is lost. Start with Dispatcher.Run.
package webhook

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"stockrewards/internal/rewards"
)

// Store keeps endpoints, shards and deliveries, and has the log of events.
type Store interface {
	// WebhookChanges returns a string that differs after each change of SendingEndpoints; "" before the first.
	WebhookChanges(ctx context.Context) (string, error)
	// SendingEndpoints lists the endpoints of every app that is not suspended.
	SendingEndpoints(ctx context.Context) ([]rewards.WebhookEndpoint, error)
	// TakeWebhookShards takes or renews this process's part of the shards, by number.
	TakeWebhookShards(ctx context.Context, holder string, ttl time.Duration, force bool) (
		map[int]rewards.WebhookShard, error)
	// DropWebhookShards gives the shards back.
	DropWebhookShards(ctx context.Context, holder string) error
	// NewestEvent returns the newest sequence of all apps.
	NewestEvent(ctx context.Context) (int64, error)
	// NewestEvents returns the newest sequence of each app that has an endpoint.
	NewestEvents(ctx context.Context) (map[rewards.AppID]int64, error)
	// EventsAfter lists events of an app after a sequence, oldest first.
	EventsAfter(ctx context.Context, app rewards.AppID, after int64, types rewards.EventTypes, limit int) (
		rewards.EventPage, error)
	// PendingTests lists the endpoints that have a pending test.
	PendingTests(ctx context.Context) ([]rewards.WebhookEndpointID, error)
	// PendingAfterCursor lists the sequences after the cursor whose first attempt failed.
	PendingAfterCursor(ctx context.Context, e rewards.WebhookEndpoint) ([]int64, error)
	// NewestDelivery returns the newest sequence of an endpoint's stored deliveries; 0 without one.
	NewestDelivery(ctx context.Context, e rewards.WebhookEndpoint) (int64, error)
	// DueDeliveries lists pending deliveries that are due, and when the next one is.
	DueDeliveries(ctx context.Context, e rewards.WebhookEndpoint, now time.Time, limit int) (
		[]rewards.Delivery, time.Time, error)
	// SaveWebhooks stores progress and returns the stale endpoints. Of a changed one it stores tests and new retries.
	SaveWebhooks(ctx context.Context, list []rewards.WebhookProgress) (map[rewards.WebhookEndpointID]bool, error)
}

// Deliverer makes attempts. A Sender is one.
type Deliverer interface {
	// Send makes one attempt. It calls Request.Written as soon as the request was written.
	Send(ctx context.Context, r Request) rewards.WebhookAnswer
}

// Observer counts attempts. Its methods must not block.
type Observer interface {
	// WebhookAttempt reports the outcome of an attempt and how long it took.
	WebhookAttempt(a rewards.WebhookAnswer, took time.Duration)
}

// Options are the parts and settings of a Dispatcher.
type Options struct {
	Store     Store
	Sender    Deliverer
	Sealer    rewards.Sealer
	Observer  Observer
	Encode    func(e rewards.Event) []byte // an event's data as JSON
	Holder    string                       // this process, unique among all that ever ran
	LeaseTTL  time.Duration
	Exclusive bool            // no other process runs
	Schedule  []time.Duration // the pauses before retries
	Now       func() time.Time
	Random    func(n int64) int64 // from 0 to n-1
	Log       *slog.Logger
}

// Dispatcher sends the events of the endpoints in its shards. Call Run once; Nudge and Count are safe
// for concurrent use.
type Dispatcher struct {
	store    Store
	sender   Deliverer
	observer Observer
	schedule []time.Duration
	now      func() time.Time
	random   func(n int64) int64
	options  Options
	nudge    chan struct{}
	slots    chan struct{} // one for each attempt that began a moment ago
	open     atomic.Int64  // attempts under way
	queued   atomic.Int64  // events in memory whose first attempt has not begun
	reads    chan struct{} // one for each endpoint that reads events

	couriers map[rewards.WebhookEndpointID]*courier
	running  sync.WaitGroup
	shards   map[int]rewards.WebhookShard
	held     bool // this process has shards
	renew    time.Time
	expires  time.Time
	changes  string
	newest   int64
	heads    map[rewards.AppID]int64
	locked   int // endpoints whose secrets no key opens
	reload   bool
	polled   time.Time
	read     time.Time // when the endpoints were read last

	mu     sync.Mutex
	counts rewards.WebhookCounts
}

// The intervals and limits of a dispatcher.
const (
	tick        = 100 * time.Millisecond
	pollEvery   = 250 * time.Millisecond // of the log and the endpoints
	idlePoll    = time.Second            // while there is no endpoint
	saveEvery   = time.Second            // of an endpoint
	saveTime    = time.Second            // of one step: leases must be renewed
	slotTime    = 250 * time.Millisecond // then an attempt no longer counts as begun a moment ago
	mostSlots   = 256
	mostOpen    = 4096 // attempts under way
	mostFailing = 2048 // attempts under way of endpoints that fail
	mostQueued  = 8192 // events in memory; with more of them each endpoint reads a few at a time
	stopTime    = 3 * time.Second
)

// New returns a dispatcher.
func New(o Options) *Dispatcher {
	return &Dispatcher{
		store: o.Store, sender: o.Sender, observer: o.Observer, schedule: o.Schedule, now: o.Now, random: o.Random,
		options: o, nudge: make(chan struct{}, 1), slots: make(chan struct{}, mostSlots),
		reads:    make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		couriers: make(map[rewards.WebhookEndpointID]*courier),
	}
}

// Nudge makes the dispatcher look for new events and changed endpoints at once. It saves time;
// correctness never needs it.
func (d *Dispatcher) Nudge() {
	select {
	case d.nudge <- struct{}{}:
	default:
	}
}

// Count counts the endpoints that this process sends to.
func (d *Dispatcher) Count() rewards.WebhookCounts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}

// Run sends until ctx ends. Then it waits a few seconds for the attempts under way, stores their
// outcomes and gives its shards back.
func (d *Dispatcher) Run(ctx context.Context) {
	attempts, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	nudged := true
	for ctx.Err() == nil {
		wait := d.step(ctx, attempts, nudged)
		timer := time.NewTimer(wait)
		nudged = false
		select {
		case <-d.nudge:
			nudged = true
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
	d.stop(context.WithoutCancel(ctx), abort)
}

// stop ends all couriers.
func (d *Dispatcher) stop(ctx context.Context, abort func()) {
	for _, c := range d.couriers {
		c.cancel()
	}
	timer := time.AfterFunc(stopTime, abort)
	defer timer.Stop()
	d.running.Wait()
	d.save(ctx, true)
	if d.held {
		d.report(ctx, "cannot give the endpoints back", d.store.DropWebhookShards(ctx, d.options.Holder))
	}
}

// report logs an error after which the dispatcher tries again.
func (d *Dispatcher) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		d.options.Log.WarnContext(ctx, "webhooks failed, will retry", slog.String("what", what), slog.Any("error", err))
	}
}

// step does what is due and returns when the next step is.
func (d *Dispatcher) step(ctx, attempts context.Context, nudged bool) time.Duration {
	now := d.now()
	if nudged || now.Sub(d.polled) >= pollEvery {
		d.polled = now
		changes, err := d.store.WebhookChanges(ctx)
		d.report(ctx, "cannot read whether endpoints changed", err)
		switch {
		case err == nil && changes == "":
			return idlePoll
		case err == nil:
			d.poll(ctx, attempts, changes)
		}
	}
	if d.held && !d.now().Before(d.expires) {
		d.loseAll()
	}
	d.save(ctx, false)
	return tick
}

// poll renews the leases, and reads what has changed.
func (d *Dispatcher) poll(ctx, attempts context.Context, changes string) {
	const renewals = 3 // in the time of a lease
	if now := d.now(); !now.Before(d.renew) {
		shards, err := d.store.TakeWebhookShards(ctx, d.options.Holder, d.options.LeaseTTL, d.options.Exclusive)
		d.report(ctx, "cannot renew the leases", err)
		if err == nil {
			d.held, d.renew, d.expires = true, now.Add(d.options.LeaseTTL/renewals), now.Add(d.options.LeaseTTL)
			d.reload = d.reload || !sameShards(d.shards, shards)
			d.shards = shards
		}
	}
	newest, err := d.store.NewestEvent(ctx)
	if err == nil && newest != d.newest {
		var heads map[rewards.AppID]int64
		if heads, err = d.store.NewestEvents(ctx); err == nil {
			d.newest, d.heads = newest, heads
			for _, c := range d.couriers {
				c.follow(heads)
			}
		}
	}
	d.report(ctx, "cannot read the newest event", err)
	// An app that changes its endpoints all the time does not make all of them be read all the time.
	if !d.reload && (changes == d.changes || d.now().Sub(d.read) < pollEvery) {
		return
	}
	d.read = d.now()
	if err := d.readEndpoints(ctx, attempts); err != nil {
		d.report(ctx, "cannot read the endpoints", err)
		return
	}
	d.changes, d.reload = changes, false
}

// sameShards reports whether two parts have the same shards in the same epochs.
func sameShards(a, b map[int]rewards.WebhookShard) bool {
	for number, s := range a {
		if b[number].Epoch != s.Epoch {
			return false
		}
	}
	return len(a) == len(b)
}

// loseAll stops all couriers: another process may have the shards now.
func (d *Dispatcher) loseAll() {
	for id, c := range d.couriers {
		c.cancel()
		delete(d.couriers, id)
	}
	d.held, d.shards, d.renew, d.reload, d.locked = false, nil, time.Time{}, true, 0
}

// readEndpoints starts couriers for new and changed endpoints and stops the others'.
func (d *Dispatcher) readEndpoints(ctx, attempts context.Context) error {
	list, err := d.store.SendingEndpoints(ctx)
	if err != nil {
		return err
	}
	tests, err := d.store.PendingTests(ctx)
	if err != nil {
		return err
	}
	if d.heads, err = d.store.NewestEvents(ctx); err != nil { // of the app of a new endpoint, too
		return err
	}
	d.locked = 0
	keep := make(map[rewards.WebhookEndpointID]bool)
	for _, e := range list {
		shard, mine := d.shards[e.Shard()]
		if !mine {
			continue
		}
		c := d.couriers[e.ID]
		if c != nil && c.version == e.Version && c.shard.Epoch == shard.Epoch {
			keep[e.ID] = true
			continue
		}
		secrets, err := d.secretsOf(e)
		if err != nil {
			d.locked++
			d.options.Log.ErrorContext(ctx, "webhooks: cannot send to an endpoint",
				slog.String("endpoint", e.ID.String()), slog.Any("error", err))
			continue
		}
		if c != nil {
			d.replace(ctx, c)
		}
		keep[e.ID] = true
		d.couriers[e.ID] = d.hire(ctx, attempts, newCourier(d, e, shard, secrets))
	}
	for id, c := range d.couriers {
		if !keep[id] {
			d.replace(ctx, c)
			delete(d.couriers, id)
		}
	}
	for _, id := range tests {
		if c := d.couriers[id]; c != nil {
			c.lookAgain()
		}
	}
	return nil
}

// replace stops the courier of an endpoint that was changed, or whose app was suspended. It stores what became of its
// tests and what waits for a retry.
func (d *Dispatcher) replace(ctx context.Context, c *courier) {
	c.end()
	if p := c.progress(d.now()); len(p.Tests()) > 0 || len(p.Waiting()) > 0 {
		_, err := d.store.SaveWebhooks(ctx, []rewards.WebhookProgress{p})
		d.report(ctx, "cannot store what was sent before a change", err)
	}
}

// hire starts a courier.
func (d *Dispatcher) hire(ctx, attempts context.Context, c *courier) *courier {
	c.head = d.heads[c.e.AppID]
	c.attempts, c.abandon = context.WithCancel(attempts)
	ctx, c.cancel = context.WithCancel(ctx)
	d.running.Go(func() {
		defer c.abandon()
		c.run(ctx)
	})
	return c
}

// secretsOf returns the secrets that sign an endpoint's requests at a time. It fails when no key opens the newest one.
// An older one that no key opens is left out: the app may have rotated it because its key was lost.
func (d *Dispatcher) secretsOf(e rewards.WebhookEndpoint) (func(time.Time) [][]byte, error) {
	opened := make(map[string][]byte)
	for i, sealed := range e.Secrets(d.now()) {
		secret, err := d.options.Sealer.Open(e.AppID, sealed)
		if err != nil && i == 0 {
			return nil, err
		}
		if err == nil {
			opened[string(sealed)] = secret
		}
	}
	return func(now time.Time) (secrets [][]byte) {
		for _, sealed := range e.Secrets(now) {
			if secret, ok := opened[string(sealed)]; ok {
				secrets = append(secrets, secret)
			}
		}
		return secrets
	}, nil
}

// newDelivery returns the delivery of an event whose first attempt begins at now.
func (d *Dispatcher) newDelivery(e rewards.WebhookEndpoint, event rewards.Event, now time.Time) rewards.Delivery {
	return rewards.Delivery{
		AppID: e.AppID, EndpointID: e.ID, Sequence: event.Sequence, EventID: event.ID, Type: event.Type.String(),
		Number: now.UnixMicro(), Status: rewards.DeliveryPending,
		Body: message(event.Type.String(), event.At, d.options.Encode(event)),
	}
}
